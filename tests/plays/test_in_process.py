# SPDX-License-Identifier: Apache-2.0
"""A module in the process of its task behaves as an ordinary module does."""

from __future__ import annotations

from typing import Any

import pytest
from plays.conftest import Played, Stage

SECRET = "hunter2hunter2"
PROBE = "c5c3.nova.probe"
BACKGROUND = {"async": 60, "poll": 1}
"""What makes a task an ordinary module: it outlives the process of the play."""


def probe(tag: str, **arguments: Any) -> dict[str, Any]:
    return {PROBE: {"tag": tag, **arguments}, "ignore_errors": True}


TASKS = [
    {**probe("plain", data={"a": ["{{ 1 + 1 }}", 2, None, True]}, number="7", flag="yes"), "register": "plain"},
    {**probe("registered", data="{{ plain }}"), "no_log": False},
    {**probe("environment"), "environment": {"PROBE_VARIABLE": "{{ 'of the task' }}"}},
    probe("after environment"),
    {**probe("call", fail="call", password=SECRET), "register": "call"},
    probe("call result", data="{{ call }}"),
    {**probe("bug", fail="bug", password=SECRET), "register": "bug"},
    probe("bug result", data="{{ bug }}"),
    {**probe("result", fail="result"), "register": "result"},
    probe("result result", data="{{ result }}"),
    {**probe("secret", password=SECRET), "register": "secret"},
    probe("secret result", data="{{ secret }}"),
    probe("omitted", number="{{ omit }}", items="{{ [1, 'two'] }}", mapping={"1": "{{ {'b': [1.5]} }}"}),
    probe("looped {{ item }}", data="{{ item }}") | {"loop": ["a", "b"]},
]


@pytest.fixture(scope="module")
def played(stage: Stage) -> Played:
    played = stage.play(TASKS, environment={"PROBE_VARIABLE": "of the shell"})
    assert played.status == 0, played.output
    return played


def test_arguments_are_validated_and_converted(played: Played) -> None:
    params = played.probes["plain"]["params"]
    assert (params["number"], params["flag"], params["choice"]) == (7, True, None)
    assert params["data"] == {"a": [2, 2, None, True]}


def test_a_client_gets_plain_types_only(played: Played) -> None:
    plain = {"NoneType", "bool", "dict", "float", "int", "list", "str"}
    for tag, probe_ in played.probes.items():
        assert set(probe_["types"]) <= plain, tag


def test_an_omitted_argument_is_absent(played: Played) -> None:
    params = played.probes["omitted"]["params"]
    assert (params["number"], params["items"], params["mapping"]) == (None, ["1", "two"], {"1": {"b": [1.5]}})


def test_the_result_is_registered(played: Played) -> None:
    result = played.probes["registered"]["params"]["data"]
    assert (result["changed"], result["failed"], result["echo"]) == (True, False, {"a": [2, 2, None, True]})


def test_a_loop_runs_item_by_item(played: Played) -> None:
    assert [played.probes[f"looped {item}"]["params"]["data"] for item in "ab"] == ["a", "b"]


def test_the_environment_of_the_task_is_that_of_the_module(played: Played) -> None:
    assert played.probes["environment"]["variable"] == "of the task"
    assert played.probes["after environment"]["variable"] == "of the shell"


@pytest.mark.case("B12")
def test_a_failed_call_carries_its_error_as_data(played: Played) -> None:
    result = played.probes["call result"]["params"]["data"]
    assert result["failed"] is True
    assert result["msg"] == "GET /v2.1/os-services: HTTP 403: password=***"
    expected = {"system": "nova", "call": "GET /v2.1/os-services", "status": 403, "detail": "password=***"}
    assert expected.items() <= result["error"].items()


def test_any_other_failure_names_module_and_exception(played: Played) -> None:
    result = played.probes["bug result"]["params"]["data"]
    assert result["failed"] is True
    assert result["msg"].startswith("c5c3.nova.probe: RuntimeError: https://nova/ is wrong")
    assert "traceback" not in result


