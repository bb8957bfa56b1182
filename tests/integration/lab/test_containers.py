# SPDX-License-Identifier: Apache-2.0
"""What a container of the lab gets from its pod: environment, volumes, user, rights."""

from __future__ import annotations

import base64
import json
from typing import Any


def _secret(name: str, **data: str) -> dict[str, Any]:
    encoded = {key: base64.b64encode(value.encode()).decode() for key, value in data.items()}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}, "data": encoded}


def _config_map(name: str, **data: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}


def test_init_containers_run_one_after_the_other(cluster: Any, pod: Any) -> None:
    mount = {"volumeMounts": [{"name": "shared", "mountPath": "/shared"}]}
    init = [
        {"name": f"init-{n}", "image": "any", "command": ["sh", "-c", f"echo {n} >> /shared/order"], **mount}
        for n in (1, 2, 3)
    ]
    spec = {"initContainers": init, "volumes": [{"name": "shared", "emptyDir": {}}]}
    assert cluster.run_to_end(pod("cat /shared/order", spec=spec, **mount)).split() == ["1", "2", "3"]


def test_failing_init_container_keeps_the_others_from_starting(cluster: Any, pod: Any) -> None:
    init = [{"name": "fails", "image": "any", "command": ["sh", "-c", "echo no >&2; exit 3"]}]
    cluster.apply(pod("echo started", spec={"initContainers": init, "restartPolicy": "Always"}))
    found = cluster.wait("pod", "one", lambda p: _restarts(p["status"].get("initContainerStatuses")) >= 2)
    assert found["status"]["phase"] == "Pending"
    assert "running" not in found["status"]["containerStatuses"][0]["state"]
    assert found["status"]["initContainerStatuses"][0]["lastState"]["terminated"]["message"] == "no\n"


def _restarts(statuses: Any) -> int:
    return int(statuses[0]["restartCount"]) if statuses else 0


def test_environment_comes_from_values_fields_secrets_and_config_maps(cluster: Any, pod: Any) -> None:
    cluster.apply(_secret("s", key="geheim"), _config_map("c", PLAIN="open", OTHER="more"))
    env = [
        {"name": "NODE", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}},
        {"name": "ADDRESS", "valueFrom": {"fieldRef": {"fieldPath": "status.hostIP"}}},
        {"name": "SECRET", "valueFrom": {"secretKeyRef": {"name": "s", "key": "key"}}},
        {"name": "OPTIONAL", "valueFrom": {"secretKeyRef": {"name": "s", "key": "none", "optional": True}}},
        {"name": "JOINED", "value": "$(NODE)/$(NOBODY)/$$(NODE)"},
    ]
    environment = {"env": env, "envFrom": [{"configMapRef": {"name": "c"}, "prefix": "C_"}]}
    command = ["python3", "-c", "import json, os, sys; print(json.dumps([dict(os.environ), sys.argv[1:]]))", "$(NODE)"]
    values, words = json.loads(cluster.run_to_end(pod("", command=command, **environment)))
    address = next(a["address"] for a in cluster.get("node", "compute-1")["status"]["addresses"])
    expected = {"NODE": "compute-1", "ADDRESS": address, "SECRET": "geheim", "C_PLAIN": "open", "C_OTHER": "more"}
    assert expected.items() <= values.items()
    assert "OPTIONAL" not in values
    assert values["JOINED"] == "compute-1/$(NOBODY)/$(NODE)"
    assert words == ["compute-1"]


def test_secret_volume_has_its_items_with_their_modes(cluster: Any, pod: Any) -> None:
    cluster.apply(_secret("s", one="1", two="2"))
    volume = {"secret": {"secretName": "s", "defaultMode": 0o400, "items": [{"key": "two", "path": "deep/two.conf"}]}}
    mount = {"volumeMounts": [{"name": "v", "mountPath": "/v", "readOnly": True}]}
    output = cluster.run_to_end(
        pod("cd /v; find . -type f; stat -c %a deep/two.conf", spec={"volumes": [{"name": "v", **volume}]}, **mount)
    )
    assert output.split() == ["./deep/two.conf", "400"]


