# SPDX-License-Identifier: Apache-2.0
"""What a single field may hold: required fields, bounds, patterns, enumerations, and lists without duplicates."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from integration import kube

schema = pytest.mark.schema
IMAGE = {"repository": "ghcr.io/c5c3/nova-compute", "tag": "2026.1"}

# How the API server begins or ends what it says of a bound.
BELOW = {
    "minLength": "be at least 1 chars long",
    "minProperties": "have at least 1 properties",
    "minimum": "be greater than or equal to 1",
}
ABOVE = {"maxItems": "Too many: ", "maxProperties": "Too many: ", "maxLength": "Too long: "}


def named_traits(count: int) -> list[str]:
    return [f"CUSTOM_T{number}" for number in range(count)]


def host_traits(count: int) -> list[dict[str, Any]]:
    return [{"nodeName": f"node-{number}", "mode": "Replace"} for number in range(count)]


@schema("spec.{field}", "required")
@pytest.mark.parametrize("field", ["novaRef", "nodeSelector"])
def test_a_required_field_left_out_is_refused(pools: kube.Pools, field: str) -> None:
    spec = kube.minimal_spec()
    del spec[field]
    assert pools.create(spec).refusals() == [(f"spec.{field}", "Required value")]


@schema("spec", "required")
def test_a_pool_without_a_spec_is_refused(pools: kube.Pools) -> None:
    manifest = pools.manifest("pool-a", {})
    del manifest["spec"]
    assert pools.server.call("POST", pools.path(), manifest).refusals() == [("spec", "Required value")]


@schema("{path}", "required")
@pytest.mark.parametrize(
    ("fields", "path"),
    [
        ({"novaRef": {}}, "spec.novaRef.name"),
        ({"image": {"tag": "2026.1"}}, "spec.image.repository"),
        ({"hostTraits": [{"mode": "Replace"}]}, "spec.hostTraits[0].nodeName"),
        ({"targetClusterRef": {}}, "spec.targetClusterRef.name"),
        ({"verticalAutoscaling": {}}, "spec.verticalAutoscaling.updateMode"),
        ({"resources": {"claims": [{"request": "one"}]}}, "spec.resources.claims[0].name"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_required_field_of_a_block_left_out_is_refused(pools: kube.Pools, fields: dict[str, Any], path: str) -> None:
    assert (path, "Required value") in pools.create_with(**fields).refusals()


@schema("{path}", "enum")
@pytest.mark.parametrize(
    ("fields", "path", "supported"),
    [
        ({"libvirt": {"virtType": "xen"}}, "spec.libvirt.virtType", ["kvm", "qemu"]),
        (
            {"libvirt": {"cpuMode": "xen"}},
            "spec.libvirt.cpuMode",
            ["host-model", "host-passthrough", "custom", "none"],
        ),
        ({"libvirt": {"imagesType": "xen"}}, "spec.libvirt.imagesType", ["default", "qcow2", "raw", "flat"]),
        ({"libvirt": {"imagesType": "rbd"}}, "spec.libvirt.imagesType", ["default", "qcow2", "raw", "flat"]),
        ({"updateStrategy": {"type": "Recreate"}}, "spec.updateStrategy.type", ["RollingUpdate", "OnDelete"]),
        ({"image": IMAGE | {"pullPolicy": "Often"}}, "spec.image.pullPolicy", ["Always", "IfNotPresent", "Never"]),
        (
            {"hostTraits": [{"nodeName": "node-1", "mode": "Remove"}]},
            "spec.hostTraits[0].mode",
            ["Append", "Replace"],
        ),
        (
            {"verticalAutoscaling": {"updateMode": "On"}},
            "spec.verticalAutoscaling.updateMode",
            ["Off", "Initial", "Recreate", "Auto"],
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_value_outside_an_enumeration_is_refused_with_the_values_there_are(
    pools: kube.Pools, fields: dict[str, Any], path: str, supported: list[str]
) -> None:
    messages = dict(pools.create_with(**fields).refusals())
    assert messages[path].startswith("Unsupported value: ")
    assert messages[path].endswith("supported values: " + ", ".join(f'"{value}"' for value in supported))


def test_every_value_of_the_enumerations_is_accepted(pools: kube.Pools) -> None:
    values: list[tuple[str, dict[str, Any]]] = [
        *(("virtType", {"libvirt": {"virtType": value}}) for value in ("kvm", "qemu")),
        *(("cpuMode", {"libvirt": {"cpuMode": value}}) for value in ("host-model", "host-passthrough", "none")),
        ("cpuMode", {"libvirt": {"cpuMode": "custom", "cpuModels": ["qemu64"]}}),
        *(("imagesType", {"libvirt": {"imagesType": value}}) for value in ("default", "qcow2", "raw", "flat")),
        *(("type", {"updateStrategy": {"type": value}}) for value in ("RollingUpdate", "OnDelete")),
        *(("pullPolicy", {"image": IMAGE | {"pullPolicy": value}}) for value in ("Always", "IfNotPresent", "Never")),
        *(
            ("updateMode", {"verticalAutoscaling": {"updateMode": value}})
            for value in ("Off", "Initial", "Recreate", "Auto")
        ),
    ]
    for number, (field, fields) in enumerate(values):
        (block,) = fields
        created = pools.create_with(name=f"pool-{number}", **fields).accepted()
        assert created["spec"][block][field] == fields[block][field]


@schema("{path}", "pattern")
@pytest.mark.parametrize(
    ("fields", "path", "pattern"),
    [
        ({"traits": ["GPU"]}, "spec.traits[0]", "^CUSTOM_[A-Z0-9_]+$"),
        ({"traits": ["CUSTOM_"]}, "spec.traits[0]", "^CUSTOM_[A-Z0-9_]+$"),
        ({"traits": ["CUSTOM_A", "CUSTOM_gpu"]}, "spec.traits[1]", "^CUSTOM_[A-Z0-9_]+$"),
        ({"traits": ["HW_CPU_X86_AVX2"]}, "spec.traits[0]", "^CUSTOM_[A-Z0-9_]+$"),
        (
            {"hostTraits": [{"nodeName": "node-1", "traits": ["GPU"]}]},
            "spec.hostTraits[0].traits[0]",
            "^CUSTOM_[A-Z0-9_]+$",
        ),
        (
            {"libvirt": {"cpuMode": "custom", "cpuModels": ["qemu64,+avx"]}},
            "spec.libvirt.cpuModels[0]",
            "^[A-Za-z0-9_.-]+$",
        ),
        ({"image": {"repository": "", "tag": "1"}}, "spec.image.repository", "^[a-z0-9]+([._:/-][a-z0-9]+)*$"),
        ({"image": {"repository": "Nova", "tag": "1"}}, "spec.image.repository", "^[a-z0-9]+([._:/-][a-z0-9]+)*$"),
        ({"image": {"repository": "nova", "tag": ""}}, "spec.image.tag", "^[a-zA-Z0-9_][a-zA-Z0-9._-]{0,127}$"),
        (
            {"image": {"repository": "nova", "tag": "t" * 129}},
            "spec.image.tag",
            "^[a-zA-Z0-9_][a-zA-Z0-9._-]{0,127}$",
        ),
        ({"image": {"repository": "nova", "digest": "sha256:00"}}, "spec.image.digest", "^sha256:[a-f0-9]{64}$"),
    ],
    ids=lambda value: value if isinstance(value, str) and value.startswith("spec") else "",
)
def test_a_text_that_does_not_match_its_pattern_is_refused(
    pools: kube.Pools, fields: dict[str, Any], path: str, pattern: str
) -> None:
    (refusal,) = pools.create_with(**fields).refusals()
    assert refusal[0] == path
    assert refusal[1].endswith(f"{path} in body should match '{pattern}'")


@schema("spec.targetClusterRef.name", "minLength")
def test_an_empty_target_cluster_name_is_refused_as_too_short(pools: kube.Pools) -> None:
    messages = [message for _, message in pools.create_with(targetClusterRef={"name": ""}).refusals()]
    assert 'Invalid value: "": spec.targetClusterRef.name in body should be at least 1 chars long' in messages


@schema("spec.targetClusterRef.name", "pattern")
@pytest.mark.parametrize("name", ["Edge", "edge_1", "-edge", "edge.", "a..b"])
def test_a_target_cluster_name_that_no_secret_can_have_is_refused(pools: kube.Pools, name: str) -> None:
    (refusal,) = pools.create_with(targetClusterRef={"name": name}).refusals()
    assert refusal[0] == "spec.targetClusterRef.name"


@schema("spec.resources.{kind}.*", "pattern")
@pytest.mark.parametrize("quantity", ["much", "1 Gi", "1GiB", ""])
@pytest.mark.parametrize("kind", ["limits", "requests"])
def test_a_resource_that_is_no_quantity_is_refused(pools: kube.Pools, kind: str, quantity: str) -> None:
    (refusal,) = pools.create_with(resources={kind: {"memory": quantity}}).refusals()
    assert refusal[0] == f"spec.resources.{kind}.memory"


@schema("spec.verticalAutoscaling.{field}.*", "pattern")
@pytest.mark.parametrize("field", ["minAllowed", "maxAllowed"])
def test_a_bound_of_the_autoscaler_that_is_no_quantity_is_refused(pools: kube.Pools, field: str) -> None:
    (refusal,) = pools.create_with(verticalAutoscaling={"updateMode": "Off", field: {"cpu": "some"}}).refusals()
    assert refusal[0] == f"spec.verticalAutoscaling.{field}.cpu"


@schema("spec.verticalAutoscaling.minReplicas", "format")
def test_more_replicas_than_32_bits_hold_are_refused(pools: kube.Pools) -> None:
    (refusal,) = pools.create_with(verticalAutoscaling={"updateMode": "Off", "minReplicas": 2**31}).refusals()
    assert refusal[1].endswith("must be of type integer with format int32 in spec.verticalAutoscaling.minReplicas")


@schema("{path}", "{bound}")
@pytest.mark.parametrize(
    ("fields", "path", "bound"),
    [
        ({"novaRef": {"name": ""}}, "spec.novaRef.name", "minLength"),
        ({"nodeSelector": {}}, "spec.nodeSelector", "minProperties"),
        ({"hostTraits": [{"nodeName": "", "mode": "Replace"}]}, "spec.hostTraits[0].nodeName", "minLength"),
        (
            {"verticalAutoscaling": {"updateMode": "Off", "minReplicas": 0}},
            "spec.verticalAutoscaling.minReplicas",
            "minimum",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) and " " not in value else "",
)
def test_a_value_below_its_bound_is_refused(pools: kube.Pools, fields: dict[str, Any], path: str, bound: str) -> None:
    (refusal,) = pools.create_with(**fields).refusals()
    assert refusal[0] == path
    assert refusal[1].endswith(f"{path} in body should {BELOW[bound]}")


@schema("{path}", "{bound}")
@pytest.mark.parametrize(
    ("fields", "path", "bound", "message"),
    [
        ({"traits": named_traits(65)}, "spec.traits", "maxItems", "Too many: 65: must have at most 64 items"),
        (
            {"hostTraits": [{"nodeName": "node-1", "traits": named_traits(65)}]},
            "spec.hostTraits[0].traits",
            "maxItems",
            "Too many: 65: must have at most 64 items",
        ),
        (
            {"hostTraits": host_traits(1001)},
            "spec.hostTraits",
            "maxItems",
            "Too many: 1001: must have at most 1000 items",
        ),
        (
            {"traits": ["CUSTOM_" + "A" * 249]},
            "spec.traits[0]",
            "maxLength",
            "Too long: may not be more than 255 bytes",
        ),
        (
            {"hostTraits": [{"nodeName": "node-1", "traits": ["CUSTOM_" + "A" * 249]}]},
            "spec.hostTraits[0].traits[0]",
            "maxLength",
            "Too long: may not be more than 255 bytes",
        ),
        (
            {"hostTraits": [{"nodeName": "n" * 254, "mode": "Replace"}]},
            "spec.hostTraits[0].nodeName",
            "maxLength",
            "Too long: may not be more than 253 bytes",
        ),
        (
            {"targetClusterRef": {"name": "c" * 254}},
            "spec.targetClusterRef.name",
            "maxLength",
            "Too long: may not be more than 253 bytes",
        ),
        (
            {"verticalAutoscaling": {"updateMode": "Off", "minAllowed": {"cpu": 1, "memory": 1, "storage": 1}}},
            "spec.verticalAutoscaling.minAllowed",
            "maxProperties",
            "Too many: 3: must have at most 2 items",
        ),
        (
            {"verticalAutoscaling": {"updateMode": "Off", "maxAllowed": {"cpu": 1, "memory": 1, "storage": 1}}},
            "spec.verticalAutoscaling.maxAllowed",
            "maxProperties",
            "Too many: 3: must have at most 2 items",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) and " " not in value else "",
)
def test_a_value_above_its_bound_is_refused(
    pools: kube.Pools, fields: dict[str, Any], path: str, bound: str, message: str
) -> None:
    assert message.startswith(ABOVE[bound])
    assert pools.create_with(**fields).refusals() == [(path, message)]


@pytest.mark.parametrize(
    "fields",
    [
        {"traits": named_traits(64)},
        {"traits": ["CUSTOM_" + "A" * 248]},
        {"hostTraits": host_traits(1000)},
        {"hostTraits": [{"nodeName": "n" * 253, "mode": "Append", "traits": named_traits(64)}]},
        {"targetClusterRef": {"name": "c" * 253}},
        {"verticalAutoscaling": {"updateMode": "Off", "minReplicas": 1}},
    ],
    ids=["64-traits", "long-trait", "1000-hosts", "long-node-name", "long-cluster-name", "one-replica"],
)
def test_a_value_at_its_bound_is_kept(pools: kube.Pools, fields: dict[str, Any]) -> None:
    created = pools.create_with(**copy.deepcopy(fields)).accepted()
    (field,) = fields
    assert created["spec"][field] == fields[field]


def test_the_costliest_host_traits_fit_into_the_budget_of_the_rules(pools: kube.Pools) -> None:
    entries = [{"nodeName": f"node-{number}", "mode": "Append", "traits": ["CUSTOM_A"]} for number in range(1000)]
    assert len(pools.create_with(hostTraits=entries).accepted()["spec"]["hostTraits"]) == 1000


@schema("spec.hostTraits", "x-kubernetes-list-type")
def test_a_second_entry_for_one_node_is_a_duplicate(pools: kube.Pools) -> None:
    entries = [{"nodeName": "node-1", "mode": "Replace"}, {"nodeName": "node-1", "traits": ["CUSTOM_A"]}]
    expected = [("spec.hostTraits[1]", 'Duplicate value: {"nodeName":"node-1"}')]
    assert pools.create_with(hostTraits=entries).refusals() == expected


@schema("{path}", "x-kubernetes-list-type")
@pytest.mark.parametrize(
    ("fields", "path"),
    [
        ({"traits": ["CUSTOM_A", "CUSTOM_A"]}, "spec.traits"),
        ({"hostTraits": [{"nodeName": "node-1", "traits": ["CUSTOM_A", "CUSTOM_A"]}]}, "spec.hostTraits[0].traits"),
    ],
    ids=["pool", "host"],
)
def test_a_trait_named_twice_is_a_duplicate(pools: kube.Pools, fields: dict[str, Any], path: str) -> None:
    assert pools.create_with(**fields).refusals() == [(f"{path}[1]", 'Duplicate value: "CUSTOM_A"')]


@schema("spec.resources.claims", "x-kubernetes-list-type")
def test_a_resource_claim_named_twice_is_a_duplicate(pools: kube.Pools) -> None:
    reply = pools.create_with(resources={"claims": [{"name": "gpu"}, {"name": "gpu"}]})
    assert reply.refusals() == [("spec.resources.claims[1]", 'Duplicate value: {"name":"gpu"}')]


@pytest.mark.parametrize("value", [1, 3, "25%", "0%"])
def test_max_unavailable_takes_a_number_or_a_text(pools: kube.Pools, value: int | str) -> None:
    created = pools.create_with(updateStrategy={"maxUnavailable": value}).accepted()
    assert created["spec"]["updateStrategy"]["maxUnavailable"] == value


@pytest.mark.parametrize("value", [1.5, True, ["1"]], ids=["fraction", "boolean", "list"])
def test_max_unavailable_takes_nothing_else(pools: kube.Pools, value: Any) -> None:
    messages = [message for _, message in pools.create_with(updateStrategy={"maxUnavailable": value}).refusals()]
    assert any("spec.updateStrategy.maxUnavailable in body must be of type integer,string" in text for text in messages)


@pytest.mark.parametrize("value", [1, True, {"a": "b"}], ids=["number", "boolean", "block"])
def test_an_option_of_extra_config_is_a_text(pools: kube.Pools, value: Any) -> None:
    refused = [path for path, _ in pools.create_with(extraConfig={"DEFAULT": {"debug": value}}).refusals()]
    assert refused == ["spec.extraConfig.DEFAULT.debug"]


def test_a_full_spec_is_kept_as_it_is_written(pools: kube.Pools) -> None:
    spec = {
        "novaRef": {"name": "nova"},
        "nodeSelector": {"test.c5c3.io/none": "such", "empty": ""},
        "tolerations": [
            {"key": "a", "operator": "Equal", "value": "b", "effect": "NoExecute", "tolerationSeconds": 300},
            {"operator": "Exists", "effect": "NoSchedule"},
        ],
        "image": {"repository": "ghcr.io/c5c3/nova-compute", "tag": "2026.1", "pullPolicy": "IfNotPresent"},
        "libvirt": {"virtType": "qemu", "cpuMode": "custom", "cpuModels": ["Nehalem", "qemu64"], "imagesType": "raw"},
        "updateStrategy": {"type": "RollingUpdate", "maxUnavailable": "10%"},
        "resources": {
            "requests": {"cpu": 1, "memory": "1Gi", "hugepages-2Mi": "64Mi"},
            "limits": {"cpu": "1500m", "memory": "0", "hugepages-2Mi": "64Mi"},
            "claims": [{"name": "gpu", "request": "one"}],
        },
        "verticalAutoscaling": {
            "updateMode": "Auto",
            "minReplicas": 2,
            "minAllowed": {"cpu": "50m"},
            "maxAllowed": {"cpu": 2, "memory": "2Gi"},
        },
        "extraConfig": {"DEFAULT": {"compute_driver": "fake.FakeDriver"}, "libvirt": {"disk_cachemodes": ""}},
        "traits": ["CUSTOM_GPU", "CUSTOM_A"],
        "hostTraits": [{"nodeName": "node-1", "mode": "Append", "traits": ["CUSTOM_B"]}],
        "targetClusterRef": {"name": "edge.example"},
    }
    assert pools.create(spec).accepted()["spec"] == spec


def test_a_field_that_the_schema_does_not_know_is_refused_under_strict_validation(pools: kube.Pools) -> None:
    manifest = pools.manifest("pool-a", kube.minimal_spec() | {"nodeSelektor": {}})
    reply = pools.server.call("POST", pools.path(), manifest, query={"fieldValidation": "Strict"})
    assert reply.status == 400
    assert 'unknown field "spec.nodeSelektor"' in reply.body["message"]


def test_a_field_that_the_schema_does_not_know_is_dropped_otherwise(pools: kube.Pools) -> None:
    assert "nodeSelektor" not in pools.create_with(nodeSelektor={}).accepted()["spec"]
