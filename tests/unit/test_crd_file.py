# SPDX-License-Identifier: Apache-2.0
"""The CRD file by itself: what it declares, without a server that would enforce it.

The tables below are the fields of the CRD's specification, written down a second time on purpose: a slip of the pen in
the schema has to be made twice to pass.
"""

from __future__ import annotations

import importlib.util
import pathlib
import re
from types import ModuleType
from typing import Any

import pytest
import spec_rows
import yaml

ROOT = pathlib.Path(__file__).parents[2]
CRD_FILE = ROOT / "crds" / "nova.openstack.c5c3.io_novacomputes.yaml"
CRD: dict[str, Any] = yaml.safe_load(CRD_FILE.read_text(encoding="utf-8"))
(VERSION,) = CRD["spec"]["versions"]
SCHEMA = VERSION["schema"]["openAPIV3Schema"]

TRAIT = "^CUSTOM_[A-Z0-9_]+$"
SPEC_FIELDS = {
    "novaRef",
    "nodeSelector",
    "tolerations",
    "image",
    "libvirt",
    "updateStrategy",
    "resources",
    "verticalAutoscaling",
    "extraConfig",
    "traits",
    "hostTraits",
    "targetClusterRef",
}
STATUS_FIELDS = {
    "conditions",
    "observedGeneration",
    "installedImage",
    "desiredNumberScheduled",
    "numberReady",
    "nodes",
    "createdTraits",
}
NODE_FIELDS = {
    "name",
    "phase",
    "zone",
    "serviceID",
    "serviceStatus",
    "serviceState",
    "disabledReason",
    "instances",
    "conflictsWith",
    "traits",
}
KEYWORDS: dict[str, dict[str, Any]] = {
    "spec.novaRef.name": {"minLength": 1},
    "spec.nodeSelector": {"minProperties": 1},
    "spec.image.repository": {"pattern": "^[a-z0-9]+([._:/-][a-z0-9]+)*$"},
    "spec.image.tag": {"pattern": "^[a-zA-Z0-9_][a-zA-Z0-9._-]{0,127}$"},
    "spec.image.digest": {"pattern": "^sha256:[a-f0-9]{64}$"},
    "spec.image.pullPolicy": {"enum": ["Always", "IfNotPresent", "Never"]},
    "spec.libvirt": {"default": {}},
    "spec.libvirt.virtType": {"enum": ["kvm", "qemu"], "default": "kvm"},
    "spec.libvirt.cpuMode": {"enum": ["host-model", "host-passthrough", "custom", "none"]},
    "spec.libvirt.cpuModels[]": {"pattern": "^[A-Za-z0-9_.-]+$"},
    "spec.libvirt.imagesType": {"enum": ["default", "qcow2", "raw", "flat"]},
    "spec.updateStrategy": {"default": {}},
    "spec.updateStrategy.type": {"enum": ["RollingUpdate", "OnDelete"], "default": "RollingUpdate"},
    "spec.updateStrategy.maxUnavailable": {"x-kubernetes-int-or-string": True},
    "spec.verticalAutoscaling.updateMode": {"enum": ["Off", "Initial", "Recreate", "Auto"]},
    "spec.verticalAutoscaling.minReplicas": {"minimum": 1},
    "spec.verticalAutoscaling.minAllowed": {"maxProperties": 2},
    "spec.verticalAutoscaling.maxAllowed": {"maxProperties": 2},
    "spec.traits": {"x-kubernetes-list-type": "set", "maxItems": 64},
    "spec.traits[]": {"pattern": TRAIT, "maxLength": 255},
    "spec.hostTraits": {
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["nodeName"],
        "maxItems": 1000,
    },
    "spec.hostTraits[].nodeName": {"minLength": 1, "maxLength": 253},
    "spec.hostTraits[].traits": {"x-kubernetes-list-type": "set", "maxItems": 64},
    "spec.hostTraits[].traits[]": {"pattern": TRAIT, "maxLength": 255},
    "spec.hostTraits[].mode": {"enum": ["Append", "Replace"], "default": "Append"},
    "spec.targetClusterRef.name": {"minLength": 1, "maxLength": 253},
    "status.conditions": {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["type"]},
    "status.conditions[].status": {"enum": ["True", "False", "Unknown"]},
    "status.observedGeneration": {"format": "int64"},
    "status.desiredNumberScheduled": {"format": "int32"},
    "status.numberReady": {"format": "int32"},
    "status.nodes": {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"]},
    "status.nodes[].phase": {"enum": ["Pending", "Active", "Draining", "Releasing", "Conflict"]},
    "status.nodes[].instances": {"format": "int32"},
}
REQUIRED = {
    "": ["spec"],
    "spec": ["nodeSelector", "novaRef"],
    "spec.novaRef": ["name"],
    "spec.image": ["repository"],
    "spec.verticalAutoscaling": ["updateMode"],
    "spec.resources.claims[]": ["name"],
    "spec.hostTraits[]": ["nodeName"],
    "spec.targetClusterRef": ["name"],
    "status.conditions[]": ["lastTransitionTime", "message", "reason", "status", "type"],
    "status.nodes[]": ["name", "phase"],
}
MESSAGES = {
    "spec": ["novaRef is immutable", "targetClusterRef is immutable", "targetClusterRef is immutable"],
    "spec.image": ["exactly one of image.tag or image.digest must be set"],
    "spec.libvirt": ["cpuModels is required when cpuMode is custom and must be empty otherwise"],
    "spec.verticalAutoscaling.minAllowed": ["minAllowed may only name cpu and memory"],
    "spec.verticalAutoscaling.maxAllowed": ["maxAllowed may only name cpu and memory"],
    "spec.hostTraits[]": ["traits must not be empty unless mode is Replace"],
}


SCHEMAS = dict(spec_rows.schemas(SCHEMA))


@pytest.fixture(scope="module")
def reference() -> ModuleType:
    """The program that writes the reference, which lies beside the CRD and belongs to no package."""
    specification = importlib.util.spec_from_file_location("crd_reference", ROOT / "crds" / "reference.py")
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


def test_the_resource_has_the_names_of_the_specification() -> None:
    assert CRD["metadata"]["name"] == "novacomputes.nova.openstack.c5c3.io"
    assert (CRD["spec"]["group"], VERSION["name"], CRD["spec"]["scope"]) == (
        "nova.openstack.c5c3.io",
        "v1alpha1",
        "Namespaced",
    )
    assert CRD["spec"]["names"] == {
        "kind": "NovaCompute",
        "listKind": "NovaComputeList",
        "plural": "novacomputes",
        "singular": "novacompute",
        "shortNames": ["novac"],
    }


def test_the_status_is_a_subresource() -> None:
    assert VERSION["subresources"] == {"status": {}}


def test_the_printer_columns_are_those_of_the_specification() -> None:
    columns = [(column["name"], column["jsonPath"]) for column in VERSION["additionalPrinterColumns"]]
    assert columns == [
        ("Ready", ".status.conditions[?(@.type=='Ready')].status"),
        ("Desired", ".status.desiredNumberScheduled"),
        ("Ready pods", ".status.numberReady"),
        ("Age", ".metadata.creationTimestamp"),
    ]


@pytest.mark.parametrize(
    ("path", "fields"),
    [("spec", SPEC_FIELDS), ("status", STATUS_FIELDS), ("status.nodes[]", NODE_FIELDS)],
    ids=["spec", "status", "node"],
)
def test_a_block_has_the_fields_of_the_specification_and_no_others(path: str, fields: set[str]) -> None:
    assert SCHEMAS[path]["properties"].keys() == fields


@pytest.mark.parametrize("path", KEYWORDS)
def test_a_field_has_the_bounds_of_the_specification(path: str) -> None:
    assert KEYWORDS[path].items() <= SCHEMAS[path].items()


def test_nothing_else_is_required() -> None:
    assert {path: sorted(schema["required"]) for path, schema in SCHEMAS.items() if "required" in schema} == REQUIRED


def test_nothing_else_has_a_default() -> None:
    declared = {path for path, keywords in KEYWORDS.items() if "default" in keywords}
    assert {path for path, schema in SCHEMAS.items() if "default" in schema} == declared


def test_nothing_else_is_an_enumeration() -> None:
    declared = {path for path, keywords in KEYWORDS.items() if "enum" in keywords}
    assert {path for path, schema in SCHEMAS.items() if "enum" in schema} == declared


def test_the_rules_have_the_messages_of_the_specification() -> None:
    rules = {
        path: [rule["message"] for rule in schema["x-kubernetes-validations"]]
        for path, schema in SCHEMAS.items()
        if "x-kubernetes-validations" in schema
    }
    assert rules == MESSAGES


@pytest.mark.parametrize("path", [path for path, schema in SCHEMAS.items() if schema.get("type") == "array"])
def test_a_list_says_how_two_writers_share_it(path: str) -> None:
    assert SCHEMAS[path]["x-kubernetes-list-type"] in {"atomic", "set", "map"}


# The server describes an object's metadata itself, and refuses a schema that does it again.
@pytest.mark.parametrize("path", [path for path in SCHEMAS if path != "metadata" and path[-1:] != "*"])
def test_a_field_has_a_description_that_ends_as_a_sentence(path: str) -> None:
    assert re.fullmatch(r"\S.{10,}[^.]\.", SCHEMAS[path]["description"])


@pytest.mark.parametrize("path", [path for path, schema in SCHEMAS.items() if "pattern" in schema])
def test_a_pattern_is_anchored_at_both_ends(path: str) -> None:
    assert re.fullmatch(r"\^.+\$", SCHEMAS[path]["pattern"])


def test_the_reference_is_the_one_of_this_crd(reference: ModuleType) -> None:
    written = (ROOT / "docs" / "crd.md").read_text(encoding="utf-8")
    assert reference.reference(CRD) == written, "docs/crd.md is old: run python crds/reference.py --write"


@pytest.mark.parametrize(
    "path", [path for path in SCHEMAS if path.startswith(("spec.", "status.")) and path[-1] not in "]*"]
)
def test_the_reference_has_a_row_for_every_field(reference: ModuleType, path: str) -> None:
    assert f"\n| `{path}` | " in reference.reference(CRD)
