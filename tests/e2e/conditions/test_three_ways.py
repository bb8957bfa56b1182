# SPDX-License-Identifier: Apache-2.0
"""A pass does the same by hand, under plain ansible-runner and under the engine: tasks, results, writes and status.

Each scenario leads three pools, one by each way, or one pool three times where a pass leaves it as it was.
"""

from __future__ import annotations

import dataclasses
import pathlib
import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import diffs
import pytest
from ansible_collections.c5c3.nova.plugins.module_utils.clients import api_server
from e2e.conditions import bench as benches
from e2e.world import cluster, writes
from nova_compute_operator import folders, outcomes, passes
from nova_compute_operator.engine import engine as engines

#: What no two passes have in common, wherever it is.
VOLATILE = {
    *("uuid", "parent_uuid", "play_uuid", "task_uuid", "playbook_uuid", "uid", "resourceVersion", "generation"),
    *("start", "end", "duration", "creationTimestamp", "lastTransitionTime", "since", "time", "managedFields"),
    *("observedGeneration", "id", "request_id", "updated_at"),
    # A process asks for a token of its own, so the plain ways call more often.
    "api_calls",
}
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")


@dataclasses.dataclass(frozen=True, kw_only=True)
class Pass:
    """What one pass did: its output, its events where there are any, what it wrote, and what it left."""

    output: str
    events: list[Any] | None
    written: dict[str, list[str]]
    status: Any


Way = Callable[[str], Pass]


class Ways:
    """The three ways to run a pass over a pool."""

    def __init__(
        self, bench: benches.Bench, passes_seen: list[list[dict[str, Any]]], folder: pathlib.Path, *options: str
    ) -> None:
        self._bench = bench
        self._passes_seen = passes_seen
        self._options = options
        self._folder = folder
        self._store = folders.Folders(folder)
        self._engine = passes.warm_engine(benches.PLAYBOOK, self._store)

    def close(self) -> None:
        self._engine.close()
        self._store.close()

    def __iter__(self) -> Iterator[Way]:
        yield self.by_hand
        yield lambda pool: self._by_runner(pool, None)
        yield lambda pool: self._by_runner(pool, self._engine)

    def by_hand(self, pool: str) -> Pass:
        def run() -> str:
            program = pathlib.Path(sys.executable).parent / "ansible-playbook"
            command = [program, "playbooks/reconcile.yml", "--limit", f"openstack/{pool}", *self._options]
            # As ansible-runner has it.
            environment = self._bench.stand.environment | {"ANSIBLE_FORCE_COLOR": "true"}
            done = subprocess.run(
                command, cwd=benches.ROOT, env=environment, capture_output=True, text=True, check=False
            )
            assert done.returncode == 0, done.stdout + done.stderr
            return done.stdout

        return self._observe(pool, lambda: (run(), None))

    def _by_runner(self, pool: str, engine: engines.Engine | None) -> Pass:
        def run() -> tuple[str, list[Any]]:
            kept = set(self._folder.glob("passes/*"))
            runner = _Passes(
                playbook=benches.PLAYBOOK, store=self._store, timeout=240, engine=engine, options=self._options
            )
            outcome = self._bench.run(pool, runner=runner)
            assert outcome.verdict is outcomes.Verdict.DONE, outcome
            [folder] = set(self._folder.glob("passes/*")) - kept
            [artifacts] = (folder / "artifacts").iterdir()
            return (artifacts / "stdout").read_text(), self._passes_seen[-1]

        seen = self._observe(pool, run)
        assert self._engine.cold_runs == 0
        return seen

    def _observe(self, pool: str, run: Callable[[], tuple[str, list[Any] | None]]) -> Pass:
        count = writes.Count(self._bench.stand)
        output, events = run()
        # Not what controllers make of it, which is sooner or later.
        kinds = {"kubernetes": count.kubernetes_writes(agent=api_server.USER_AGENT), "nova": count.nova_writes()}
        written = {where: [_plain(one, pool) for one in found] for where, found in kinds.items()}
        left = self._bench.cluster.get("NovaCompute", pool)
        return Pass(
            output=_plain(_COLOUR.sub("", output.replace("\r\n", "\n")), pool),
            events=None if events is None else [_event(one, pool) for one in events if one["event"] != "verbose"],
            written=written,
            status=_settled((left or {}).get("status"), pool),
        )


class _Passes(passes.Passes):
    """Passes with options of their own for the program."""

    def __init__(self, *, options: tuple[str, ...], **keywords: Any) -> None:
        super().__init__(**keywords)
        self._options = options

    def _run(self, pool: str, pass_id: str, folder: pathlib.Path, *rest: Any, **keywords: Any) -> outcomes.Verdict:
        (folder / "env").mkdir(exist_ok=True)
        (folder / "env" / "cmdline").write_text(" ".join(self._options))
        return super()._run(pool, pass_id, folder, *rest, **keywords)


