# SPDX-License-Identifier: Apache-2.0
"""What a person sees of the resource: its columns, its short name, its explanations; and how applies merge."""

from __future__ import annotations

from typing import Any

from integration import kube


def columns(table: kube.Reply) -> dict[str, Any]:
    """The cells of the one row that `kubectl get` would print, by the name of their column."""
    (row,) = table.accepted()["rows"]
    names = [column["name"] for column in table.body["columnDefinitions"]]
    return dict(zip(names, row["cells"], strict=True))


# The server draws the table of the object that a write left, so an operator that looks at the pool cannot come between.


def test_the_columns_are_ready_desired_ready_pods_and_age(pools: kube.Pools) -> None:
    pools.create_with().accepted()
    table = pools.server.call("GET", pools.path(), accept=kube.TABLE)
    assert list(columns(table)) == ["Name", "Ready", "Desired", "Ready pods", "Age"]


def test_the_columns_show_the_status(pools: kube.Pools) -> None:
    pools.create_with().accepted()
    condition = {
        "type": "Ready",
        "status": "True",
        "reason": "AllReady",
        "message": "All sub-conditions are ready",
        "lastTransitionTime": "2026-01-02T03:04:05Z",
    }
    other = condition | {"type": "NovaReady", "status": "False"}
    status = {"conditions": [other, condition], "desiredNumberScheduled": 3, "numberReady": 2}
    path = pools.path("pool-a") + "/status"
    table = pools.server.call("PATCH", path, {"status": status}, content_type=kube.MERGE_PATCH, accept=kube.TABLE)
    shown = columns(table)
    assert (shown["Ready"], shown["Desired"], shown["Ready pods"]) == ("True", 3, 2)


def test_a_pool_that_no_pass_has_seen_shows_empty_columns(pools: kube.Pools) -> None:
    manifest = pools.manifest("pool-new", kube.minimal_spec())
    shown = columns(pools.server.call("POST", pools.path(), manifest, accept=kube.TABLE))
    assert (shown["Name"], shown["Ready"], shown["Desired"], shown["Ready pods"]) == ("pool-new", None, None, None)


def test_the_resource_goes_by_its_short_name(pools: kube.Pools) -> None:
    resources = pools.server.call("GET", kube.GROUP_PATH).accepted()["resources"]
    (resource,) = [resource for resource in resources if resource["name"] == "novacomputes"]
    assert (resource["kind"], resource["namespaced"], resource["shortNames"]) == ("NovaCompute", True, ["novac"])


def test_no_other_resource_of_the_cluster_goes_by_the_short_name(pools: kube.Pools) -> None:
    accept = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
    groups = [
        group
        for path in ("/api", "/apis")
        for group in pools.server.call("GET", path, accept=accept).accepted()["items"]
    ]
    names = [
        resource["resource"]
        for group in groups
        for version in group["versions"]
        for resource in version.get("resources", [])
        if "novac" in [resource["resource"], resource.get("singularResource"), *resource.get("shortNames", [])]
    ]
    assert names == ["novacomputes"]


def test_kubectl_explain_has_the_descriptions_of_the_schema(pools: kube.Pools, crd: dict[str, Any]) -> None:
    schemas = pools.server.call("GET", f"/openapi/v3{kube.GROUP_PATH}").accepted()["components"]["schemas"]
    published = schemas["io.c5c3.openstack.nova.v1alpha1.NovaCompute"]["properties"]["spec"]["properties"]
    written = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]
    assert {name: field["description"] for name, field in published.items()} == {
        name: field["description"] for name, field in written.items()
    }


def test_two_appliers_of_host_traits_keep_an_entry_each(pools: kube.Pools) -> None:
    first = kube.minimal_spec() | {"hostTraits": [{"nodeName": "node-1", "traits": ["CUSTOM_A"]}]}
    second = kube.minimal_spec() | {"hostTraits": [{"nodeName": "node-2", "traits": ["CUSTOM_B"]}]}
    pools.apply(first, manager="one").accepted()
    merged = pools.apply(second, manager="two").accepted()["spec"]["hostTraits"]
    assert [entry["nodeName"] for entry in merged] == ["node-1", "node-2"]


def test_two_appliers_of_traits_keep_a_trait_each(pools: kube.Pools) -> None:
    pools.apply(kube.minimal_spec() | {"traits": ["CUSTOM_A"]}, manager="one").accepted()
    merged = pools.apply(kube.minimal_spec() | {"traits": ["CUSTOM_B"]}, manager="two").accepted()
    assert sorted(merged["spec"]["traits"]) == ["CUSTOM_A", "CUSTOM_B"]
