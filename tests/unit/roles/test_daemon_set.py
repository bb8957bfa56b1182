# SPDX-License-Identifier: Apache-2.0
"""The DaemonSet as the role renders it, held against "The pod" of the specification."""

from __future__ import annotations

import ast
import pathlib
from typing import Any

import pytest
import yaml
from ansible_collections.c5c3.nova.plugins.module_utils.rules import workload
from unit.roles import rendering

TERMS = [{"matchExpressions": [{"key": "pool", "operator": "In", "values": ["a"]}]}]
#: What a person could write to break out of the template, of YAML, or of JSON.
HOSTILE = [
    "{{ 7*7 }}",
    "{% raw %}",
    "a: b # \"c\" 'd'",
    "- [x]",
    "{x: y}",
    "&a *a !!int |",
    "\\n\n\t%",
    "ü \x85\u2028é",
    "yes",
    "1e3",
]
TOLERATIONS = [{"key": text, "operator": "Equal", "value": text, "effect": "NoSchedule"} for text in HOSTILE]


def variables(*, digest: str = "d1", terms: list[dict[str, Any]] | None = None, **spec: Any) -> dict[str, Any]:
    return {
        "daemonset_pool": rendering.pool(**spec),
        "daemonset_nova": {"installed_release": "2025.2", "contract_secret": "nova-compute-config"},
        "daemonset_terms": TERMS if terms is None else terms,
        "daemonset_config_map": "pool-a-config-12345678",
        "daemonset_contract_digest": digest,
        "daemonset_default_image_pull_policy": "",
    }


CASES = {
    "plain": variables(),
    "hostile": variables(
        tolerations=TOLERATIONS, terms=[{"matchExpressions": [{"key": "k", "operator": "In", "values": HOSTILE}]}]
    ),
    "no contract": variables(digest=""),
    "set": variables(
        image={"repository": "r.example/n", "digest": "sha256:" + "ab" * 32},
        resources={"requests": {"cpu": 0}, "limits": {"example.com/nic": "1"}},
        updateStrategy={"type": "OnDelete"},
    ),
}


@pytest.fixture(scope="module")
def rendered() -> dict[str, Any]:
    results = rendering.render("daemonset", "Apply the DaemonSet", "definition", list(CASES.values()))
    return {name: yaml.safe_load(result["value"]) for name, result in zip(CASES, results, strict=True)}


@pytest.fixture
def daemon_set(rendered: dict[str, Any]) -> dict[str, Any]:
    plain: dict[str, Any] = rendered["plain"]
    return plain


@pytest.fixture
def pod(daemon_set: dict[str, Any]) -> dict[str, Any]:
    spec: dict[str, Any] = daemon_set["spec"]["template"]["spec"]
    return spec


def container(pod: dict[str, Any], name: str) -> dict[str, Any]:
    (found,) = [one for one in [*pod["initContainers"], *pod["containers"]] if one["name"] == name]
    return dict(found)


LABELS = {
    "app.kubernetes.io/name": "novacompute",
    "app.kubernetes.io/instance": "pool-a",
    "app.kubernetes.io/component": "nova-compute",
}


def test_object_is_the_daemon_set_of_the_pool(daemon_set: dict[str, Any]) -> None:
    assert (daemon_set["apiVersion"], daemon_set["kind"]) == ("apps/v1", "DaemonSet")
    metadata = daemon_set["metadata"]
    assert (metadata["name"], metadata["namespace"]) == ("pool-a-nova-compute", "openstack")
    assert LABELS.items() <= metadata["labels"].items()
    (owner,) = metadata["ownerReferences"]
    assert (owner["kind"], owner["name"], owner["uid"], owner["controller"]) == (
        "NovaCompute",
        "pool-a",
        "uid-a",
        True,
    )


def test_pods_are_selected_by_the_labels_they_carry(daemon_set: dict[str, Any]) -> None:
    assert daemon_set["spec"]["selector"] == {"matchLabels": LABELS}
    assert daemon_set["spec"]["template"]["metadata"]["labels"] == LABELS


def test_pod_shares_the_network_of_the_node_under_the_default_seccomp_profile(pod: dict[str, Any]) -> None:
    assert (pod["hostNetwork"], pod["dnsPolicy"]) == (True, "ClusterFirstWithHostNet")
    assert pod["securityContext"] == {"seccompProfile": {"type": "RuntimeDefault"}}


def test_pod_carries_no_token_of_the_cluster(pod: dict[str, Any]) -> None:
    assert pod["automountServiceAccountToken"] is False


def test_nodes_are_chosen_by_the_affinity_alone(pod: dict[str, Any]) -> None:
    assert "nodeSelector" not in pod
    assert pod["affinity"] == {
        "nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": TERMS}}
    }


def test_init_containers_run_in_order_before_nova_compute(pod: dict[str, Any]) -> None:
    assert [one["name"] for one in pod["initContainers"]] == ["create-instances-dir", "wait-for-chassis"]
    assert [one["name"] for one in pod["containers"]] == ["nova-compute"]


