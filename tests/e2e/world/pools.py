# SPDX-License-Identifier: Apache-2.0
"""The pool of the guide, and pools like it."""

from __future__ import annotations

import pathlib
from collections.abc import Mapping
from typing import Any

import yaml
from e2e.world import cluster, stand

CRD_FILE = pathlib.Path(__file__).resolve().parents[3] / "crds" / "nova.openstack.c5c3.io_novacomputes.yaml"
CRD_NAME = "novacomputes.nova.openstack.c5c3.io"

#: The guide's manifest, as a person would keep it in a file.
GUIDE = """\
apiVersion: nova.openstack.c5c3.io/v1alpha1
kind: NovaCompute
metadata:
  name: controlplane-pool-a
  namespace: openstack
spec:
  novaRef:
    name: controlplane-nova
  nodeSelector:
    openstack.c5c3.io/nova-compute-pool: a
  resources:
    requests:
      cpu: 50m
      memory: 128Mi
    limits:
      memory: 768Mi
  extraConfig:
    DEFAULT:
      compute_driver: fake.FakeDriverWithoutFakeNodes
      vif_plugging_is_fatal: "false"
      vif_plugging_timeout: "0"
"""
GUIDE_NAME = "controlplane-pool-a"


def manifest(name: str, selector: Mapping[str, str], *, nova: str = stand.NOVA, **spec: Any) -> dict[str, Any]:
    """The guide's pool under another name and selector; further fields of the spec win."""
    pool: dict[str, Any] = yaml.safe_load(GUIDE)
    pool["metadata"] = {"name": name, "namespace": cluster.NAMESPACE}
    pool["spec"] = {**pool["spec"], "novaRef": {"name": nova}, "nodeSelector": dict(selector), **spec}
    return pool


def crd() -> dict[str, Any]:
    """The CRD of this tree."""
    document: dict[str, Any] = yaml.safe_load(CRD_FILE.read_text(encoding="utf-8"))
    return document


def install_crd(the_cluster: cluster.Cluster) -> None:
    """Apply the CRD. Its API may take a moment longer, see :func:`is_served`."""
    the_cluster.apply(crd())


def is_served(the_cluster: cluster.Cluster) -> bool:
    """Whether the API server takes NovaComputes."""
    return cluster.verdict(the_cluster.get("CustomResourceDefinition", CRD_NAME), "Established").startswith("True")
