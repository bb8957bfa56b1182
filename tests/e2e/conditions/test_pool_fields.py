# SPDX-License-Identifier: Apache-2.0
"""What fields of a pool do to its pods, seen on the pods and in the options that a real nova-compute says it has."""

from __future__ import annotations

import base64
import pathlib
import re
import subprocess
from typing import Any

import pytest
from ansible_collections.c5c3.nova.plugins.module_utils.rules import compute_config
from e2e.conditions import bench as benches
from e2e.conditions import objects
from e2e.world import cluster
from nova_compute_operator import folders, passes

condition = pytest.mark.condition

NODE = benches.NODE
CONFIG_FOLDER = "/etc/nova/compute-pool.conf.d"


def pod_spec(bench: benches.Bench, pool: str) -> dict[str, Any]:
    """The pod that the pool's DaemonSet makes."""
    found: dict[str, Any] = bench.cluster.read("DaemonSet", f"{pool}-nova-compute")["spec"]["template"]["spec"]
    return found


def containers(pod: dict[str, Any]) -> list[dict[str, Any]]:
    return [*pod["initContainers"], *pod["containers"]]


def wait_ready(bench: benches.Bench, pool: str, count: int, *, updated: int | None = None) -> None:
    """Return when so many pods are ready and none else is there, and the DaemonSet, as it is now, says so.

    ``updated`` is how many of them are of its current template; all of them, if it is not given.
    """
    bench.wait_observed(pool)
    bench.wait(
        f"{count} ready pods",
        lambda: [cluster.is_ready(pod) for pod in bench.cluster.pods(pool)],
        lambda seen: seen == [True] * count,
    )
    bench.wait(
        "the DaemonSet counts them",
        lambda: counted(bench, pool),
        lambda seen: seen == (count, count if updated is None else updated),
    )


def counted(bench: benches.Bench, pool: str) -> tuple[int, int]:
    """How many ready pods, and how many pods of the current template, the DaemonSet's status has."""
    status = bench.cluster.read("DaemonSet", f"{pool}-nova-compute")["status"]
    return status.get("numberReady", 0), status.get("updatedNumberScheduled", 0)


@pytest.mark.case("C30")
@condition("DaemonSetReady", "DaemonSetProgressing")
def test_on_delete_pool_progresses_until_each_old_pod_was_deleted(bench: benches.Bench, crowd: tuple[str, ...]) -> None:
    name, _ = bench.new_pool(
        *crowd[:2],
        updateStrategy={"type": "OnDelete"},
        image={"repository": "registry.example/nova-compute", "tag": "one"},
    )
    bench.run(name)
    wait_ready(bench, name, 2)
    bench.expect(name, "DaemonSetReady", "True DaemonSetReady")
    assert bench.pool(name)["status"]["installedImage"] == "registry.example/nova-compute:one"

    digest = "sha256:" + "0" * 64
    bench.set_spec(name, {"image": {"repository": "registry.example/nova-compute", "digest": digest}})
    bench.run(name)
    for number, old in enumerate([pod["metadata"]["name"] for pod in bench.cluster.pods(name)]):
        wait_ready(bench, name, 2, updated=number)
        said = bench.expect(name, "DaemonSetReady", "False DaemonSetProgressing")
        assert said.message == "Waiting for the nova-compute DaemonSet: 2 of 2 nodes run a ready pod"
        assert bench.pool(name)["status"]["installedImage"] == "registry.example/nova-compute:one"
        bench.cluster.delete("Pod", old)
        bench.wait("the old pod is gone", lambda old=old: bench.cluster.get("Pod", old) is None)
    wait_ready(bench, name, 2)
    bench.run_until(
        name,
        "every node runs a pod of the new image",
        lambda seen: cluster.verdict(seen, "DaemonSetReady") == "True DaemonSetReady",
    )
    assert bench.pool(name)["status"]["installedImage"] == f"registry.example/nova-compute@{digest}"


