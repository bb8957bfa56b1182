# SPDX-License-Identifier: Apache-2.0
"""How long admission takes while passes run, and whether passes take longer while pools are admitted.

What a pass loses it loses to the API server and to this client, which leave no pause between requests: so passes run
beside the same requests without webhooks, too, and the webhooks' own share of the processors is printed.

Runs the whole operator against the cluster of $KUBECONFIG, with its own webhooks for one namespace: first passes alone,
then 1,000 admissions in a row, of a pool with an extraConfig, so that each reads its Nova, then as long the same in a
namespace without the webhooks.

    LAB=bench .venv/bin/python lab/lab.py up --without-openstack
    eval "$(LAB=bench .venv/bin/python lab/lab.py env)"
    .venv/bin/python tests/bench/admission.py [--admissions 1000]
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import json
import math
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from typing import Any

TREE = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(TREE / part) for part in ("tests", "operator", "collections")]

import kubernetes.config  # noqa: E402
import yaml  # noqa: E402
from integration import conftest, kube  # noqa: E402
from integration.admission import webhooks  # noqa: E402
from rich import console, table  # noqa: E402

POOLS = 4
ALONE_SECONDS = 30.0

out = console.Console()


@dataclasses.dataclass(frozen=True, kw_only=True)
class Operator:
    """The operator's process, its log, and what serves its webhooks."""

    process: int
    log: pathlib.Path
    hooks: webhooks.Webhooks

    def admission_cpu(self) -> float:
        """Processor seconds that the process of the webhooks has taken."""
        for entry in pathlib.Path("/proc").iterdir():
            if entry.name.isdecimal() and b"nova_compute_operator.admission" in (entry / "cmdline").read_bytes():
                stat = (entry / "stat").read_text().rpartition(")")[2].split()
                if int(stat[1]) == self.process:
                    return (int(stat[11]) + int(stat[12])) / os.sysconf("SC_CLK_TCK")
        raise RuntimeError("the operator serves no webhooks")

    def passes(self) -> list[float]:
        """The seconds that each pass so far took."""
        lines = self.log.read_text().splitlines(keepends=True)
        ended = [json.loads(line) for line in lines if line.endswith("\n") and '"Pass ended"' in line]
        return [line["seconds"] for line in ended]


@contextlib.contextmanager
def operator(server: kube.Server, namespace: str, folder: pathlib.Path) -> Iterator[Operator]:
    hooks = webhooks.Webhooks(server=server, kubeconfig=os.environ["KUBECONFIG"], folder=folder, namespace=namespace)
    hooks.install()
    flags = [f"--namespace={namespace}", "--sync-period=1s", "--metrics-bind-address=0"]
    flags += ["--health-probe-bind-address=0", "--webhook-self-signed", f"--webhook-secret-name={hooks.name}"]
    flags += [f"--webhook-configuration-name={hooks.name}", f"--webhook-cert-path={folder / 'certs'}"]
    flags += [f"--webhook-bind-address=127.0.0.1:{hooks.port}"]
    log = folder / "log"
    with log.open("w") as stream:
        process = subprocess.Popen([sys.executable, "-P", "-m", "nova_compute_operator", *flags], stderr=stream)
    try:
        kube.wait_until(lambda: len(hooks.trusted()) == 2, "the webhooks are trusted", seconds=60)
        body = {"metadata": {"labels": {webhooks.LABEL: hooks.name}}}
        server.call("PATCH", f"/api/v1/namespaces/{namespace}", body, content_type=kube.MERGE_PATCH).accepted()
        yield Operator(process=process.pid, log=log, hooks=hooks)
    finally:
        hooks.remove()
        process.terminate()
        process.wait(60)


def install(server: kube.Server) -> None:
    for file in (conftest.CRD_FILE, TREE / "lab/novalab/openstack/manifests/nova-crd.yaml"):
        manifest = yaml.safe_load(file.read_text(encoding="utf-8"))
        path = f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{manifest['metadata']['name']}"
        server.apply(path, manifest, manager="bench", force=True).accepted()
        kube.wait_until(lambda name=manifest["spec"]["names"]["plural"]: served(server, name), "the kinds are served")


