# SPDX-License-Identifier: Apache-2.0
"""What the chart renders, and which values it refuses."""

from __future__ import annotations

import json
import pathlib
import tomllib
from typing import Any

import pytest
import yaml
from chart import helm
from nova_compute_operator import settings

TREE = pathlib.Path(__file__).parents[2]
CRD_FILE = TREE / "crds" / "nova.openstack.c5c3.io_novacomputes.yaml"

NAMESPACED = {"rbac": {"namespaceScoped": True}, "webhook": {"enabled": False}}
CERT_MANAGER = {"webhook": {"certManager": {"enabled": True}}}
EVERYTHING: dict[str, Any] = {
    "monitoring": {name: {"enabled": True} for name in ("serviceMonitor", "prometheusRule", "dashboard")},
    "networkPolicy": {"enabled": True},
    "priorityClassName": "system-cluster-critical",
    "nodeSelector": {"node-role.kubernetes.io/control-plane": ""},
    "tolerations": [{"operator": "Exists", "key": "node-role.kubernetes.io/control-plane"}],
    "extraArgs": ["--shutdown-grace=10s"],
    "extraEnv": [{"name": "HTTPS_PROXY", "value": "http://proxy:3128"}],
    "imagePullSecrets": [{"name": "registry"}],
    "podAnnotations": {"a.example/b": "true"},
    "podLabels": {"c": "d"},
    "serviceAccount": {"annotations": {"e": "f"}},
}
WAYS = {
    "default": {},
    "everything": EVERYTHING,
    "cert-manager": CERT_MANAGER,
    "namespaced": NAMESPACED,
    "through the proxy": {"openstack": {"reach": "proxy"}},
    "alone": {"replicas": 1, "leaderElection": {"enabled": False}},
}


def operator_of(objects: dict[tuple[str, str], helm.Object]) -> Any:
    return objects["Deployment", helm.FULLNAME]["spec"]["template"]["spec"]["containers"][0]


