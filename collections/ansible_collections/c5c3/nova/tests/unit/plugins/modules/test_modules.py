# SPDX-License-Identifier: Apache-2.0
"""What is true of every module: it is documented as it is, and the same either way that it runs."""

from __future__ import annotations

import importlib
import json
import pathlib
import types
from collections.abc import Mapping
from typing import Any

import pytest
import yaml
from ansible.module_utils import testing
from ansible_collections.c5c3.nova.plugins.action import in_process
from ansible_collections.c5c3.nova.plugins.doc_fragments import cluster, ledger, nova, target
from ansible_collections.c5c3.nova.plugins.doc_fragments import pool as pool_fragment
from ansible_collections.c5c3.nova.plugins.module_utils import entry, packing
from ansible_collections.c5c3.nova.plugins.module_utils.clients import errors
from ansible_collections.c5c3.nova.plugins.module_utils.rules import conditions

COLLECTION = pathlib.Path(__file__).parents[4]
MODULES = sorted(path.stem for path in (COLLECTION / "plugins/modules").glob("*.py"))
RUNTIME = yaml.safe_load((COLLECTION / "meta/runtime.yml").read_text(encoding="utf-8"))
#: The fragments of documentation, and the arguments that each of them is about.
FRAGMENTS: dict[str, tuple[Any, Mapping[str, Any]]] = {
    "cluster": (cluster, entry.CLUSTER_ARGUMENTS),
    "target": (target, entry.TARGET_ARGUMENT),
    "pool": (pool_fragment, entry.POOL_ARGUMENT),
    "nova": (nova, entry.NOVA_ARGUMENT),
    "ledger": (ledger, entry.LEDGER_ARGUMENT),
}


def load(name: str) -> Any:
    """Return the Python module of a module."""
    return importlib.import_module(f"ansible_collections.c5c3.nova.plugins.modules.{name}")


def test_every_module_runs_in_the_process_of_its_task() -> None:
    expected = {module: {"redirect": "c5c3.nova.in_process"} for module in MODULES}
    assert RUNTIME["plugin_routing"]["action"] == expected


def test_every_module_is_in_the_group_that_names_the_cluster_for_all() -> None:
    assert RUNTIME["action_groups"]["all"] == MODULES


@pytest.mark.parametrize("name", MODULES)
def test_the_documentation_of_a_module_matches_its_arguments(name: str) -> None:
    module = load(name)
    documented = yaml.safe_load(module.DOCUMENTATION)
    options = dict(documented.get("options") or {})
    for name_of_fragment, (fragment, _arguments) in FRAGMENTS.items():
        if f"c5c3.nova.{name_of_fragment}" in documented.get("extends_documentation_fragment", ""):
            options = yaml.safe_load(fragment.ModuleDocFragment.DOCUMENTATION)["options"] | options
    assert set(options) == set(module.ARGUMENTS)
    for option, argument in module.ARGUMENTS.items():
        told, meant = options[option], {"type": "str", "required": False, "default": None, **argument}
        assert told["type"] == meant["type"], option
        assert told.get("required", False) == meant["required"], option
        assert told.get("default") == meant["default"], option
        assert told.get("choices") == meant.get("choices"), option
        assert told.get("elements") == meant.get("elements"), option


@pytest.mark.parametrize(("fragment", "arguments"), FRAGMENTS.values(), ids=FRAGMENTS)
def test_the_shared_arguments_are_documented(fragment: Any, arguments: Mapping[str, Any]) -> None:
    options = yaml.safe_load(fragment.ModuleDocFragment.DOCUMENTATION)["options"]
    told = {
        name: {key: each[key] for key in ("type", "required", "elements") if key in each}
        for name, each in options.items()
    }
    assert told == arguments


def samples() -> list[Any]:
    """Return the parameters (field, sample) of every value that a module returns."""
    return [
        pytest.param(field, value["sample"], id=f"{name}-{field}")
        for name in MODULES
        for field, value in yaml.safe_load(load(name).RETURN).items()
        if "sample" in value
    ]


@pytest.mark.parametrize(("field", "sample"), samples())
def test_a_sample_is_what_the_module_could_have_returned(field: str, sample: Any) -> None:
    # What is large is text on its way through a play; a sample has room between its words.
    returned = packing.packed(packing.unpacked({field: sample}))[field]
    assert str(returned).replace(" ", "") == str(sample).replace(" ", "")
    if field.endswith("outcome"):
        said = sample["condition"]
        assert sample == conditions.outcome(said["type"], said["reason"], said["message"], look=sample["look"])
    if field == "errors":
        call = errors.CallError(system="nova", call="GET /").as_data()
        assert all(set(each) - {"node", "trait"} == set(call) for each in sample)


#: A value of each type, for arguments that a module must have.
VALUES: dict[str, Any] = {"dict": {}, "list": [], "raw": "", "str": ""}


@pytest.mark.parametrize("name", MODULES)
@pytest.mark.parametrize("wrong", ["missing", "unsupported"])
def test_arguments_are_refused_alike_in_the_process_of_the_task_and_beside_it(
    name: str, wrong: str, capsys: pytest.CaptureFixture[str]
) -> None:
    module, action = load(name), f"c5c3.nova.{name}"
    arguments = {
        "missing": {},
        "unsupported": {
            "colour": "red",
            **{each: VALUES[spec["type"]] for each, spec in module.ARGUMENTS.items() if spec.get("required")},
        },
    }[wrong]
    task = types.SimpleNamespace(action=action, args=arguments, check_mode=False, diff=False)
    here = in_process.ActionModule(task, None, None, None, None, None)._run_here()
    with testing.patch_module_args({**arguments, "_ansible_module_name": action}), pytest.raises(SystemExit):
        module.main()
    there = json.loads(capsys.readouterr().out)
    assert here["failed"]
    assert wrong in here["msg"].lower()
    assert here["msg"] == there["msg"]