@pytest.mark.table("volumes")
def test_pod_mounts_what_the_node_contract_lists(bench: benches.Bench, settled: str) -> None:
    pod = pod_spec(bench, settled)
    volumes = {volume["name"]: volume for volume in pod["volumes"]}
    mounted = {}
    for mount in pod["containers"][0]["volumeMounts"]:
        source = volumes[mount["name"]]
        host = source.get("hostPath", {})
        mounted[mount["mountPath"]] = (
            host.get("path") or next(key for key in source if key != "name"),
            host.get("type", ""),
            mount.get("readOnly", False),
            mount.get("mountPropagation", ""),
        )
    made = "DirectoryOrCreate"
    assert mounted == {
        "/etc/nova/compute-config": ("secret", "", True, ""),
        CONFIG_FOLDER: ("configMap", "", True, ""),
        "/run/libvirt": ("/run/libvirt", made, False, ""),
        "/var/lib/nova": ("/var/lib/nova", made, False, "Bidirectional"),
        "/run/openvswitch": ("/run/openvswitch", made, False, ""),
        "/dev": ("/dev", "", False, ""),
        "/sys/fs/cgroup": ("/sys/fs/cgroup", "", True, ""),
        "/lib/modules": ("/lib/modules", "", True, ""),
        "/etc/iscsi": ("/etc/iscsi", made, False, ""),
        "/etc/nvme": ("/etc/nvme", made, False, ""),
        "/etc/multipath": ("/etc/multipath", made, False, ""),
        "/etc/multipath.conf": ("/etc/multipath.conf", "FileOrCreate", False, ""),
        "/tmp": ("emptyDir", "", False, ""),
    }
    secret = volumes[pod["containers"][0]["volumeMounts"][0]["name"]]
    assert secret["secret"]["secretName"] == benches.CONTRACT
    first = {
        mount["mountPath"]: mount.get("mountPropagation", "") for mount in pod["initContainers"][0]["volumeMounts"]
    }
    assert first["/var/lib/nova"] == ""


def test_image_is_the_installed_release_and_installed_once_every_node_runs_it(
    bench: benches.Bench, crowd: tuple[str, ...]
) -> None:
    name, _ = bench.new_pool(crowd[0])
    bench.run(name)
    assert "installedImage" not in bench.pool(name)["status"]
    assert {one["image"] for one in containers(pod_spec(bench, name))} == {"ghcr.io/c5c3/nova-compute:2026.1"}
    wait_ready(bench, name, 1)
    bench.run(name)
    assert bench.pool(name)["status"]["installedImage"] == "ghcr.io/c5c3/nova-compute:2026.1"


@pytest.mark.parametrize(
    ("image", "default", "policy"),
    [
        (None, "", "Always"),
        (None, "IfNotPresent", "IfNotPresent"),
        ({"repository": "r", "digest": "sha256:" + "1" * 64}, "", "IfNotPresent"),
        ({"repository": "r", "tag": "t", "pullPolicy": "Never"}, "Always", "Never"),
    ],
    ids=["tag", "operator default", "digest", "own"],
)
def test_pull_policy_is_the_images_own_or_the_operators_or_that_of_its_kind(
    bench: benches.Bench, tmp_path: pathlib.Path, image: dict[str, str] | None, default: str, policy: str
) -> None:
    name, _ = bench.new_pool(**({} if image is None else {"image": image}))
    store = folders.Folders(tmp_path / "passes")
    playbook = benches.ROOT / "playbooks" / "reconcile.yml"
    runner = passes.Passes(playbook=playbook, store=store, timeout=240, default_image_pull_policy=default)
    bench.run(name, runner=runner)
    store.close()
    assert {one["imagePullPolicy"] for one in containers(pod_spec(bench, name))} == {policy}


@pytest.mark.case("C35")
def test_resources_are_resolved_one_by_one_for_all_three_containers(bench: benches.Bench) -> None:
    block = {"requests": {"cpu": "0", "ephemeral-storage": "1Gi"}, "limits": {"ephemeral-storage": "2Gi"}}
    name, _ = bench.new_pool(resources=block)
    bench.run(name)
    resolved = {
        "requests": {"cpu": "0", "ephemeral-storage": "1Gi", "memory": "768Mi"},
        "limits": {"ephemeral-storage": "2Gi", "memory": "768Mi"},
    }
    assert [one["resources"] for one in containers(pod_spec(bench, name))] == [resolved] * 3
    assert bench.pool(name)["spec"]["resources"] == block
    # The second pass finds the same, though the API server writes quantities its own way.
    bench.wait_observed(name)
    bench.run(name)
    assert bench.run(name).changed == 0


