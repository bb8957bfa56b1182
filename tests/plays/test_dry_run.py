# SPDX-License-Identifier: Apache-2.0
"""`--check --diff` shows every change that the pass would make, line by line, and makes none."""

from __future__ import annotations

import dataclasses
import os
import pathlib
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping

import diffs
import pytest
import yaml
from ansible_collections.c5c3.nova.plugins.module_utils.rules import vocabulary
from plays import standing

ROOT = pathlib.Path(__file__).parents[2]
STAYS, LEAVES = "compute-1", "compute-2"
POOL = f"openstack/{standing.POOL}"
LATER = "2026-01-03T00:00:00Z"
DAEMON_SET = f"DaemonSet {POOL}-nova-compute"


@dataclasses.dataclass(frozen=True, kw_only=True)
class Chapter:
    """A dry run and the pass that followed it, as they were printed, and what the dry run wrote."""

    dry: str
    passed: str
    written: list[str]
    #: What lay there before and after the dry run.
    before: standing.Object
    after: standing.Object


class Reader:
    """Runs passes by hand over the pool of a stand-in."""

    def __init__(self, stand: standing.Standing, folder: pathlib.Path) -> None:
        self.stand = stand
        self.environment = stand.environment(folder, os.environ["PATH"])

    def run(self, *options: str) -> str:
        done = subprocess.run(
            [sys.executable, "-m", "ansible", "playbook", "playbooks/reconcile.yml", "--limit", POOL, *options],
            cwd=ROOT,
            env=self.environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )
        said = done.stdout + done.stderr
        assert done.returncode == 0, said
        # A step that fails is a condition of the pool, and would show here as rescued.
        assert re.search(r"failed=0 .*rescued=0 ", said), said
        return said

    def chapter(self) -> Chapter:
        before, writes = self.stand.state(), self.stand.writes()
        dry = self.run("--check", "--diff")
        after, written = self.stand.state(), self.stand.writes()[len(writes) :]
        return Chapter(dry=dry, passed=self.run("--diff"), written=written, before=before, after=after)


@pytest.fixture(scope="module")
def story(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Chapter]]:
    """The life of a pool: it begins; its spec changes and a node leaves it; the pod of that node is gone.

    Then its configuration goes back to what it was, and becomes another once more.
    """
    with standing.with_a_pool(nodes={STAYS: "az1", LEAVES: "az2"}, traits=["CUSTOM_KNOWN", "CUSTOM_OLD"]) as stand:
        reader = Reader(stand, tmp_path_factory.mktemp("by-hand"))
        stand.cloud.traits |= {"CUSTOM_KNOWN"}
        begins = reader.chapter()

        pool = stand.get("NovaCompute", standing.POOL)
        pool["spec"] |= {"libvirt": {"virtType": "qemu"}, "traits": ["CUSTOM_KNOWN", "CUSTOM_NEW"]}
        # Traits of before that no node of a pool carries: one of them a stranger's resource provider does.
        pool["status"]["createdTraits"] = ["CUSTOM_CARRIED", "CUSTOM_OLD", "CUSTOM_UNUSED"]
        stand.cloud.traits |= {"CUSTOM_CARRIED", "CUSTOM_UNUSED"}
        stand.cloud.carried |= {"CUSTOM_CARRIED"}
        stand.get("Node", STAYS)["metadata"]["labels"][vocabulary.ZONE_LABEL] = "az3"
        del stand.get("Node", LEAVES)["metadata"]["labels"]["pool"]
        changes = reader.chapter()

        # The node's term goes from the affinity, and its pod with it: there never was one.
        reader.run()
        releases = reader.chapter()

        # The newer of the two ConfigMaps is not the one that the pods mount from now on.
        stand.get("ConfigMap", f"{standing.POOL}-config-2340d80b")["metadata"]["creationTimestamp"] = LATER
        pool["spec"]["libvirt"] = {"virtType": "kvm"}
        returns = reader.chapter()
        pool["spec"]["libvirt"] = {"virtType": "kvm", "cpuMode": "host-passthrough"}
        yield {
            "begins": begins,
            "changes": changes,
            "releases": releases,
            "returns": returns,
            "goes on": reader.chapter(),
        }


CHAPTERS = pytest.mark.parametrize("chapter", ["begins", "changes", "releases", "returns", "goes on"])


@CHAPTERS
def test_dry_run_writes_nothing(story: Mapping[str, Chapter], chapter: str) -> None:
    told = story[chapter]
    assert told.written == []
    assert told.after == told.before


@CHAPTERS
def test_dry_run_shows_what_the_pass_then_does_and_nothing_else(story: Mapping[str, Chapter], chapter: str) -> None:
    dry = diffs.changes(story[chapter].dry)
    assert dry
    assert dry == diffs.changes(story[chapter].passed)


@CHAPTERS
def test_no_secret_is_shown(story: Mapping[str, Chapter], chapter: str) -> None:
    assert standing.shown_secrets(story[chapter].dry + story[chapter].passed) == []


