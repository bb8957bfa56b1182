# SPDX-License-Identifier: Apache-2.0
"""Target clusters: labs of Kubernetes alone, registered with a management lab as an owner of real ones would do it.

The operator gets a service account there with the rights of ``config/target-cluster`` and no others, so that a right
that is missing in these manifests fails a test here before it fails somebody's pool.
"""

from __future__ import annotations

import base64
import json
import pathlib
import subprocess
import time
from typing import Any

import yaml

from novalab import bringup, errors, progress
from novalab import lab as labs
from novalab.openstack import cluster as cloud_cluster
from novalab.openstack import installation, settings
from novalab.openstack import objects as cloud_objects

#: What the clusters may be called, in the order in which they are made.
NAMES = ("edge", "west")

CLUSTERS_NAMESPACE = "c5c3-clusters"
REGISTRATION_LABEL = "sigs.k8s.io/multicluster-runtime-kubeconfig"
MIRROR_LABEL = "nova.openstack.c5c3.io/compute-config-mirror"
RIGHTS = pathlib.Path(__file__).resolve().parents[2] / "config" / "target-cluster"

ACCESS_NAMESPACE = labs.ACCESS_NAMESPACE
ACCOUNT = "nova-compute-operator"
_TOKEN_SECRET = "nova-compute-operator-token"
_TOKEN_SECONDS = 30.0
_PODS_SECONDS = 180.0

Object = dict[str, Any]


def lab_name(management: labs.Lab, target: str) -> str:
    """The name of the lab that is the management lab's target cluster of that name."""
    return f"{management.name}-{target}"


def of(management: labs.Lab) -> list[labs.Lab]:
    """The target clusters that the management lab has now."""
    return [lab for name in NAMES if (lab := labs.find(lab_name(management, name))) is not None]


def up(management: labs.Lab, target: str, board: progress.Board) -> labs.Lab:
    """Bring the target cluster up and register it, if it is not yet. Raises LabError."""
    the_lab = labs.create(lab_name(management, target), family=target)
    bringup.up(the_lab, board, with_openstack=False)
    grant(the_lab)
    register(management, the_lab)
    if (management.bin / "openstack").is_symlink():
        mirror_contract(management, the_lab)
    return the_lab


def grant(the_lab: labs.Lab) -> None:
    """Give the operator the rights of the manifests on the target cluster."""
    kubectl(the_lab, "apply", "--server-side", "--force-conflicts", f"--filename={RIGHTS}")


def register(management: labs.Lab, the_lab: labs.Lab, **changes: str) -> None:
    """Register the target cluster under its family's name; ``changes`` are keys of the Secret to set otherwise."""
    data = {"kubeconfig": yaml.safe_dump(kubeconfig(the_lab)), **changes}
    owned = {labs.OWNED_LABEL: "true"}
    apply(
        management,
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": CLUSTERS_NAMESPACE, "labels": owned}},
        {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {
                "name": the_lab.family,
                "namespace": CLUSTERS_NAMESPACE,
                "labels": {**owned, REGISTRATION_LABEL: "true"},
            },
            "data": {key: encoded(value.encode()) for key, value in data.items()},
        },
    )


def withdraw(management: labs.Lab, the_lab: labs.Lab) -> None:
    """Take the registration of the target cluster away, if there is one. Raises LabError."""
    kubectl(management, "delete", "secret", f"--namespace={CLUSTERS_NAMESPACE}", the_lab.family, "--ignore-not-found")


def kubeconfig(the_lab: labs.Lab) -> Object:
    """The kubeconfig of the operator's service account on the target cluster, with nothing in it but data."""
    admin = yaml.safe_load(the_lab.kubeconfig.read_text())
    cluster = admin["clusters"][0]["cluster"]
    authority = encoded(pathlib.Path(cluster["certificate-authority"]).read_bytes())
    name = the_lab.family
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": name,
        "contexts": [{"name": name, "context": {"cluster": name, "user": ACCOUNT}}],
        "clusters": [{"name": name, "cluster": {"server": cluster["server"], "certificate-authority-data": authority}}],
        "users": [{"name": ACCOUNT, "user": {"token": _token(the_lab)}}],
    }


def mirror_contract(management: labs.Lab, the_lab: labs.Lab, nova: str = settings.NOVA) -> None:
    """Copy a Nova's compute contract and the hypervisor operator's login to a cluster, as a ControlPlane does."""
    cloud = settings.Cloud(management)
    contract = cloud_objects.compute_contract(cloud)
    login = {**contract, "data": {"password": encoded(cloud.passwords.nova.encode())}}
    for secret, name in zip((contract, login), _mirrored(nova), strict=True):
        labels = {**secret["metadata"]["labels"], MIRROR_LABEL: "true"}
        apply(the_lab, {**secret, "metadata": {**secret["metadata"], "name": name, "labels": labels}})