def rules_of(item: helm.Object) -> set[tuple[str, str, str]]:
    """Every (group, resource, verb) that a role grants."""
    return {
        (group, resource, verb)
        for rule in item["rules"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    }


def test_helm_finds_nothing_to_complain_about(chart: helm.Chart) -> None:
    for values in WAYS.values():
        done = chart.helm.run("lint", "--strict", str(helm.CHART), "--values", chart.values(values))
        assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("values", WAYS.values(), ids=WAYS)
def test_the_operator_takes_the_flags_that_it_is_given(
    chart: helm.Chart, values: dict[str, Any], tmp_path: pathlib.Path
) -> None:
    told = settings.parse(operator_of(chart.rendered(**values))["args"])
    assert told.leader_elect == (values != WAYS["alone"])
    assert settings.lease_namespace(told) == helm.NAMESPACE
    assert told.namespace == (helm.NAMESPACE if values == NAMESPACED else "")
    assert told.webhook_self_signed == (values not in (NAMESPACED, CERT_MANAGER))


@pytest.mark.parametrize("values", WAYS.values(), ids=WAYS)
def test_every_value_that_is_set_is_in_the_chart_and_every_default_passes_its_schema(
    chart: helm.Chart, values: dict[str, Any]
) -> None:
    defaults = yaml.safe_load((helm.CHART / "values.yaml").read_text())
    schema = json.loads((helm.CHART / "values.schema.json").read_text())
    assert set(schema["properties"]) == set(defaults) | {"global"}
    assert values.keys() <= defaults.keys()
    assert chart.rendered(**{**defaults, **values})


def test_the_pod_is_restricted(chart: helm.Chart) -> None:
    pod = chart.rendered()["Deployment", helm.FULLNAME]["spec"]["template"]["spec"]
    assert pod["securityContext"] == {
        "runAsNonRoot": True,
        "runAsUser": 65532,
        "runAsGroup": 65532,
        "fsGroup": 65532,
        "seccompProfile": {"type": "RuntimeDefault"},
    }
    assert [container["securityContext"] for container in pod["containers"]] == [
        {"allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True, "capabilities": {"drop": ["ALL"]}}
    ]
    assert not {"hostNetwork", "hostPID", "hostIPC"} & pod.keys()


def test_the_crd_of_the_chart_is_that_of_the_tree_when_it_is_packed_too(chart: helm.Chart) -> None:
    packed = chart.helm.run("package", str(helm.CHART), "--destination", str(chart.helm.folder))
    assert packed.returncode == 0, packed.stderr
    (tarball,) = chart.helm.folder.glob("*.tgz")
    for what in (helm.CHART, tarball):
        shown = chart.helm.run("show", "crds", str(what)).stdout
        assert [item for item in yaml.safe_load_all(shown) if item] == [yaml.safe_load(CRD_FILE.read_text())]


def test_versions_of_chart_and_product_are_one(chart: helm.Chart) -> None:
    project = tomllib.loads((TREE / "pyproject.toml").read_text())["project"]
    shown = yaml.safe_load(chart.helm.run("show", "chart", str(helm.CHART)).stdout)
    galaxy = yaml.safe_load((TREE / "collections/ansible_collections/c5c3/nova/galaxy.yml").read_text())
    assert {project["version"], shown["version"], shown["appVersion"], galaxy["version"]} == {project["version"]}


class TestRights:
    def test_no_rule_has_a_wildcard(self, chart: helm.Chart) -> None:
        for values in WAYS.values():
            for (kind, _), item in chart.rendered(**values).items():
                if kind in ("Role", "ClusterRole"):
                    assert "*" not in json.dumps(item["rules"])

    def test_a_namespaced_operator_has_no_right_outside_its_namespace(self, chart: helm.Chart) -> None:
        objects = chart.rendered(**NAMESPACED)
        assert not [kind for kind, _ in objects if kind.startswith("Cluster")]
        assert {item["metadata"].get("namespace") for item in objects.values()} == {helm.NAMESPACE}

    def test_a_namespaced_operator_may_there_do_what_one_of_the_cluster_may_everywhere(self, chart: helm.Chart) -> None:
        everywhere = rules_of(chart.rendered(**CERT_MANAGER)["ClusterRole", helm.FULLNAME])
        there = rules_of(chart.rendered(**NAMESPACED)["Role", helm.FULLNAME])
        assert everywhere - there == {
            ("", "nodes", "list"),
            ("", "nodes", "watch"),
            ("kvm.cloud.sap", "hypervisors", "get"),
            ("kvm.cloud.sap", "hypervisors", "patch"),
        }
        assert there < everywhere

    def test_secrets_are_written_in_the_own_namespace_only(self, chart: helm.Chart) -> None:
        everywhere = rules_of(chart.rendered()["ClusterRole", helm.FULLNAME])
        assert {verb for _, resource, verb in everywhere if resource == "secrets"} == {"get", "list", "watch", "delete"}
        own = chart.rendered()["Role", f"{helm.FULLNAME}-own"]["rules"]
        named = [rule for rule in own if rule["resources"] == ["secrets"] and rule["verbs"] != ["create"]]
        assert [rule["resourceNames"] for rule in named] == [[f"{helm.FULLNAME}-webhook-cert"]]

    def test_the_lease_is_the_one_that_the_operator_holds(self, chart: helm.Chart) -> None:
        own = chart.rendered()["Role", f"{helm.FULLNAME}-own"]["rules"]
        named = [rule for rule in own if rule["resources"] == ["leases"] and "resourceNames" in rule]
        assert [rule["resourceNames"] for rule in named] == [[settings.LEASE_NAME]]

    def test_the_service_proxy_is_granted_to_those_who_use_it(self, chart: helm.Chart) -> None:
        proxied = ("", "services/proxy", "update")
        assert proxied not in rules_of(chart.rendered()["ClusterRole", helm.FULLNAME])
        assert proxied in rules_of(chart.rendered(openstack={"reach": "proxy"})["ClusterRole", helm.FULLNAME])


class TestWebhooks:
    def test_they_lead_to_the_operator_by_its_service(self, chart: helm.Chart) -> None:
        objects = chart.rendered()
        service = objects["Service", helm.FULLNAME]["spec"]
        container = operator_of(objects)
        ports = {port["name"]: port["containerPort"] for port in container["ports"]}
        assert service["ports"] == [{"name": "webhook", "port": 443, "targetPort": "webhook"}]
        assert f"--webhook-bind-address=:{ports['webhook']}" in container["args"]
        pod = objects["Deployment", helm.FULLNAME]["spec"]["template"]["metadata"]["labels"]
        assert service["selector"].items() <= pod.items()
        for kind in ("Mutating", "Validating"):
            (hook,) = objects[f"{kind}WebhookConfiguration", helm.FULLNAME]["webhooks"]
            assert hook["clientConfig"]["service"]["name"] == helm.FULLNAME
            assert hook["failurePolicy"] == "Fail"

    def test_with_a_cert_manager_its_secret_is_mounted_where_the_operator_looks(self, chart: helm.Chart) -> None:
        objects = chart.rendered(**CERT_MANAGER)
        certificate = objects["Certificate", f"{helm.FULLNAME}-webhook"]["spec"]
        assert certificate["dnsNames"][0] == f"{helm.FULLNAME}.{helm.NAMESPACE}.svc"
        assert certificate["issuerRef"] == {"kind": "Issuer", "name": f"{helm.FULLNAME}-selfsigned"}
        pod = objects["Deployment", helm.FULLNAME]["spec"]["template"]["spec"]
        secrets = {volume["secret"]["secretName"]: volume["name"] for volume in pod["volumes"] if "secret" in volume}
        mounts = {mount["name"]: mount["mountPath"] for mount in pod["containers"][0]["volumeMounts"]}
        assert mounts[secrets[certificate["secretName"]]] == str(settings.WEBHOOK_FOLDER)
        for kind in ("Mutating", "Validating"):
            metadata = objects[f"{kind}WebhookConfiguration", helm.FULLNAME]["metadata"]
            wanted = f"{helm.NAMESPACE}/{helm.FULLNAME}-webhook"
            assert metadata["annotations"] == {"cert-manager.io/inject-ca-from": wanted}

    def test_an_issuer_of_the_user_takes_the_place_of_the_self_signed_one(self, chart: helm.Chart) -> None:
        reference = {"kind": "ClusterIssuer", "name": "corporate"}
        objects = chart.rendered(webhook={"certManager": {"enabled": True, "issuerRef": reference}})
        assert objects["Certificate", f"{helm.FULLNAME}-webhook"]["spec"]["issuerRef"] == reference
        assert not [name for kind, name in objects if kind == "Issuer"]


class TestRefusals:
    @pytest.mark.parametrize(
        ("values", "words"),
        [
            ({"relpicas": 3}, "additional properties 'relpicas' not allowed"),
            ({"webhook": {"certmanager": True}}, "additional properties 'certmanager' not allowed"),
            ({"rbac": {"namespaceScoped": True}}, "rbac.namespaceScoped needs webhook.enabled=false"),
            ({"leaderElection": {"enabled": False}}, "replicas above 1 need leaderElection.enabled=true"),
            ({"webhook": {"certManager": {"issuerRef": {"name": "x"}}}}, "needs webhook.certManager.enabled=true"),
            ({"controller": {"defaultImagePullPolicy": "Sometimes"}}, "defaultImagePullPolicy"),
            ({"controller": {"syncPeriod": "10 minutes"}}, "syncPeriod"),
            ({"image": {"digest": "sha256:abc"}}, "digest"),
            ({"openstack": {"reach": "porxy"}}, "reach"),
            ({"serviceAccount": {"create": False}}, "serviceAccount.name: name the account to use"),
        ],
    )
    def test_values_that_cannot_be_right_are_refused(
        self, chart: helm.Chart, values: dict[str, Any], words: str
    ) -> None:
        assert words in chart.refusal(**values)


def test_a_network_policy_lets_the_operator_reach_what_it_needs(chart: helm.Chart) -> None:
    peer = {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "openstack"}}}
    policy = chart.rendered(networkPolicy={"enabled": True, "openstackTo": [peer]})["NetworkPolicy", helm.FULLNAME]
    egress = [({port["port"] for port in rule["ports"]}, rule.get("to")) for rule in policy["spec"]["egress"]]
    assert egress == [({53}, None), ({443, 6443}, None), ({5000, 8774, 8778}, [peer])]


def test_a_single_replica_has_no_budget(chart: helm.Chart) -> None:
    budget = chart.rendered()["PodDisruptionBudget", helm.FULLNAME]["spec"]
    assert budget["minAvailable"] == 1
    assert ("PodDisruptionBudget", helm.FULLNAME) not in chart.rendered(replicas=1)


def test_a_digest_wins_over_a_tag(chart: helm.Chart) -> None:
    digest = "sha256:" + "0" * 64
    assert operator_of(chart.rendered(image={"tag": "x", "digest": digest}))["image"].endswith(f"@{digest}")
    assert operator_of(chart.rendered(image={"tag": "x"}))["image"] == "ghcr.io/c5c3/nova-compute-operator:x"
