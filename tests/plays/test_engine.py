# SPDX-License-Identifier: Apache-2.0
"""A run under the engine is what the stock program makes of the same playbook, and no run is seen by another."""

from __future__ import annotations

import json
import logging
import os
import pathlib
import signal
import subprocess
import sys
import textwrap
import threading
import time
import uuid
from collections.abc import Iterator
from typing import Any

import ansible_runner
import pytest
import yaml
from nova_compute_operator.engine import engine as engines
from nova_compute_operator.engine import internals, messages
from plays.conftest import Stage

MISBEHAVE = "c5c3.nova.misbehave"
SECRET = "hunter2hunter2"
#: What differs between two runs of anything.
VOLATILE = {
    *("uuid", "parent_uuid", "play_uuid", "task_uuid", "playbook_uuid", "created", "pid", "runner_ident"),
    *("start", "end", "duration", "start_line", "end_line", "ansible_job_id", "results_file", "delta", "process"),
}


class Runs:
    """Runs plays by ansible-runner: each in a folder of its own, under an engine or the plain way."""

    def __init__(self, stage: Stage, folder: pathlib.Path) -> None:
        self.project = stage.folder
        self._folder = folder

    def write(self, tasks: list[dict[str, Any]], *, hosts: str = "localhost", **keywords: Any) -> str:
        """The path of a playbook with one play."""
        path = self.project / f"play-{uuid.uuid4().hex[:8]}.yml"
        path.write_text(yaml.safe_dump([{"hosts": hosts, "gather_facts": False, "tasks": tasks, **keywords}]))
        return str(path)

    def run(self, playbook: str, engine: engines.Engine | None = None, **keywords: Any) -> Any:
        folder = self._folder / uuid.uuid4().hex[:8]
        (folder / "env").mkdir(parents=True)
        (folder / "env" / "settings").write_text('{"pexpect_timeout": 0.2}')
        environment = {
            "ANSIBLE_CONFIG": str(self.project / "ansible.cfg"),
            "ANSIBLE_HOME": str(folder / "home"),
            "ANSIBLE_LOCAL_TEMP": str(folder / "tmp"),
            "PATH": f"{pathlib.Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            "PROBE_FILE": os.devnull,
            **keywords.pop("envvars", {}),
        }
        arguments = {"private_data_dir": str(folder), "project_dir": str(self.project), "quiet": True} | keywords
        if engine is None:
            return ansible_runner.run(playbook=playbook, envvars=environment, **arguments)
        with engine.in_use():
            return ansible_runner.run(playbook=playbook, envvars=environment, **arguments)


@pytest.fixture(scope="module")
def runs(stage: Stage, tmp_path_factory: pytest.TempPathFactory) -> Runs:
    return Runs(stage, tmp_path_factory.mktemp("runs"))


def new_engine(runs: Runs, folder: pathlib.Path) -> engines.Engine:
    return engines.Engine(runs.project, environment={"ANSIBLE_HOME": str(folder), "TMPDIR": str(folder)})


@pytest.fixture(scope="module")
def the_engine(runs: Runs, tmp_path_factory: pytest.TempPathFactory) -> Iterator[engines.Engine]:
    made = new_engine(runs, tmp_path_factory.mktemp("engine"))
    yield made
    made.close()


@pytest.fixture
def engine(the_engine: engines.Engine) -> Iterator[engines.Engine]:
    """The engine; a test that lets a run be a plain one without meaning it fails."""
    cold = the_engine.cold_runs
    yield the_engine
    assert the_engine.cold_runs == cold


@pytest.fixture
def own_engine(runs: Runs, tmp_path: pathlib.Path) -> Iterator[engines.Engine]:
    """An engine that a test may break."""
    made = new_engine(runs, tmp_path)
    yield made
    made.close()