def test_service_account_token_of_a_pod_is_accepted_by_the_api_server(cluster: Any, pod: Any) -> None:
    script = """
        cd /var/run/secrets/kubernetes.io/serviceaccount
        python3 - <<END
import json, os, ssl, urllib.request
url = "https://%s:%s/apis/authentication.k8s.io/v1/selfsubjectreviews" % (
    os.environ["KUBERNETES_SERVICE_HOST"], os.environ["KUBERNETES_SERVICE_PORT"])
body = json.dumps({"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}).encode()
headers = {"Authorization": "Bearer " + open("token").read(), "Content-Type": "application/json"}
trusted = ssl.create_default_context(cafile="ca.crt")
answer = urllib.request.urlopen(urllib.request.Request(url, body, headers), context=trusted)
print(json.load(answer)["status"]["userInfo"]["username"])
END
    """
    user = cluster.run_to_end(pod(script, spec={"automountServiceAccountToken": True})).strip()
    assert user == f"system:serviceaccount:{cluster.namespace}:default"


def test_bidirectional_mount_reaches_other_pods_of_the_node_and_no_other_node(cluster: Any, pod: Any) -> None:
    volume = {"volumes": [{"name": "v", "hostPath": {"path": "/var/lib/lab-test", "type": "DirectoryOrCreate"}}]}

    def mounted(propagation: str) -> dict[str, Any]:
        return {"volumeMounts": [{"name": "v", "mountPath": "/v", "mountPropagation": propagation}]}

    script = (
        "mkdir -p /v/m && mount -t tmpfs m /v/m && touch /v/m/seen && trap 'umount /v/m; exit' TERM; sleep 60 & wait"
    )
    privileged = {"securityContext": {"privileged": True}, **mounted("Bidirectional")}
    cluster.apply(pod(script, name="mounts", spec={**volume, "terminationGracePeriodSeconds": 10}, **privileged))
    cluster.wait_ready("mounts")
    wait = "for i in $(seq 50); do test -e /v/m/seen && echo seen && exit; sleep 0.1; done; echo unseen"
    near = cluster.run_to_end(pod(wait, name="near", spec=volume, **mounted("HostToContainer")))
    far = cluster.run_to_end(
        pod("ls /v/m/seen || echo unseen", name="far", node="compute-2", spec=volume, **mounted("HostToContainer"))
    )
    cluster.kubectl("delete", "pod", "mounts")
    after = cluster.run_to_end(
        pod("ls /v/m/seen || echo unseen", name="after", spec=volume, **mounted("HostToContainer"))
    )
    assert [text.split()[-1] for text in (near, far, after)] == ["seen", "unseen", "unseen"]


def test_read_only_mount_refuses_writes(cluster: Any, pod: Any) -> None:
    volume = {"volumes": [{"name": "v", "hostPath": {"path": "/sys/fs/cgroup"}}]}
    mount = {"volumeMounts": [{"name": "v", "mountPath": "/sys/fs/cgroup", "readOnly": True}]}
    script = "touch /sys/fs/cgroup/x 2>&1 || true"
    output = cluster.run_to_end(pod(script, spec=volume, securityContext={"privileged": True}, **mount))
    assert "Read-only file system" in output


def test_container_without_privileges_has_its_user_no_capabilities_and_a_read_only_root(cluster: Any, pod: Any) -> None:
    context = {
        "runAsNonRoot": True,
        "runAsUser": 42436,
        "runAsGroup": 42437,
        "allowPrivilegeEscalation": False,
        "capabilities": {"drop": ["ALL"]},
        "readOnlyRootFilesystem": True,
    }
    script = "id -u; id -g; grep -E 'CapEff|CapBnd|NoNewPrivs' /proc/self/status; touch /x /tmp/x 2>&1 || true"
    lines = cluster.run_to_end(pod(script, securityContext=context)).splitlines()
    assert lines[:2] == ["42436", "42437"]
    assert [line.split()[-1] for line in lines[2:5]] == ["0000000000000000", "0000000000000000", "1"]
    assert sum("Read-only file system" in line for line in lines) == 2


