# SPDX-License-Identifier: Apache-2.0
"""Text that came from a resource is never a template, whichever way it enters a play."""

from __future__ import annotations

import json
import pathlib
from collections.abc import Iterator
from typing import Any

import pytest
from plays.conftest import Played, Stage
from unit.clients import answering

HOSTILE = {
    "division": "{{ 1/0 }}",
    "command": "{{ lookup('pipe', 'touch canary') }}",
    "statement": "{% for x in range(3) %}x{% endfor %}",
    "comment": "{# gone #}",
    "variable": "{{ ansible_connection }}",
    "unclosed": "{{ oops",
    "yaml": "!unsafe x: [1, *a]\n- b",
    "format": "%(x)s {x} ${x} $(touch canary)",
    "{{ 'key' }}": "x",
}
POOL = {
    "apiVersion": "nova.openstack.c5c3.io/v1alpha1",
    "kind": "NovaCompute",
    "metadata": {"name": "pool-a", "namespace": "openstack", "annotations": HOSTILE},
    "spec": {"novaRef": {"name": "nova"}, "extraConfig": {"DEFAULT": HOSTILE}, "traits": list(HOSTILE.values())},
}


def probe(tag: str, **arguments: Any) -> dict[str, Any]:
    return {"c5c3.nova.probe": {"tag": tag, **arguments}}


def expression(text: str) -> str:
    """Return a template of the playbook itself, which is one."""
    return "{{ " + text + " }}"


EXTRA_CONFIG = "novacompute.spec.extraConfig.DEFAULT"
TASKS = [
    {**probe("inventory", mapping=expression(EXTRA_CONFIG), data="{{ novacompute }}"), "register": "seen"},
    {**probe("registered", data="{{ seen.echo.spec.extraConfig.DEFAULT }}"), "register": "again"},
    probe("registered again", data="{{ again.echo }}"),
    {"ansible.builtin.set_fact": {"fact": expression(EXTRA_CONFIG)}},
    probe("fact", data="{{ fact }}"),
    probe("variable", data="{{ of_the_task }}") | {"vars": {"of_the_task": expression(EXTRA_CONFIG)}},
    probe("hostvars", data=expression(f"hostvars[inventory_hostname].{EXTRA_CONFIG}")),
    {"ansible.builtin.set_fact": {"rendered": "{{ lookup('ansible.builtin.template', 'pool.json.j2') }}"}},
    probe("template", data="{{ rendered | from_json }}"),
    probe("template as text", data="{{ rendered }}"),
    probe("from_yaml", data="{{ rendered | from_yaml }}"),
    probe("joined", data=expression(f"['a', {EXTRA_CONFIG}.division] | join")),
    probe("looped", data="{{ item }}") | {"loop": expression(f"[{EXTRA_CONFIG}]")},
    probe("extra variables", data="{{ from_outside }}"),
    {
        "block": [probe("failing", fail="call", data=expression(EXTRA_CONFIG))],
        "rescue": [probe("rescued", data="{{ ansible_failed_task.args.data | default('hidden') }}")],
    },
    {"ansible.builtin.debug": {"msg": expression(EXTRA_CONFIG)}},
    {
        "ansible.builtin.assert": {
            "that": [f"{EXTRA_CONFIG}.division != ''"],
            "fail_msg": expression(f"{EXTRA_CONFIG}.division"),
        }
    },
]


@pytest.fixture(scope="module")
def api() -> Iterator[answering.Server]:
    with answering.Server(lambda _request: answering.Reply(body={"metadata": {}, "items": [POOL]})).running() as server:
        yield server


@pytest.fixture(scope="module")
def played(stage: Stage, api: answering.Server) -> Played:
    kubeconfig = stage.inventory_of(api.url)
    (stage.folder / "pool.json.j2").write_text(expression(f"{EXTRA_CONFIG} | to_json"), encoding="utf-8")
    unsafe = {key: {"__ansible_unsafe": value} for key, value in HOSTILE.items() if not key.startswith("{{")}
    (stage.folder / "extra.json").write_text(json.dumps({"from_outside": unsafe}), encoding="utf-8")
    return stage.play(
        TASKS,
        "-i",
        "pools.yml",
        "-e",
        "@extra.json",
        hosts="openstack/pool-a",
        environment={"KUBECONFIG": kubeconfig},
    )


def test_the_whole_play_runs(played: Played) -> None:
    assert played.status == 0, played.output


@pytest.mark.case("B14")
def test_nothing_was_executed(played: Played) -> None:
    assert list(pathlib.Path(played.folder).rglob("canary")) == []


@pytest.mark.case("B15")
def test_the_object_arrives_from_the_inventory_as_it_is(played: Played) -> None:
    assert played.probes["inventory"]["params"]["data"] == POOL
    assert played.probes["inventory"]["params"]["mapping"] == HOSTILE


@pytest.mark.parametrize(
    "way",
    [
        "registered",
        "registered again",
        "fact",
        "variable",
        "hostvars",
        "template",
        "from_yaml",
        "looped",
        "failing",
    ],
)
def test_it_stays_text_on_every_way_through_a_play(played: Played, way: str) -> None:
    assert played.probes[way]["params"]["data"] == HOSTILE


def test_what_a_template_rendered_stays_text(played: Played) -> None:
    assert json.loads(played.probes["template as text"]["params"]["data"]) == HOSTILE


def test_a_part_stays_text_in_a_whole(played: Played) -> None:
    assert played.probes["joined"]["params"]["data"] == "a{{ 1/0 }}"


def test_extra_variables_marked_as_unsafe_stay_text(played: Played) -> None:
    expected = {key: value for key, value in HOSTILE.items() if not key.startswith("{{")}
    assert played.probes["extra variables"]["params"]["data"] == expected


def test_it_stays_text_for_an_ordinary_module(stage: Stage, played: Played, api: answering.Server) -> None:
    again = stage.play(
        [
            probe("ordinary", data=expression(EXTRA_CONFIG))
            | {"register": "ordinary", "delegate_to": "other", "vars": {"ansible_connection": "c5c3.nova.elsewhere"}},
            probe("its result", data="{{ ordinary.echo }}"),
        ],
        "-i",
        "pools.yml",
        hosts="all",
        environment={"KUBECONFIG": str(played.folder / "kubeconfig")},
    )
    assert again.status == 0, again.output
    assert again.probes["ordinary"]["params"]["data"] == HOSTILE
    assert again.probes["its result"]["params"]["data"] == HOSTILE