def results(run: Any, task: str) -> list[dict[str, Any]]:
    """What the task returned, host by host, whether it failed or not."""
    ended = ("runner_on_ok", "runner_on_failed")
    return [
        one["event_data"]["res"] for one in run.events if one["event"] in ended and one["event_data"]["task"] == task
    ]


def settled(value: Any) -> Any:
    """The value without what no two runs have in common."""
    if isinstance(value, dict):
        return {key: settled(one) for key, one in value.items() if key not in VOLATILE}
    if isinstance(value, list):
        return [settled(one) for one in value]
    # A terminal, which the plain way has, ends a line with two characters.
    return value.replace("\r\n", "\n") if isinstance(value, str) else value


def probe(name: str, **arguments: Any) -> dict[str, Any]:
    return {"name": name, MISBEHAVE: arguments or {"how": "nothing"}}


def debug(name: str, message: str) -> dict[str, Any]:
    return {"name": name, "ansible.builtin.debug": {"msg": message}}


EVERYTHING = [
    {**probe("retried"), "register": "tried", "until": "tried.calls >= 3", "retries": 5, "delay": 0},
    {
        "name": "looped",
        **debug("looped", "{{ item }}"),
        "loop": [1, 2],
        "changed_when": "item == 2",
        "notify": "handler",
    },
    {
        "block": [{"name": "failing", "ansible.builtin.fail": {"msg": "no"}}],
        "rescue": [debug("rescued", "{{ ansible_failed_task.action }}")],
        "always": [debug("always", "{{ [1, 2] | map('string') | list }}")],
    },
    {"name": "skipped", "ansible.builtin.debug": {"msg": "never"}, "when": "false"},
    {"name": "statistics", "ansible.builtin.set_stats": {"data": {"a": 1}, "per_host": True}},
    debug("environment", "{{ lookup('ansible.builtin.env', 'PER_RUN') }}"),
    {"name": "secret", "c5c3.nova.probe": {"tag": "secret", "password": SECRET}, "register": "secret"},
    {"name": "hidden", **debug("hidden", SECRET), "no_log": True},
    {"name": "background", "ansible.builtin.command": "true", "async": 30, "poll": 1},
    {"name": "file", "ansible.builtin.copy": {"content": "{{ 1 + 1 }}\n", "dest": "{{ target }}", "mode": "0600"}},
    {
        "name": "templated",
        "ansible.builtin.set_fact": {"made": "{{ lookup('ansible.builtin.template', template) }}"},
        "vars": {"things": [1, {"deep": [2]}], "template": "{{ target }}.j2"},
        "loop": [1, 2],
    },
    debug("untouched", "{{ things }}"),
    {**debug("many", "{{ many.update(k0=item) }}{{ many.k0 }}{{ many.k1 }}{{ many | length }}"), "loop": [1, 2]},
    debug("many untouched", "{{ many.k0 }}{{ many.k19 | float }}"),
    {
        "block": [debug("filter that is not there", "{{ 1 | no_such_filter }}")],
        "rescue": [debug("what it said", "{{ ansible_failed_result.msg }}")],
    },
    {
        "block": [debug("test that is not there", "{{ 1 is no_such_test }}")],
        "rescue": [debug("what that said", "{{ ansible_failed_result.msg }}")],
    },
    {"name": "ended", "ansible.builtin.meta": "end_host"},
]
HANDLERS = [debug("handler", "handled")]
MANY = {f"k{number}": number for number in range(20)}