def test_a_module_may_fail_by_its_result(played: Played) -> None:
    result = played.probes["result result"]["params"]["data"]
    assert (result["failed"], result["msg"], result["more"]) == (True, "as the module says", [1, 2])


@pytest.mark.case("B12")
def test_a_no_log_value_is_masked_wherever_a_result_holds_it(played: Played) -> None:
    assert played.probes["secret"]["params"]["password"] == SECRET
    assert SECRET not in str(played.probes["secret result"])
    assert SECRET not in played.output


@pytest.mark.case("B11")
def test_no_secret_shows_at_the_highest_verbosity(stage: Stage) -> None:
    # By the environment: Ansible quotes the lines of a play around a failed task.
    password = "{{ lookup('ansible.builtin.env', 'PROBE_PASSWORD') }}"
    tasks = [probe("secret", password=password), probe("bug", fail="bug", password=password)]
    played = stage.play(tasks, "-vvvv", environment={"PROBE_PASSWORD": SECRET})
    assert played.probes["secret"]["params"]["password"] == SECRET
    assert "Traceback" in played.output
    assert SECRET not in played.output


def test_check_and_diff_mode_reach_the_module(stage: Stage) -> None:
    played = stage.play([probe("checked", flag=True)], "--check", "--diff")
    assert (played.probes["checked"]["check_mode"], played.probes["checked"]["diff_mode"]) == (True, True)
    assert "-old" in played.output
    assert "+new" in played.output
    assert "changed=1" in played.output


ELSEWHERE = {"delegate_to": "other", "vars": {"ansible_connection": "c5c3.nova.elsewhere"}}

CASES = {
    "result": {"tag": "x", "data": ["{{ 1 + 1 }}"], "number": "3", "flag": True},
    "failed call": {"tag": "x", "fail": "call"},
    "unsupported": {"tag": "x", "colour": "red", "size": 1},
    "type": {"tag": "x", "number": "many"},
}


@pytest.fixture(scope="module")
def compared(stage: Stage) -> Played:
    """Each case as an ordinary module on another machine and in the process of its task."""
    tasks = []
    for case, arguments in CASES.items():
        tasks += [
            {PROBE: arguments, "ignore_errors": True, "register": "there", **ELSEWHERE},
            {PROBE: arguments, "ignore_errors": True, "register": "here"},
            probe(case, data=["{{ there }}", "{{ here }}"]),
        ]
    played = stage.play(tasks)
    assert played.status == 0, played.output
    return played


@pytest.mark.parametrize("case", CASES)
def test_an_ordinary_module_gives_the_same_result(compared: Played, case: str) -> None:
    there, here = compared.probes[case]["params"]["data"]
    for internal in ("invocation", "ansible_facts", "exception"):
        there.pop(internal, None)
        here.pop(internal, None)
    assert here["failed"] is (case != "result")
    assert {"changed": False, **there} == {"changed": False, **here}


def test_a_task_in_the_background_is_an_ordinary_module(stage: Stage) -> None:
    played = stage.play([{**probe("background", number="3"), **BACKGROUND}])
    assert played.probes["background"]["params"]["number"] == 3
    assert played.status == 0, played.output


def test_arguments_can_be_given_once_for_all_modules(stage: Stage) -> None:
    defaults = {"group/c5c3.nova.all": {"context": "management", "kubeconfig": "/nowhere"}}
    played = stage.play([probe("grouped"), probe("own", context="mine")], module_defaults=defaults)
    assert played.probes["grouped"]["params"]["context"] == "management"
    assert played.probes["own"]["params"]["context"] == "mine"


def test_the_action_itself_is_no_module(stage: Stage) -> None:
    played = stage.play([{"c5c3.nova.in_process": {"tag": "x"}}])
    assert played.status == 2
    assert "call one of the modules" in played.output