def place_nova(management: labs.Lab, the_lab: labs.Lab) -> str:
    """Have a Nova that lives on the target cluster; returns its name. Raises LabError.

    It is the management lab's OpenStack once more: pods of Keystone, Placement and Nova's API run there too, and a Nova
    resource says so. What the pool of a placed Nova reaches, it reaches through that cluster's API server. Its compute
    contract is there; the management cluster has a mirror of it, for pools of its own.
    """
    cloud, name = settings.Cloud(management), nova_name(the_lab.family)
    paste = (installation.environment_path() / "etc" / "nova" / "api-paste.ini").read_text()
    target = cloud_cluster.Cluster(the_lab)
    for item in cloud_objects.all_objects(cloud, paste):
        if item["kind"] == "CustomResourceDefinition":
            continue
        if item["kind"] in ("Deployment", "Service") and item["metadata"]["name"] == settings.NOVA:
            item["metadata"]["name"] = name
        if item["metadata"]["name"] == cloud_objects.CONTRACT:
            item["metadata"]["name"] = _mirrored(name)[0]
        target.apply(item)
    for deployment in (name, *_shared_deployments()):
        _wait_for_rollout(target, deployment)
    nova = cloud_objects.nova_resource(cloud)
    nova["metadata"]["name"] = name
    nova["spec"]["targetClusterRef"] = {"name": the_lab.family}
    here = cloud_cluster.Cluster(management)
    here.apply(nova)
    here.set_status(
        "Nova", name, {**cloud_objects.nova_status(), "computeConfigSecretRef": {"name": _mirrored(name)[0]}}
    )
    mirror_contract(management, management, name)
    return name


def remove_nova(management: labs.Lab, the_lab: labs.Lab) -> None:
    """Take away the Nova that lives on the target cluster, with its pods. Raises LabError."""
    name, namespace = nova_name(the_lab.family), f"--namespace={labs.NAMESPACE}"
    kubectl(management, "delete", "nova", namespace, name, "--ignore-not-found")
    deployments = (name, *_shared_deployments())
    kubectl(the_lab, "delete", "deployment", namespace, *deployments, "--ignore-not-found")
    for each in (management, the_lab):
        kubectl(each, "delete", "secret", namespace, *_mirrored(name), "--ignore-not-found")


def nova_name(target: str) -> str:
    """The name of the Nova that lives on the target cluster of that name, once there is one."""
    return f"{target}-nova"


def encoded(data: bytes) -> str:
    """The data as a Secret and a kubeconfig hold it."""
    return base64.b64encode(data).decode()


def apply(the_lab: labs.Lab, *items: Object) -> None:
    """Make objects of the lab's cluster what they say. Raises LabError."""
    document = json.dumps({"apiVersion": "v1", "kind": "List", "items": items})
    kubectl(the_lab, "apply", "--server-side", "--force-conflicts", "--filename=-", stdin=document)


def kubectl(the_lab: labs.Lab, *arguments: str, stdin: str | None = None) -> str:
    """What kubectl says as the administrator of the lab's cluster. Raises LabError."""
    done = subprocess.run(
        [the_lab.bin / "kubectl", f"--kubeconfig={the_lab.kubeconfig}", *arguments],
        input=stdin,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise errors.LabError(f"kubectl {arguments[0]} in lab {the_lab.name}: {done.stderr.strip()}")
    return done.stdout


def _mirrored(nova: str) -> tuple[str, str]:
    """What a ControlPlane copies to the clusters of a Nova's pools: its compute contract, and a login."""
    return f"{nova}-compute-config", f"{nova}-hypervisor-operator-auth"


def _shared_deployments() -> list[str]:
    """The Deployments that a placed Nova stands on, beside its own."""
    return [name for name in cloud_cluster.deployments() if name != settings.NOVA]


def _wait_for_rollout(target: cloud_cluster.Cluster, deployment: str) -> None:
    cloud_cluster.wait(
        f"the rollout of {deployment} on the target cluster",
        lambda: cloud_cluster.is_rolled_out(target.get("Deployment", deployment)),
        seconds=_PODS_SECONDS,
    )


def _token(the_lab: labs.Lab) -> str:
    """The token of the operator's service account: the controller manager writes it into the Secret that asks."""
    deadline = time.monotonic() + _TOKEN_SECONDS
    path = "--output=jsonpath={.data.token}"
    while not (token := kubectl(the_lab, "get", "secret", f"--namespace={ACCESS_NAMESPACE}", _TOKEN_SECRET, path)):
        if time.monotonic() > deadline:
            raise errors.LabError(f"no token for the operator in lab {the_lab.name} within {_TOKEN_SECONDS:.0f} s")
        time.sleep(0.1)
    return base64.b64decode(token).decode()