@pytest.mark.parametrize("options", ["", "--check --diff", "-vvv"], ids=["run", "check", "verbose"])
def test_events_artifacts_and_statistics_are_those_of_the_plain_way(
    runs: Runs, engine: engines.Engine, tmp_path: pathlib.Path, options: str
) -> None:
    # One that does its worst to the variables it is given.
    (tmp_path / "file.j2").write_text(
        "{{ things.append(3) }}{{ things[1].deep.append(4) }}{{ things }}{{ template_path }}"
    )
    playbook = runs.write(EVERYTHING, handlers=HANDLERS, vars={"things": [1, {"deep": [2]}], "many": MANY})
    ways = []
    # Twice under the engine: the first run leaves the second what it compiled.
    for way in (None, engine, engine):
        variables, environment = {"target": str(tmp_path / "file")}, {"PER_RUN": "of the run"}
        ways.append(runs.run(playbook, way, cmdline=options or None, extravars=variables, envvars=environment))
        (tmp_path / "file").unlink(missing_ok=True)
        assert ways[-1].status == "successful", ways[-1].stdout.read()
    plain, *warm = ways
    kept = [one for one in plain.events if one["event"] not in ("verbose", "runner_on_async_poll")]
    for run in warm:
        same = [one for one in run.events if one["event"] not in ("verbose", "runner_on_async_poll")]
        assert [one["event"] for one in same] == [one["event"] for one in kept]
        for ours, theirs in zip(same, kept, strict=True):
            # What of a temporary file's name is random is in the arguments of copy.
            if ours["event_data"].get("task") not in ("file", "background"):
                assert settled(ours["event_data"]) == settled(theirs["event_data"])
        assert run.stats == plain.stats
        assert run.rc == plain.rc
        assert sorted(os.listdir(run.config.artifact_dir)) == sorted(os.listdir(plain.config.artifact_dir))  # noqa: PTH208


def test_secret_of_a_task_is_in_no_artifact(runs: Runs, engine: engines.Engine, tmp_path: pathlib.Path) -> None:
    tasks = [task for task in EVERYTHING if task.get("name") in ("secret", "hidden")]
    run = runs.run(runs.write(tasks), engine, cmdline="-vvv")
    assert run.status == "successful", run.stdout.read()
    texts = [path.read_text() for path in pathlib.Path(run.config.artifact_dir).rglob("*") if path.is_file()]
    assert [text for text in texts if SECRET in text] == []
    assert "censored" in results(run, "hidden")[0]


def test_failure_ends_the_play_with_the_same_code(runs: Runs, engine: engines.Engine) -> None:
    tasks = [{"name": "bad", "ansible.builtin.assert": {"that": ["1 == 2"]}}, debug("never", "x")]
    playbook = runs.write(tasks)
    plain, warm = runs.run(playbook), runs.run(playbook, engine)
    assert (warm.status, warm.rc, warm.stats["failures"]) == (plain.status, plain.rc, plain.stats["failures"])
    assert (warm.rc, results(warm, "never")) == (2, [])


def test_playbook_that_is_not_there_is_named(runs: Runs, engine: engines.Engine) -> None:
    missing = str(runs.project / "missing.yml")
    plain, warm = runs.run(missing), runs.run(missing, engine)
    assert (warm.status, warm.rc) == (plain.status, plain.rc)
    assert "missing.yml" in warm.stdout.read()


def test_nothing_of_a_run_is_left_for_the_next(runs: Runs, engine: engines.Engine) -> None:
    fresh = {"name": "fresh", "ansible.builtin.assert": {"that": ["leaked is not defined", "first.calls == 1"]}}
    leak = {"name": "leak", "ansible.builtin.set_fact": {"leaked": 1, "cacheable": True}}
    tasks = [
        {**probe("first"), "register": "first"},
        fresh,
        leak,
        debug("who", "{{ who }}"),
        probe("change", how="change"),
    ]
    playbook = runs.write(tasks)
    for who in ("one", "two", "three"):
        run = runs.run(playbook, engine, extravars={"who": who})
        assert run.status == "successful", run.stdout.read()
        assert [one["msg"] for one in results(run, "who")] == [who]