def test_capability_that_is_added_after_all_were_dropped_is_the_only_one(cluster: Any, pod: Any) -> None:
    context = {"capabilities": {"drop": ["ALL"], "add": ["DAC_OVERRIDE"]}}
    output = cluster.run_to_end(pod("grep CapEff /proc/self/status", securityContext=context))
    assert int(output.split()[-1], 16) == 1 << 1


def test_host_path_of_another_type_keeps_the_pod_waiting_with_the_reason(cluster: Any, pod: Any) -> None:
    volume = {"volumes": [{"name": "v", "hostPath": {"path": "/run/no.sock", "type": "Socket"}}]}
    cluster.apply(pod("true", spec=volume, volumeMounts=[{"name": "v", "mountPath": "/v"}]))
    found = cluster.wait("pod", "one", lambda p: "hostPath type check failed" in json.dumps(p["status"]))
    assert found["status"]["phase"] == "Pending"


def test_absolute_link_on_a_node_does_not_lead_to_the_machine(cluster: Any, pod: Any) -> None:
    node = {"volumes": [{"name": "v", "hostPath": {"path": "/var/lib"}}]}
    mount = {"volumeMounts": [{"name": "v", "mountPath": "/v"}]}
    cluster.run_to_end(pod("ln -sfn /usr/lib /v/lab-link", name="plant", spec=node, **mount))
    link = {"volumes": [{"name": "v", "hostPath": {"path": "/var/lib/lab-link"}}]}
    found = cluster.run_to_end(pod("ls /v; rm -f /v/x", name="follow", spec=link, **mount))
    cluster.run_to_end(pod("rm /v/lab-link", name="clean", spec=node, **mount))
    assert found == ""


def test_missing_key_shows_as_config_error_and_heals(cluster: Any, pod: Any) -> None:
    env = [{"name": "A", "valueFrom": {"secretKeyRef": {"name": "s", "key": "late"}}}]
    cluster.apply(_secret("s", early="1"), pod("echo $A; sleep 60", env=env, spec={"restartPolicy": "Always"}))
    found = cluster.wait("pod", "one", lambda p: "CreateContainerConfigError" in json.dumps(p["status"]))
    waiting = found["status"]["containerStatuses"][0]["state"]["waiting"]
    assert waiting["message"] == "couldn't find key late in secret s"
    cluster.apply(_secret("s", early="1", late="2"))
    cluster.wait_ready("one")
    assert cluster.kubectl("logs", "one") == "2\n"


def test_missing_config_map_holds_the_pod_and_its_arrival_lets_it_go(cluster: Any, pod: Any) -> None:
    volume = {"volumes": [{"name": "v", "configMap": {"name": "late"}}]}
    cluster.apply(pod("cat /v/k; sleep 60", spec=volume, volumeMounts=[{"name": "v", "mountPath": "/v"}]))
    found = cluster.wait("pod", "one", lambda p: "MountVolume.SetUp failed" in json.dumps(p["status"]))
    assert 'configmaps "late" not found' in json.dumps(found["status"]).replace('\\"', '"')
    cluster.apply(_config_map("late", k="here"))
    cluster.wait_ready("one")


def test_unknown_program_ends_with_127(cluster: Any, pod: Any) -> None:
    cluster.apply(pod("", command=["no-such-program"]))
    found = cluster.wait("pod", "one", lambda p: p["status"].get("phase") == "Failed")
    ended = found["status"]["containerStatuses"][0]["state"]["terminated"]
    assert ended["exitCode"] == 127
    assert "no-such-program" in ended["message"]


def test_user_root_is_refused_where_only_others_may_run(cluster: Any, pod: Any) -> None:
    cluster.apply(pod("true", securityContext={"runAsNonRoot": True}))
    found = cluster.wait("pod", "one", lambda p: "CreateContainerConfigError" in json.dumps(p["status"]))
    assert "runAsNonRoot" in found["status"]["containerStatuses"][0]["state"]["waiting"]["message"]
