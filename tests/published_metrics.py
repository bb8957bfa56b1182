# SPDX-License-Identifier: Apache-2.0
"""Every metric that a whole operator publishes, with its labels: one is made, and told of one pool and one pass."""

from __future__ import annotations

import dataclasses
import pathlib
import tempfile

import kubernetes.client
from nova_compute_operator import __main__ as program
from nova_compute_operator import api, folders, outcomes, settings, triggers

_POOL = triggers.view_novacompute(
    {
        "metadata": {"namespace": "a", "name": "b", "uid": "c", "generation": 1},
        "spec": {"novaRef": {"name": "nova"}, "nodeSelector": {"d": "e"}},
        "status": {"nodes": [{"name": "f", "phase": "Draining"}]},
    }
)
_PASS = outcomes.Outcome(
    verdict=outcomes.Verdict.FAILED,
    seconds=1.0,
    failure=outcomes.Failure(step="nodes", task="a task", message="a message"),
    step_seconds={"nodes": 1.0},
    calls={("nova", "GET", "200"): 1},
    changed=1,
)
#: What tells the parts of a histogram apart.
_OF_THE_FORMAT = {"le"}


@dataclasses.dataclass(frozen=True, kw_only=True)
class Family:
    """One metric: the names of its series, their labels, its type and its help."""

    name: str
    series: frozenset[str]
    labels: frozenset[str]
    type: str
    text: str


def families() -> list[Family]:
    """The metrics in the order of their names."""
    with tempfile.TemporaryDirectory() as folder:
        store = folders.Folders(pathlib.Path(folder))
        server = api.ApiServer(kubernetes.client.Configuration(host="https://nowhere.invalid"))
        operator = program.Operator(settings.parse([]), server, store, [])
        operator._publish()
        operator._dispatcher.take(
            triggers.Change(kind="NovaCompute", namespace="a", name="b", before=None, after=_POOL)
        )
        operator._numbers.called("kubernetes", "GET", "200")
        operator._numbers.started(1.0)
        operator._numbers.ended(_PASS)
        found = [
            Family(
                name=family.name,
                series=frozenset(sample.name for sample in family.samples),
                labels=frozenset(label for sample in family.samples for label in sample.labels) - _OF_THE_FORMAT,
                type=family.type,
                text=family.documentation,
            )
            for family in operator._numbers.registry.collect()
        ]
        if operator._engine is not None:
            operator._engine.close()
        store.close()
    return sorted(found, key=lambda family: family.name)