def test_runs_at_one_time_do_not_mix(runs: Runs, engine: engines.Engine) -> None:
    playbook = runs.write([debug("who", "{{ who }}"), debug("me", "{{ lookup('ansible.builtin.env', 'WHO') }}")])
    seen: dict[str, tuple[str, str, str]] = {}

    def one(who: str) -> None:
        run = runs.run(playbook, engine, extravars={"who": who}, envvars={"WHO": who})
        seen[who] = (run.status, results(run, "who")[0]["msg"], results(run, "me")[0]["msg"])

    threads = [threading.Thread(target=one, args=(f"w{number}",)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert seen == {f"w{number}": ("successful", f"w{number}", f"w{number}") for number in range(6)}


def test_each_run_has_a_process_and_its_tasks_share_it(runs: Runs, engine: engines.Engine) -> None:
    playbook = runs.write([probe("a"), probe("b")])
    first, second = runs.run(playbook, engine), runs.run(playbook, engine)
    processes = {one["process"] for run in (first, second) for name in ("a", "b") for one in results(run, name)}
    assert len(processes) == 2
    assert engine.pid not in processes
    # The second call of one process, so the task shares it with the one before.
    assert results(first, "b")[0]["calls"] == 2


def test_task_changes_its_process_and_the_next_task_sees_nothing_of_it(runs: Runs, engine: engines.Engine) -> None:
    run = runs.run(runs.write([probe("before"), probe("change", how="change"), probe("after")]), engine)
    before, after = results(run, "before")[0], results(run, "after")[0]
    assert (after["folder"], after["leaked"]) == (before["folder"], None)
    assert "changed the environment and the working folder and the file mode mask of its process" in run.stdout.read()


@pytest.mark.parametrize(("how", "code"), [("exit", 2), ("raise", 2), ("abort", 128 + signal.SIGABRT), ("print", 0)])
def test_task_that_misbehaves_fails_its_own_run_and_no_other(
    runs: Runs, engine: engines.Engine, how: str, code: int
) -> None:
    assert runs.run(runs.write([probe("bad", how=how)]), engine).rc == code
    assert runs.run(runs.write([probe("good")]), engine).status == "successful"


def test_play_over_several_hosts_has_a_process_for_each(runs: Runs, own_engine: engines.Engine) -> None:
    hosts = {name: {"ansible_connection": "local"} for name in ("a", "b")}
    inventory = {"all": {"hosts": hosts}}
    playbook = runs.write([probe("where")], hosts="all")
    # A warm process has its settings for good, and that of the others is another kind of inventory.
    run = runs.run(playbook, own_engine, inventory=inventory, envvars={"ANSIBLE_INVENTORY_ENABLED": "yaml"})
    assert own_engine.cold_runs == 0
    assert len({one["process"] for one in results(run, "where")}) == 2


def processes_of(path: pathlib.Path) -> list[int]:
    """The processes that a hanging task wrote down: itself, and a child in a session of its own."""
    deadline = time.monotonic() + 60
    while not path.exists() or len(path.read_text().split()) != 2:
        assert time.monotonic() < deadline, "the task did not start"
        time.sleep(0.02)
    return [int(one) for one in path.read_text().split()]


def alive(process: int) -> bool:
    try:
        return pathlib.Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def wait_gone(process: int) -> None:
    deadline = time.monotonic() + 30
    while alive(process):
        assert time.monotonic() < deadline, f"process {process} is still there"
        time.sleep(0.02)


def test_cancelled_run_ends_at_once_with_its_group(runs: Runs, engine: engines.Engine, tmp_path: pathlib.Path) -> None:
    path = tmp_path / "started"
    playbook = runs.write([probe("hang", how="hang", path=str(path))])
    run = runs.run(playbook, engine, cancel_callback=lambda: path.exists() and bool(path.read_text()))
    run_process, sleeper = processes_of(path)
    assert run.status == "canceled"
    wait_gone(run_process)
    os.kill(sleeper, signal.SIGKILL)
    assert runs.run(runs.write([probe("good")]), engine).status == "successful"


def test_changed_files_are_seen(runs: Runs, engine: engines.Engine) -> None:
    included = runs.project / f"tasks-{uuid.uuid4().hex[:8]}.yml"
    playbook = runs.write([{"ansible.builtin.include_tasks": str(included)}])
    for text in ("one", "two", "two", "three"):
        included.write_text(yaml.safe_dump([debug("said", text)]))
        assert [one["msg"] for one in results(runs.run(playbook, engine), "said")] == [text]


def test_parsed_playbook_serves_only_as_long_as_its_files_are_the_same(runs: Runs, engine: engines.Engine) -> None:
    role = runs.project / "roles" / f"role_{uuid.uuid4().hex[:8]}"
    tasks, variables = role / "tasks" / "main.yml", role / "vars" / "main.yml"
    tasks.parent.mkdir(parents=True)
    tasks.write_text(yaml.safe_dump([debug("said", "{{ word | default('none') }}")]))
    playbook = runs.write([{"ansible.builtin.import_role": {"name": role.name}}])

    def said() -> list[str]:
        # The second is the first that can be served.
        return [one["msg"] for _ in range(3) for one in results(runs.run(playbook, engine), "said")]

    assert said() == ["none"] * 3
    variables.parent.mkdir()
    variables.write_text("word: new\n")
    assert said() == ["new"] * 3
    variables.write_text("word: other\n")
    assert said() == ["other"] * 3
    pathlib.Path(playbook).write_text(yaml.safe_dump([{"hosts": "localhost", "tasks": [debug("said", "itself")]}]))
    assert said() == ["itself"] * 3


def test_playbook_that_depends_on_a_variable_is_parsed_in_each_run(runs: Runs, engine: engines.Engine) -> None:
    name = f"tasks-{uuid.uuid4().hex[:8]}"
    for word in ("one", "two"):
        (runs.project / f"{name}-{word}.yml").write_text(yaml.safe_dump([debug("said", word)]))
    playbook = runs.write([{"ansible.builtin.import_tasks": f"{name}-{{{{ word | default('one') }}}}.yml"}])
    for word in ("one", "one", "two", "one"):
        run = runs.run(playbook, engine, extravars={"word": word})
        assert [one["msg"] for one in results(run, "said")] == [word]


def test_tasks_of_two_runs_have_no_id_in_common(runs: Runs, engine: engines.Engine) -> None:
    playbook = runs.write([{"block": [debug("one", "1")], "always": [debug("two", "2")]}])
    seen = [
        {
            one["event_data"]["task_uuid"]
            for one in runs.run(playbook, engine).events
            if "task_uuid" in one["event_data"]
        }
        for _ in range(3)
    ]
    assert [len(one) for one in seen] == [2, 2, 2]
    assert len(set.union(*seen)) == 6


def test_run_with_other_settings_is_a_plain_one_and_says_so_once(
    runs: Runs, own_engine: engines.Engine, caplog: pytest.LogCaptureFixture
) -> None:
    playbook = runs.write([probe("where")])
    runs.run(playbook, own_engine)
    with caplog.at_level(logging.WARNING):
        for _ in range(2):
            run = runs.run(playbook, own_engine, envvars={"ANSIBLE_DISPLAY_SKIPPED_HOSTS": "false"})
            assert run.status == "successful"
    assert own_engine.cold_runs == 2
    [line] = [one for one in caplog.records if "plain way" in one.message]
    assert "ANSIBLE_DISPLAY_SKIPPED_HOSTS" in json.dumps(vars(line), default=str)


def test_other_versions_of_ansible_run_the_plain_way(
    runs: Runs, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(internals, "TRIED", {"ansible-core": "2.18"})
    engine = new_engine(runs, tmp_path)
    assert runs.run(runs.write([probe("where")]), engine).status == "successful"
    assert (engine.pid, engine.cold_runs) == (None, 1)


def test_every_supported_version_is_tried() -> None:
    assert internals.unsupported() == ""


def test_run_fails_when_the_warm_process_dies_and_the_next_one_has_another(
    runs: Runs, own_engine: engines.Engine, tmp_path: pathlib.Path
) -> None:
    path, ended = tmp_path / "started", []
    playbook = runs.write([probe("hang", how="hang", path=str(path))])
    thread = threading.Thread(target=lambda: ended.append(runs.run(playbook, own_engine)))
    thread.start()
    run_process, sleeper = processes_of(path)
    first = own_engine.pid
    assert first is not None
    os.kill(first, signal.SIGKILL)
    thread.join(30)
    os.kill(sleeper, signal.SIGKILL)
    assert [run.status for run in ended] == ["failed"]
    wait_gone(run_process)
    assert runs.run(runs.write([probe("good")]), own_engine).status == "successful"
    assert (own_engine.pid != first, own_engine.cold_runs) == (True, 0)


OPERATOR = """
import pathlib, sys
from nova_compute_operator.engine import engine as engines
project, home, playbook = sys.argv[1:]
engine = engines.Engine(pathlib.Path(project), environment={"ANSIBLE_HOME": home})
settings = {"ANSIBLE_CONFIG": f"{project}/ansible.cfg", "ANSIBLE_HOME": home}
run = engine.start_run([playbook], {**__import__("os").environ, **settings}, project)
print(engine.pid, flush=True)
run.expect("never", timeout=600)
"""


def test_warm_process_and_its_runs_end_with_the_operator(runs: Runs, tmp_path: pathlib.Path) -> None:
    path = tmp_path / "started"
    playbook = runs.write([probe("hang", how="hang", path=str(path))])
    operator = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(OPERATOR), str(runs.project), str(tmp_path), playbook],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert operator.stdout is not None
    warm = int(operator.stdout.readline())
    run_process, sleeper = processes_of(path)
    operator.kill()
    operator.wait()
    operator.stdout.close()
    wait_gone(run_process)
    wait_gone(warm)
    os.kill(sleeper, signal.SIGKILL)


def test_warm_process_keeps_nothing_of_its_runs(runs: Runs, own_engine: engines.Engine) -> None:
    playbook = runs.write([debug("x", "{{ 1 + 1 }}")])

    def look() -> tuple[int, int]:
        process = pathlib.Path(f"/proc/{own_engine.pid}")
        return sum(1 for _ in (process / "fd").iterdir()), sum(1 for _ in (process / "task").iterdir())

    def held() -> tuple[int, int]:
        # The end of a run is told before its socket is closed, so the least of some looks is what stays.
        looks = []
        for _ in range(20):
            looks.append(look())
            time.sleep(0.02)
        return min(looks)

    for _ in range(3):
        runs.run(playbook, own_engine)
    before = held()
    for _ in range(10):
        runs.run(playbook, own_engine)
    assert held() == before
    assert before[1] == 1


def test_long_output_comes_whole(runs: Runs, engine: engines.Engine) -> None:
    run = runs.run(runs.write([debug("long", "{{ 'x' * 1000000 }}")]), engine)
    assert run.stdout.read().count("x") >= 1_000_000


def test_closed_engine_runs_the_plain_way(runs: Runs, tmp_path: pathlib.Path) -> None:
    engine = new_engine(runs, tmp_path)
    engine.close()
    assert runs.run(runs.write([probe("where")]), engine).status == "successful"
    assert engine.cold_runs == 1


def test_request_that_is_too_long_runs_the_plain_way(runs: Runs, own_engine: engines.Engine) -> None:
    run = runs.run(runs.write([probe("where")]), own_engine, envvars={f"LONG_{n}": "x" * 100_000 for n in range(8)})
    assert run.status == "successful"
    assert own_engine.cold_runs == 1


def test_messages_end_with_their_sender() -> None:
    ours, theirs = messages.pair()
    messages.send(ours, {"a": 1})
    ours.close()
    assert messages.receive(theirs) == ({"a": 1}, [])
    assert messages.receive(theirs) == (None, [])
    theirs.close()