def test_toleration_lets_the_pods_run_on_a_tainted_node(bench: benches.Bench, crowd: tuple[str, ...]) -> None:
    node = crowd[0]
    taint = {"key": "conditions.c5c3.io/reserved", "value": "nova", "effect": "NoSchedule"}
    bench.cluster.patch("Node", node, {"spec": {"taints": [taint]}})
    bench.undo.callback(bench.cluster.patch, "Node", node, {"spec": {"taints": None}})
    name, _ = bench.new_pool(node)
    bench.run(name)
    bench.wait_observed(name)
    assert bench.cluster.pods(name) == []
    bench.set_spec(name, {"tolerations": [{"key": taint["key"], "operator": "Exists", "effect": "NoSchedule"}]})
    bench.run(name)
    wait_ready(bench, name, 1)
    bench.expect(name, "DaemonSetReady", "True DaemonSetReady")


def test_max_unavailable_paces_the_rollout(bench: benches.Bench) -> None:
    name, _ = bench.new_pool(updateStrategy={"maxUnavailable": "25%"})
    bench.run(name)
    strategy = bench.cluster.read("DaemonSet", f"{name}-nova-compute")["spec"]["updateStrategy"]
    assert (strategy["type"], strategy["rollingUpdate"]["maxUnavailable"]) == ("RollingUpdate", "25%")
    bench.set_spec(name, {"updateStrategy": None})
    bench.run(name)
    strategy = bench.cluster.read("DaemonSet", f"{name}-nova-compute")["spec"]["updateStrategy"]
    assert (strategy["type"], strategy["rollingUpdate"]["maxUnavailable"]) == ("RollingUpdate", 1)


@condition("DaemonSetReady", "DaemonSetProgressing")
@pytest.mark.parametrize(("most", "left"), [(2, 3), ("20%", 4)], ids=["two nodes", "a fifth of five"])
def test_changed_config_takes_no_more_pods_down_at_once_than_max_unavailable(
    bench: benches.Bench, crowd: tuple[str, ...], most: int | str, left: int
) -> None:
    name, _ = bench.new_pool(*crowd[:5], updateStrategy={"maxUnavailable": most})
    bench.run(name)
    wait_ready(bench, name, 5)
    bench.expect(name, "DaemonSetReady", "True DaemonSetReady")
    old = {pod["metadata"]["name"] for pod in bench.cluster.pods(name)}
    # No new pod is admitted, so that the rollout stands still with as many down as it may take down.
    quota = f"{objects.NAMESPACED}/resourcequotas"
    bench.make_at(quota, {"metadata": {"name": "no-more-pods"}, "spec": {"hard": {"pods": "0"}}})
    bench.wait(
        "the quota is in force", lambda: bench.cluster.call("GET", f"{quota}/no-more-pods")["status"].get("hard")
    )
    before = bench.conditions(name)["ConfigReady"]["message"]
    bench.set_spec(name, {"libvirt": {"cpuMode": "host-passthrough"}})
    bench.run(name)
    assert bench.conditions(name)["ConfigReady"]["message"] != before
    bench.wait(f"{left} old pods are left", lambda: names(bench, name), lambda seen: len(seen) == left and seen < old)
    bench.wait("the DaemonSet counts them", lambda: counted(bench, name), lambda seen: seen == (left, 0))
    said = bench.expect(name, "DaemonSetReady", "False DaemonSetProgressing")
    assert said.message == f"Waiting for the nova-compute DaemonSet: {left} of 5 nodes run a ready pod"
    assert len(names(bench, name)) == left

    bench.cluster.remove(f"{quota}/no-more-pods")
    wait_ready(bench, name, 5)
    assert not names(bench, name) & old
    bench.expect(name, "DaemonSetReady", "True DaemonSetReady")


def names(bench: benches.Bench, pool: str) -> set[str]:
    return {pod["metadata"]["name"] for pod in bench.cluster.pods(pool)}


# --- what reaches nova-compute


def options_of(bench: benches.Bench, pool: str) -> dict[str, str]:
    """The options that the pool's nova-compute on NODE says it has, by ``section.key`` as its own dump names them."""
    pod = bench.cluster.pods(pool)[0]["metadata"]["name"]
    logs = bench.stand.lab.logs / "pods" / f"{cluster.NAMESPACE}_{pod}"

    def dumped() -> str:
        return "\n".join(path.read_text(errors="replace") for path in sorted(logs.glob("nova-compute.*.log")))

    text = bench.wait("nova-compute dumps its options", dumped, lambda seen: "libvirt.wait_soft_reboot_seconds" in seen)
    found = re.finditer(r"([\w.]+) += (.*?)(?: log_opt_values .*)?$", text, re.MULTILINE)
    return {match[1]: match[2] for match in found}


