# SPDX-License-Identifier: Apache-2.0
"""What the operator would create for a pool, made by the same rules and templates as in a pass, without a pass."""

from __future__ import annotations

import collections
import functools
import json
import pathlib
from collections.abc import Mapping
from typing import Any

import jinja2
import yaml
from ansible_collections.c5c3.nova.plugins.filter import pool as filters
from ansible_collections.c5c3.nova.plugins.module_utils.rules import compute_config, vpa, workload

ROLES = pathlib.Path(__file__).parents[3] / "roles"


def children(pool: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """The children of a pool by the path they are posted to."""
    namespace = pool["metadata"]["namespace"]
    found = {
        f"/apis/apps/v1/namespaces/{namespace}/daemonsets": daemon_set(pool),
        f"/api/v1/namespaces/{namespace}/configmaps": config_map(pool),
    }
    autoscaler = vpa.wanted(pool, has_daemon_set=True)
    if autoscaler:
        found[f"/apis/autoscaling.k8s.io/v1/namespaces/{namespace}/verticalpodautoscalers"] = autoscaler
    return found


def daemon_set(pool: Mapping[str, Any]) -> dict[str, Any]:
    nova = {"installed_release": "2026.1", "contract_secret": "nova-compute-config"}
    rendered = _template("daemonset/templates/daemonset.yml.j2").render(
        daemonset_pool=pool,
        daemonset_values=filters.daemon_set_values(dict(pool), "", nova),
        daemonset_nova=nova,
        daemonset_terms=workload.affinity_terms(pool, []),
        daemonset_config_map="config",
        daemonset_contract_digest="0123abcd",
        lookup=lambda _, name: (ROLES / "daemonset/files" / name).read_text(encoding="utf-8"),
    )
    definition: dict[str, Any] = yaml.load(rendered, Loader=yaml.CSafeLoader)  # as safe, and faster
    return definition


def config_map(pool: Mapping[str, Any]) -> dict[str, Any]:
    options = compute_config.options(pool["spec"])
    rendered = _template("config_render/templates/compute-pool.conf.j2").render(config_render_options=options)
    compute_config.check_rendered(rendered, options)
    name = compute_config.config_map_name(pool["metadata"]["name"], rendered)
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "labels": compute_config.config_map_labels(pool)},
        "data": {compute_config.FILE: rendered},
    }


@functools.cache
def _template(path: str) -> jinja2.Template:
    # Trimmed blocks, as Ansible renders.
    environment = jinja2.Environment(trim_blocks=True, keep_trailing_newline=True, autoescape=False)
    environment.filters["to_json"] = json.dumps
    environment.filters["combine"] = lambda one, *others: dict(collections.ChainMap(*reversed(others), one))
    return environment.from_string((ROLES / path).read_text(encoding="utf-8"))