def served(server: kube.Server, plural: str) -> bool:
    return server.call("GET", f"{kube.GROUP_PATH}/{plural}").status == 200


def admit(pools: kube.Pools, number: int, extra: dict[str, Any]) -> tuple[float, bool]:
    """Milliseconds of one creation that is not stored, and whether it was admitted."""
    body = pools.manifest(f"admitted-{number}", kube.minimal_spec() | {"extraConfig": extra})
    began = time.perf_counter()
    reply = pools.server.call("POST", pools.path(), body, query={"dryRun": "All"})
    return (time.perf_counter() - began) * 1000, reply.status == 201


def quantile(values: Sequence[float], share: float) -> float:
    return sorted(values)[min(len(values) - 1, math.ceil(len(values) * share) - 1)]


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--admissions", type=int, default=1000, help="how many in a row (%(default)s)")
    count = parser.parse_args().admissions
    if not os.environ.get("KUBECONFIG"):
        parser.error("KUBECONFIG names no cluster: see the top of this file")
    client = kubernetes.config.new_client_from_config(config_file=os.environ["KUBECONFIG"])
    server = kube.Server(client=client)
    install(server)
    with (
        contextlib.contextmanager(webhooks.make_namespace)(server, {}) as namespace,
        contextlib.contextmanager(webhooks.make_namespace)(server, {}) as unguarded,
        tempfile.TemporaryDirectory() as folder,
    ):
        pools = kube.Pools(server=server, namespace=namespace)
        for number in range(POOLS):
            # Their Nova does not exist: a pass ends at its first step, which leaves more passes to be delayed.
            pools.create_with(name=f"pool-{number}", novaRef={"name": "none"}).accepted()
        webhooks.Novas(server=server, namespace=namespace).create("2026.1")
        with operator(server, namespace, pathlib.Path(folder)) as running:
            kube.wait_until(lambda: len(running.passes()) >= POOLS, "the first passes", seconds=120)
            first = len(running.passes())
            with out.status("passes alone"):
                time.sleep(ALONE_SECONDS)
            alone = running.passes()[first:]
            extra = {"DEFAULT": {"debug": "true"}, "libvirt": {"rbd_user": "x", "hw_machine_type": "x86_64=q35"}}
            with out.status(f"{count} admissions while passes run"):
                before, began = running.admission_cpu(), time.monotonic()
                admissions = [admit(pools, number, extra) for number in range(count)]
                cpu, ends = running.admission_cpu() - before, 2 * time.monotonic() - began
            together = running.passes()[first + len(alone) :]
            with out.status("the same requests without webhooks"):
                others, number = kube.Pools(server=server, namespace=unguarded), 0
                while time.monotonic() < ends:
                    admit(others, number := number + 1, extra)
            control = running.passes()[first + len(alone) + len(together) :]
    return report(admissions, {"alone": alone, "meanwhile": together, "without webhooks": control}, cpu)


def report(admissions: list[tuple[float, bool]], passes: dict[str, list[float]], cpu: float) -> int:
    times, errors = [each for each, _ in admissions], sum(not admitted for _, admitted in admissions)
    shown = table.Table("", "count", "p50", "p99", title="admission beside passes, both webhooks and the API server")
    shown.add_row("admissions", str(len(times)), f"{quantile(times, 0.5):.1f} ms", f"{quantile(times, 0.99):.1f} ms")
    for name, took in passes.items():
        if took:
            shown.add_row(
                f"passes {name}", str(len(took)), f"{statistics.median(took):.2f} s", f"{quantile(took, 0.99):.2f} s"
            )
    out.print(shown)
    out.print(
        f"{errors} errors in {len(times)} admissions, {cpu / len(times) * 1000:.1f} ms of processor time for each"
    )
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