@pytest.mark.table("owned keys")
def test_libvirt_and_live_migration_settings_reach_nova_compute(bench: benches.Bench, settled: str) -> None:
    extra = bench.pool(settled)["spec"]["extraConfig"]
    more = {"debug": "true"}
    bench.set_spec(
        settled,
        {
            "libvirt": {
                "virtType": "qemu",
                "cpuMode": "custom",
                "cpuModels": ["Nehalem", "IvyBridge"],
                "imagesType": "raw",
            },
            "extraConfig": {
                "DEFAULT": {**extra["DEFAULT"], **more},
                "libvirt": {"live_migration_downtime": "700"},
            },
        },
    )
    old = bench.cluster.pods(settled)[0]["metadata"]["name"]
    bench.run(settled)
    bench.wait("the old pod is gone", lambda: bench.cluster.get("Pod", old) is None)
    bench.wait_pod(settled, NODE)
    options = options_of(bench, settled)
    address = bench.cluster.pods(settled)[0]["status"]["hostIP"]
    expected = {
        "host": NODE,
        "my_ip": address,
        "state_path": "/var/lib/nova",
        "oslo_concurrency.lock_path": "/var/lib/nova/tmp",
        "libvirt.connection_uri": "qemu:///system",
        "libvirt.live_migration_scheme": "tls",
        "libvirt.live_migration_with_native_tls": "True",
        "libvirt.live_migration_uri": "None",
        "libvirt.live_migration_tunnelled": "False",
        "libvirt.live_migration_inbound_addr": address,
        "libvirt.live_migration_downtime": "700",
        "libvirt.virt_type": "qemu",
        "libvirt.cpu_mode": "custom",
        "libvirt.cpu_models": "['Nehalem', 'IvyBridge']",
        "libvirt.images_type": "raw",
        "vnc.server_proxyclient_address": address,
        "vnc.server_listen": address,
        # Masked: that there is one is all that may be seen.
        "transport_url": "****",
    }
    assert {key: options.get(key) for key in expected} == expected
    # What is an option only once os-vif is loaded, after the dump.
    assert os_vif_option(bench, settled, "ovsdb_connection") == "unix:/run/openvswitch/db.sock"
    # The passwords are no options yet when nova-compute dumps them; it reads them from its environment.
    with_password = {"keystone_authtoken", "service_user", "placement", "neutron", "cinder"}
    assert sections_with_the_contracts_password(bench, settled) == with_password
    seen = {key if "." in key else f"DEFAULT.{key}" for key in expected}
    seen |= {"os_vif_ovs.ovsdb_connection", *(f"{section}.password" for section in with_password)}
    assert {f"{owned.section}.{owned.key}" for owned in compute_config.OWNED_KEYS} <= seen


_READ_OPTION = """
import sys
import os_vif
from oslo_config import cfg
os_vif.initialize()
cfg.CONF(sys.argv[2:], project="nova")
print(cfg.CONF.os_vif_ovs[sys.argv[1]])
"""


def os_vif_option(bench: benches.Bench, pool: str, option: str) -> str:
    """The option as a Python in the pool's pod reads it from the files of nova-compute."""
    process = benches.process_of(bench.cluster.pods(pool)[0])
    files = ("--config-file", "/etc/nova/compute-config/nova-compute.conf", "--config-dir", CONFIG_FOLDER)
    environment = pathlib.Path(f"/proc/{process}/environ").read_bytes().split(b"\0")
    path = next(variable for variable in environment if variable.startswith(b"PATH=")).decode()
    inside = ("nsenter", "--target", str(process), "--mount", "--root", "--wd", "env", "-i", path)
    done = subprocess.run(
        (*inside, "python3", "-c", _READ_OPTION, option, *files), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def sections_with_the_contracts_password(bench: benches.Bench, pool: str) -> set[str]:
    """The sections whose password the pool's nova-compute finds in its environment, where it is the contract's."""
    encoded = bench.cluster.read("Secret", benches.CONTRACT)["data"]["password"]
    process = benches.process_of(bench.cluster.pods(pool)[0])
    environment = pathlib.Path(f"/proc/{process}/environ").read_bytes().split(b"\0")
    found = [re.fullmatch(rb"OS_(\w+)__PASSWORD=(.*)", variable) for variable in environment]
    return {match[1].decode().lower() for match in found if match and match[2] == base64.b64decode(encoded)}