def test_all_containers_run_the_image_of_the_installed_release(pod: dict[str, Any]) -> None:
    containers = [*pod["initContainers"], *pod["containers"]]
    assert {one["image"] for one in containers} == {"ghcr.io/c5c3/nova-compute:2025.2"}
    assert {one["imagePullPolicy"] for one in containers} == {"Always"}


def test_all_containers_carry_the_same_resources(rendered: dict[str, Any]) -> None:
    pod = rendered["set"]["spec"]["template"]["spec"]
    wanted = {
        "requests": {"cpu": 0, "memory": "768Mi"},
        "limits": {"example.com/nic": "1", "memory": "768Mi"},
    }
    assert [one["resources"] for one in [*pod["initContainers"], *pod["containers"]]] == [wanted] * 3


def test_image_by_digest_and_its_pull_policy(rendered: dict[str, Any]) -> None:
    nova = container(rendered["set"]["spec"]["template"]["spec"], "nova-compute")
    assert (nova["image"], nova["imagePullPolicy"]) == ("r.example/n@sha256:" + "ab" * 32, "IfNotPresent")


def test_update_strategy_is_that_of_the_pool(rendered: dict[str, Any]) -> None:
    assert rendered["plain"]["spec"]["updateStrategy"] == {
        "type": "RollingUpdate",
        "rollingUpdate": {"maxUnavailable": 1},
    }
    assert rendered["set"]["spec"]["updateStrategy"] == {"type": "OnDelete"}


# --- nova-compute


def test_nova_compute_reads_the_contract_and_the_pools_folder(pod: dict[str, Any]) -> None:
    assert container(pod, "nova-compute")["command"] == [
        "nova-compute",
        "--config-file",
        "/etc/nova/compute-config/nova-compute.conf",
        "--config-dir",
        "/etc/nova/compute-pool.conf.d",
    ]


def test_nova_compute_is_privileged_root(pod: dict[str, Any]) -> None:
    context = container(pod, "nova-compute")["securityContext"]
    assert (context["privileged"], context["runAsUser"]) == (True, 0)


def test_nova_compute_has_no_probe(pod: dict[str, Any]) -> None:
    assert not [key for key in container(pod, "nova-compute") if key.endswith("Probe")]


def test_identity_and_addresses_come_from_the_node_and_secrets_from_the_contract(pod: dict[str, Any]) -> None:
    found = {one["name"]: one["valueFrom"] for one in container(pod, "nova-compute")["env"]}
    sections = ("KEYSTONE_AUTHTOKEN", "SERVICE_USER", "PLACEMENT", "NEUTRON", "CINDER")
    host_ip = {"fieldRef": {"fieldPath": "status.hostIP"}}
    assert found == {
        "OS_DEFAULT__HOST": {"fieldRef": {"fieldPath": "spec.nodeName"}},
        "OS_DEFAULT__MY_IP": host_ip,
        "OS_LIBVIRT__LIVE_MIGRATION_INBOUND_ADDR": host_ip,
        "OS_VNC__SERVER_PROXYCLIENT_ADDRESS": host_ip,
        "OS_DEFAULT__TRANSPORT_URL": {"secretKeyRef": {"name": "nova-compute-config", "key": "transport_url"}},
        **{
            f"OS_{section}__PASSWORD": {"secretKeyRef": {"name": "nova-compute-config", "key": "password"}}
            for section in sections
        },
    }


#: Mount path: (what is mounted, other fields of the mount).
READ_ONLY = {"readOnly": True}
OR_CREATE = "DirectoryOrCreate"
MOUNTS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "/etc/nova/compute-config": ({"secret": {"secretName": "nova-compute-config"}}, READ_ONLY),
    "/etc/nova/compute-pool.conf.d": ({"configMap": {"name": "pool-a-config-12345678"}}, READ_ONLY),
    "/run/libvirt": ({"hostPath": {"path": "/run/libvirt", "type": OR_CREATE}}, {}),
    "/var/lib/nova": (
        {"hostPath": {"path": "/var/lib/nova", "type": OR_CREATE}},
        {"mountPropagation": "Bidirectional"},
    ),
    "/run/openvswitch": ({"hostPath": {"path": "/run/openvswitch", "type": OR_CREATE}}, {}),
    "/dev": ({"hostPath": {"path": "/dev"}}, {}),
    "/sys/fs/cgroup": ({"hostPath": {"path": "/sys/fs/cgroup"}}, READ_ONLY),
    "/lib/modules": ({"hostPath": {"path": "/lib/modules"}}, READ_ONLY),
    "/etc/iscsi": ({"hostPath": {"path": "/etc/iscsi", "type": OR_CREATE}}, {}),
    "/etc/nvme": ({"hostPath": {"path": "/etc/nvme", "type": OR_CREATE}}, {}),
    "/etc/multipath": ({"hostPath": {"path": "/etc/multipath", "type": OR_CREATE}}, {}),
    "/etc/multipath.conf": ({"hostPath": {"path": "/etc/multipath.conf", "type": "FileOrCreate"}}, {}),
    "/tmp": ({"emptyDir": {}}, {}),
}