#: What a dry run calls the two sides of a difference, and its lines, as they stand in the output.
SHOWN = [
    pytest.param(
        "begins",
        f"finalizers of NovaCompute {POOL}",
        """\
-    finalizers: []
+    finalizers:
+    - nova.openstack.c5c3.io/compute-drain
""",
        id="the finalizer",
    ),
    pytest.param(
        "begins",
        f"ConfigMap {POOL}-config-9ba40d0c",
        """\
+# Rendered by the nova-compute operator. Set options of your own in spec.extraConfig.
+
+[DEFAULT]
+compute_driver = libvirt.LibvirtDriver
+state_path = /var/lib/nova
+
+[libvirt]
+connection_uri = qemu:///system
+live_migration_scheme = tls
+live_migration_with_native_tls = true
+virt_type = kvm
+
+[os_vif_ovs]
+ovsdb_connection = unix:/run/openvswitch/db.sock
+
+[oslo_concurrency]
+lock_path = /var/lib/nova/tmp
+
+[vnc]
+server_listen = $my_ip
""",
        id="a new ConfigMap",
    ),
    pytest.param(
        "begins",
        "aggregate az1",
        """\
+    availability_zone: az1
+    metadata:
+        c5c3.io:nova: openstack/nova
+    name: az1
""",
        id="a new aggregate",
    ),
    pytest.param(
        "begins",
        "aggregate tenant_filter_tests",
        """\
+    availability_zone: null
+    metadata:
+        c5c3.io:nova: openstack/nova
+    name: tenant_filter_tests
""",
        id="a new aggregate without a zone",
    ),
    # The other trait that the pool declares is in Placement already.
    pytest.param("begins", "trait in Placement", "+CUSTOM_OLD\n", id="a new trait"),
    pytest.param(
        "begins",
        f"Hypervisor {STAYS}",
        """\
-        customTraits: []
+        customTraits:
+        - CUSTOM_KNOWN
+        - CUSTOM_OLD
""",
        id="the first list of a Hypervisor",
    ),
    pytest.param(
        "changes",
        (f"ConfigMap {POOL}-config-9ba40d0c", f"ConfigMap {POOL}-config-2340d80b"),
        """\
-virt_type = kvm
+virt_type = qemu
""",
        id="another ConfigMap",
    ),
    pytest.param(
        "changes",
        DAEMON_SET,
        """\
+                        -   matchFields:
+                            -   key: metadata.name
+                                operator: In
+                                values:
+                                - compute-2
-                    name: pool-a-config-9ba40d0c
+                    name: pool-a-config-2340d80b
""",
        id="a changed DaemonSet",
    ),
    pytest.param(
        "changes",
        "aggregate az1",
        """\
-    availability_zone: az1
-    hosts: []
-    id: 1
-    metadata:
-        availability_zone: az1
-        c5c3.io:nova: openstack/nova
-    name: az1
""",
        id="an aggregate that goes",
    ),
    # Neither the one that a node still carries nor the one that a stranger's resource provider does.
    pytest.param("changes", "trait in Placement", ("+CUSTOM_NEW\n", "-CUSTOM_UNUSED\n"), id="a trait that goes"),
    pytest.param(
        "changes",
        f"Hypervisor {STAYS}",
        """\
-        - CUSTOM_OLD
+        - CUSTOM_NEW
""",
        id="another list of a Hypervisor",
    ),
    pytest.param(
        "changes",
        f"compute service of {LEAVES}",
        """\
-    disabled_reason: null
-    status: enabled
+    disabled_reason: 'c5c3.io: leaving NovaCompute openstack/pool-a'
+    status: disabled
""",
        id="a service that is disabled",
    ),
    pytest.param(
        "releases",
        f"compute service of {LEAVES}",
        """\
-    disabled_reason: 'c5c3.io: leaving NovaCompute openstack/pool-a'
-    host: compute-2
-    id: id-compute-2
-    state: up
-    status: disabled
-    zone: nova
""",
        id="a service that is deleted",
    ),
    pytest.param(
        "returns",
        (f"ConfigMap {POOL}-config-2340d80b", f"ConfigMap {POOL}-config-9ba40d0c"),
        """\
-virt_type = qemu
+virt_type = kvm
""",
        id="a ConfigMap that was there before",
    ),
    pytest.param(
        "goes on",
        (f"ConfigMap {POOL}-config-9ba40d0c", f"ConfigMap {POOL}-config-ec8dbbba"),
        """\
+cpu_mode = host-passthrough
""",
        id="another ConfigMap than the newest",
    ),
]


@pytest.mark.parametrize(("chapter", "sides", "shown"), SHOWN)
def test_each_kind_is_shown_line_by_line(
    story: Mapping[str, Chapter], chapter: str, sides: str | tuple[str, str], shown: str | tuple[str, ...]
) -> None:
    before, after = (sides, sides) if isinstance(sides, str) else sides
    found = [diff for diff in diffs.of(story[chapter].dry) if (diff.before, diff.after) == (before, after)]
    wanted = (shown,) if isinstance(shown, str) else shown
    assert tuple("".join(f"{line}\n" for line in diff.lines) for diff in found) == wanted


def test_new_daemon_set_is_shown_as_the_api_server_would_keep_it(story: Mapping[str, Chapter]) -> None:
    diff = diffs.about(story["begins"].dry, DAEMON_SET)
    kept = story["changes"].before["kubernetes"][f"{standing.PATHS['DaemonSet']}/{standing.POOL}-nova-compute"]
    assert diff.gone == ""
    assert yaml.safe_load(diff.new) == kept["spec"]


def test_last_status_is_shown_with_the_ledger_and_what_the_pool_created(story: Mapping[str, Chapter]) -> None:
    *_, last = [diff for diff in diffs.of(story["releases"].dry) if diff.after == f"status of NovaCompute {POOL}"]
    assert "-        phase: Releasing" in last.lines
    assert f"-        name: {LEAVES}" in last.lines