def _plain(text: str, pool: str) -> str:
    """The text without the names of this pool, its node, and what is made anew each time."""
    text = text.replace(pool, "POOL")
    text = re.sub(r"compute-[123]\b", "NODE", text)
    text = re.sub(r"conditions\.c5c3\.io/[0-9a-f]{8}", "SELECTOR", text)
    text = re.sub(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", "UUID", text)
    text = re.sub(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z?", "TIME", text)
    text = re.sub(r"(resourceVersion\W+)\d+", r"\1N", text)
    # The name of a file of configuration, and the hash in it, depend on the names above.
    return re.sub(r"\b[0-9a-f]{10,64}\b", "HASH", text)


def _settled(value: Any, pool: str) -> Any:
    if isinstance(value, Mapping):
        return {_plain(str(key), pool): _settled(one, pool) for key, one in value.items() if key not in VOLATILE}
    if isinstance(value, list):
        return [_settled(one, pool) for one in value]
    return _plain(value, pool) if isinstance(value, str) else value


def _event(event: Mapping[str, Any], pool: str) -> tuple[str, Any]:
    return event["event"], _settled(event["event_data"], pool)


@pytest.fixture
def ways(bench: benches.Bench, passes_seen: list[list[dict[str, Any]]], tmp_path: pathlib.Path) -> Iterator[Ways]:
    made = Ways(bench, passes_seen, tmp_path / "ways")
    yield made
    made.close()


@pytest.fixture
def dry_ways(bench: benches.Bench, passes_seen: list[list[dict[str, Any]]], tmp_path: pathlib.Path) -> Iterator[Ways]:
    made = Ways(bench, passes_seen, tmp_path / "dry-ways", "--check", "--diff")
    yield made
    made.close()


def expect_same(seen: list[Pass]) -> None:
    by_hand, plain, warm = seen
    assert plain.events
    assert warm.events
    assert {"playbook_on_start", "runner_on_ok", "playbook_on_stats"} <= {name for name, _ in plain.events}
    assert [name for name, _ in warm.events] == [name for name, _ in plain.events]
    assert list(differences(warm.events, plain.events)) == []
    assert warm.written == plain.written == by_hand.written
    assert warm.status == plain.status == by_hand.status
    assert warm.output == plain.output
    assert tasks_of(warm.output) == tasks_of(by_hand.output)


def differences(one: Any, other: Any, *, where: str = "") -> Iterator[str]:
    """Where two values differ, and how."""
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        for key in sorted(one.keys() | other.keys()):
            yield from differences(one.get(key), other.get(key), where=f"{where}.{key}")
    elif isinstance(one, list | tuple) and isinstance(other, list | tuple) and len(one) == len(other):
        for number, pair in enumerate(zip(one, other, strict=True)):
            yield from differences(*pair, where=f"{where}[{number}]")
    elif one != other:
        yield f"{where}: {one!r} and {other!r}"


def tasks_of(output: str) -> list[str]:
    """What the play says of each task, without the values, which a person and a program may be shown differently."""
    return [
        line for line in output.splitlines() if re.match(r"(TASK|PLAY|ok|changed|skipping|fatal|failed|POOL)\b", line)
    ]


def test_a_pool_that_is_settled(bench: benches.Bench, ways: Ways, settled: str) -> None:
    bench.run(settled)
    seen = [way(settled) for way in ways]
    expect_same(seen)
    assert {"PUT", "POST", "DELETE", "PATCH"} & {
        one.split()[0] for each in seen for one in each.written["nova"]
    } == set()


def test_a_pool_that_begins_and_then_drains(bench: benches.Bench, ways: Ways, settled: str) -> None:
    # One after another on the same node; the settled pool keeps what pools share in Nova as it is.
    bench.run(settled)
    began, drained = [], []
    for way in ways:
        name, selector = bench.new_pool(benches.OTHER_NODE)
        began.append(way(name))
        bench.settle(name, benches.OTHER_NODE)
        bench.cluster.set_labels(benches.OTHER_NODE, dict.fromkeys(selector))
        drained.append(way(name))
        bench.end_test()
    expect_same(began)
    assert any(one.startswith("create") for one in began[0].written["kubernetes"])
    expect_same(drained)
    assert len(drained[0].written["nova"]) == 1


def test_a_pool_whose_nova_is_not_there(bench: benches.Bench, ways: Ways) -> None:
    pools = [bench.new_pool(nova="missing") for _ in range(3)]
    seen = [way(name) for way, (name, _) in zip(ways, pools, strict=True)]
    expect_same(seen)
    assert cluster.verdict({"status": bench.pool(pools[0][0])["status"]}, "NovaReady") == "False NovaNotFound"


def test_a_dry_run(bench: benches.Bench, dry_ways: Ways) -> None:
    # Not the settled pool, whose newest ConfigMap may be that of an earlier test.
    name, _ = bench.new_pool(benches.OTHER_NODE)
    bench.settle(name, benches.OTHER_NODE)
    bench.set_spec(name, {"traits": ["CUSTOM_DRY"], "libvirt": {"virtType": "qemu"}})
    seen = [way(name) for way in dry_ways]
    expect_same(seen)
    assert seen[0].written == {"kubernetes": [], "nova": []}
    for each in seen:
        config_map, daemon_set, *_ = shown = diffs.of(each.output)
        assert [diff.after.partition(" ")[0] for diff in shown] == ["ConfigMap", "DaemonSet", "status"]
        assert config_map.lines == ("-virt_type = kvm", "+virt_type = qemu")
        assert [line[1:].split() for line in daemon_set.lines] == [
            ["name:", side.removeprefix("ConfigMap openstack/")] for side in (config_map.before, config_map.after)
        ]