def mounts(pod: dict[str, Any], name: str) -> dict[str, tuple[dict[str, Any], dict[str, Any]]]:
    volumes = {volume["name"]: {k: v for k, v in volume.items() if k != "name"} for volume in pod["volumes"]}
    return {
        mount["mountPath"]: (
            volumes[mount["name"]],
            {key: value for key, value in mount.items() if key not in {"name", "mountPath"}},
        )
        for mount in container(pod, name)["volumeMounts"]
    }


@pytest.mark.parametrize("path", MOUNTS)
def test_nova_compute_mounts(pod: dict[str, Any], path: str) -> None:
    assert mounts(pod, "nova-compute")[path] == MOUNTS[path]


def test_nova_compute_mounts_nothing_else(pod: dict[str, Any]) -> None:
    assert mounts(pod, "nova-compute").keys() == MOUNTS.keys()
    assert len(pod["volumes"]) == len(MOUNTS)


def test_volume_of_the_pools_config_has_the_name_that_the_guide_asks_for(pod: dict[str, Any]) -> None:
    (named,) = [volume for volume in pod["volumes"] if volume["name"] == "pool-config"]
    assert named["configMap"]["name"] == "pool-a-config-12345678"


def test_config_map_of_a_daemon_set_is_the_one_that_its_pods_mount(rendered: dict[str, Any]) -> None:
    assert workload.config_map(rendered["plain"]) == "pool-a-config-12345678"
    assert workload.config_map({"spec": {"template": {"spec": {"containers": []}}}}) is None
    strange = [{"name": "pool-config", "emptyDir": {}}]
    assert workload.config_map({"spec": {"template": {"spec": {"volumes": strange}}}}) is None
    assert workload.config_map(None) is None


# --- the init containers


def test_instances_folder_is_made_as_root_with_one_capability(pod: dict[str, Any]) -> None:
    init = container(pod, "create-instances-dir")
    assert init["command"] == ["mkdir", "-p", "-m", "0755", "/var/lib/nova/instances"]
    context = init["securityContext"]
    assert (context["runAsUser"], context["runAsGroup"], context["privileged"]) == (0, 0, False)
    assert context["capabilities"] == {"drop": ["ALL"], "add": ["DAC_OVERRIDE"]}


def test_instances_folder_is_made_on_the_host_without_propagation(pod: dict[str, Any]) -> None:
    assert mounts(pod, "create-instances-dir") == {"/var/lib/nova": (MOUNTS["/var/lib/nova"][0], {})}


def test_chassis_is_awaited_under_the_restricted_profile(pod: dict[str, Any]) -> None:
    assert container(pod, "wait-for-chassis")["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "capabilities": {"drop": ["ALL"]},
        "readOnlyRootFilesystem": True,
        "runAsGroup": 42424,
        "runAsNonRoot": True,
        "runAsUser": 42424,
        "seccompProfile": {"type": "RuntimeDefault"},
    }


def test_chassis_is_awaited_at_the_nodes_database_alone(pod: dict[str, Any]) -> None:
    assert mounts(pod, "wait-for-chassis") == {"/run/openvswitch": MOUNTS["/run/openvswitch"]}


def test_chassis_is_awaited_by_the_images_own_python_with_the_file_of_the_role(pod: dict[str, Any]) -> None:
    program = pathlib.Path(rendering.PROGRAM.parents[3], "roles/daemonset/files/wait_for_chassis.py")
    python, flag, text = container(pod, "wait-for-chassis")["command"]
    assert (python, flag) == ("python3", "-c")
    assert ast.dump(ast.parse(text)) == ast.dump(ast.parse(program.read_text(encoding="utf-8")))


# --- what enters from outside


def test_changed_contract_changes_the_template(rendered: dict[str, Any]) -> None:
    annotations = rendered["plain"]["spec"]["template"]["metadata"]["annotations"]
    assert annotations == {"nova.c5c3.io/compute-config-hash": "d1"}


def test_contract_without_a_digest_leaves_no_annotation(rendered: dict[str, Any]) -> None:
    assert "annotations" not in rendered["no contract"]["spec"]["template"]["metadata"]


def test_tolerations_come_through_as_data(rendered: dict[str, Any]) -> None:
    assert rendered["hostile"]["spec"]["template"]["spec"]["tolerations"] == TOLERATIONS


def test_affinity_comes_through_as_data(rendered: dict[str, Any]) -> None:
    affinity = rendered["hostile"]["spec"]["template"]["spec"]["affinity"]["nodeAffinity"]
    (term,) = affinity["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
    assert term["matchExpressions"][0]["values"] == HOSTILE


def test_hostile_text_changes_nothing_else(rendered: dict[str, Any]) -> None:
    def without(definition: dict[str, Any]) -> dict[str, Any]:
        spec = {
            key: value
            for key, value in definition["spec"]["template"]["spec"].items()
            if key not in {"tolerations", "affinity"}
        }
        return {**definition, "spec": {**definition["spec"], "template": spec}}

    assert without(rendered["hostile"]) == without(rendered["plain"])
