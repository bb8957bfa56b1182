# SPDX-License-Identifier: Apache-2.0
"""The command line, in the form that people know from operators written in Go.

Charts and manifests of sibling operators pass these flags, so their names, defaults and spelling are kept:
`-flag=value` as well as `--flag=value`, durations such as `1h30m`, addresses such as `:8080`, and booleans that take
`=true` or `=false`. A value that cannot be right ends start-up instead of showing up hours later.
"""

from __future__ import annotations

import argparse
import dataclasses
import os
import pathlib
import re
from collections.abc import Sequence

PULL_POLICIES = ("Always", "IfNotPresent", "Never")
LEASE_NAME = "nova.openstack.c5c3.io"
WEBHOOK_FOLDER = pathlib.Path("/tmp/k8s-webhook-server/serving-certs")  # noqa: S108  # where siblings mount theirs

_HERE = pathlib.Path(__file__).resolve()
# ansible.cfg, playbooks and roles: part of the package when that is installed, else of the tree that it lies in.
PROJECT = next(path for path in (_HERE.parent / "project", _HERE.parents[2]) if (path / "playbooks").is_dir())
PLAYBOOK = PROJECT / "playbooks" / "reconcile.yml"

_DURATION_UNITS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}
_DURATION_PART = re.compile(r"(\d+(?:\.\d*)?|\.\d+)(ns|us|µs|ms|s|m|h)")
_GO_FLAG = re.compile(r"-[a-z][a-z-]+(=.*)?", re.DOTALL)
_OBJECT = re.compile(r"[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?")
_NAMESPACE = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")


@dataclasses.dataclass(frozen=True, kw_only=True)
class Address:
    """Where a server listens; an empty host means every address of the machine."""

    host: str
    port: int


@dataclasses.dataclass(frozen=True, kw_only=True)
class Settings:
    """What the command line said. Times are in seconds; an address of None means that the server is off."""

    metrics_bind_address: Address | None
    health_probe_bind_address: Address | None
    leader_elect: bool
    leader_election_namespace: str
    sync_period: float
    namespace: str
    max_concurrent_reconciles: int
    default_image_pull_policy: str
    clusters_namespace: str
    playbook: pathlib.Path
    private_data_dir: pathlib.Path | None
    warm_engine: bool
    pass_timeout: float
    shutdown_grace: float
    zap_devel: bool
    zap_log_level: str
    zap_encoder: str
    enable_webhooks: bool
    webhook_bind_address: Address | None
    webhook_cert_path: pathlib.Path
    webhook_self_signed: bool
    webhook_configuration_name: str
    webhook_secret_name: str


def duration(text: str) -> float:
    """Seconds of a duration in Go's notation (`10m`, `1h30m`, `300ms`, `0`)."""
    if text in ("0", "+0"):
        return 0.0
    parts = _DURATION_PART.findall(text)
    if not parts or "".join(number + unit for number, unit in parts) != text.removeprefix("+"):
        raise argparse.ArgumentTypeError(f"{text!r} is not a duration: write it as 30s, 10m or 1h30m")
    return sum(float(number) * _DURATION_UNITS[unit] for number, unit in parts)


def positive_duration(text: str) -> float:
    """Like `duration`, but zero is refused."""
    seconds = duration(text)
    if seconds <= 0:
        raise argparse.ArgumentTypeError(f"{text!r} must be longer than nothing, for example 10m")
    return seconds


def address(text: str) -> Address | None:
    """The address of `:8080`, `127.0.0.1:8080` or `[::1]:8080`; None for `0`, which turns the server off."""
    if text in ("", "0"):
        return None
    host, colon, port = text.rpartition(":")
    if not colon or not port.isdecimal() or int(port) > 65535:
        raise argparse.ArgumentTypeError(
            f"{text!r} is not an address: write it as :8080 or 127.0.0.1:8080, or 0 for off"
        )
    if host.startswith("[") and host.endswith("]"):
        host = host[1:-1]
    elif ":" in host:
        raise argparse.ArgumentTypeError(f"{text!r}: an IPv6 address goes in brackets, as in [::1]:8080")
    return Address(host=host, port=int(port))


def boolean(text: str) -> bool:
    """The truth values that Go's flag package knows."""
    if text in ("1", "t", "T", "TRUE", "true", "True"):
        return True
    if text in ("0", "f", "F", "FALSE", "false", "False"):
        return False
    raise argparse.ArgumentTypeError(f"{text!r} is neither true nor false")


def _count(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} must be a whole number of at least 1")
    return int(text)


def _pull_policy(text: str) -> str:
    if text and text not in PULL_POLICIES:
        raise argparse.ArgumentTypeError(
            f"{text!r} must be one of {', '.join(PULL_POLICIES)}, or empty for the rule by tag"
        )
    return text


def _namespace(text: str) -> str:
    if text and not _NAMESPACE.fullmatch(text):
        raise argparse.ArgumentTypeError(f"{text!r} is not the name of a namespace")
    return text


def _object_name(text: str) -> str:
    if not _OBJECT.fullmatch(text):
        raise argparse.ArgumentTypeError(f"{text!r} is not the name of an object")
    return text


def _log_level(text: str) -> str:
    if text not in ("debug", "info", "error") and not (text.isdecimal() and int(text) > 0):
        raise argparse.ArgumentTypeError(
            f"{text!r} must be debug, info, error, or a whole number above 0 for more detail"
        )
    return text


def _playbook(text: str) -> pathlib.Path:
    path = pathlib.Path(text).absolute()
    if not path.is_file():
        raise argparse.ArgumentTypeError(f"there is no file {text!r}: name the playbook that a pass runs")
    return path


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="nova-compute-operator",
        description="Watches NovaComputes and runs a pass of the playbook over each when one is due.",
        allow_abbrev=False,
    )

    def switch(name: str, *, default: bool, text: str) -> None:
        parser.add_argument(
            name,
            type=boolean,
            nargs="?",
            const=True,
            default=default,
            metavar="true|false",
            help=f"{text} (%(default)s)",
        )

    add = parser.add_argument
    add("--metrics-bind-address", type=address, default=":8080", help="where /metrics is served; 0 = off (%(default)s)")
    add(
        "--health-probe-bind-address",
        type=address,
        default=":8081",
        help="where /healthz and /readyz are served; 0 = off (%(default)s)",
    )
    switch("--leader-elect", default=False, text=f"run passes only while holding the Lease {LEASE_NAME}")
    add(
        "--leader-election-namespace",
        type=_namespace,
        default="",
        help="the namespace of that Lease (the operator's own; outside a cluster that of --namespace, else default)",
    )
    switch("--enable-webhooks", default=True, text="serve the admission webhooks once there is a certificate for them")
    add("--webhook-bind-address", type=address, default=":9443", help="where they are served (%(default)s)")
    add(
        "--webhook-cert-path",
        type=lambda text: pathlib.Path(text).absolute(),
        default=str(WEBHOOK_FOLDER),
        help="the folder of their tls.crt and tls.key (%(default)s)",
    )
    switch(
        "--webhook-self-signed", default=False, text="make and renew that certificate, and let the API server trust it"
    )
    add(
        "--webhook-configuration-name",
        type=_object_name,
        default="nova-compute-operator",
        help="the mutating and the validating webhook configuration that are to trust it (%(default)s)",
    )
    add(
        "--webhook-secret-name",
        type=_object_name,
        default="nova-compute-operator-webhook-cert",
        help="the Secret that it is kept in, in the namespace of the Lease (%(default)s)",
    )
    add(
        "--sync-period",
        type=positive_duration,
        default="10m",
        help="each pool is looked at this often at least (%(default)s)",
    )
    add("--namespace", type=_namespace, default="", help="watch only this namespace (all of them)")
    add(
        "--clusters-namespace",
        type=_namespace,
        default="c5c3-clusters",
        help="where target clusters are registered; empty = none is served (%(default)s)",
    )
    add("--max-concurrent-reconciles", type=_count, default="2", help="passes that run at one time (%(default)s)")
    add(
        "--default-image-pull-policy",
        type=_pull_policy,
        default="",
        help=f"pull policy of images that name none: {', '.join(PULL_POLICIES)} (empty: the rule by tag)",
    )
    add("--playbook", type=_playbook, default=str(PLAYBOOK), help="what a pass runs (%(default)s)")
    add(
        "--private-data-dir",
        type=lambda text: pathlib.Path(text).absolute(),
        default=None,
        help="where passes keep their files, best in memory (a fresh folder below $TMPDIR)",
    )
    switch("--warm-engine", default=True, text="fork passes from a process that has Ansible loaded; else start it anew")
    add("--pass-timeout", type=positive_duration, default="10m", help="a pass that takes longer is ended (%(default)s)")
    add(
        "--shutdown-grace",
        type=duration,
        default="20s",
        help="how long running passes may go on after SIGTERM (%(default)s)",
    )
    switch("--zap-devel", default=False, text="log for a person: console lines, at level debug")
    add("--zap-log-level", type=_log_level, default=None, help="debug, info, error or a number above 0 (info)")
    add("--zap-encoder", choices=("json", "console"), default=None, help="form of the log lines (json)")
    return parser


def parse(arguments: Sequence[str]) -> Settings:
    """The settings of a command line. Ends the process with status 2 and a message when a value is wrong."""
    # Go takes one dash as well as two; argparse would read `-namespace` as a cluster of one-letter flags.
    given = _parser().parse_args(["-" + word if _GO_FLAG.fullmatch(word) else word for word in arguments])
    return Settings(
        metrics_bind_address=given.metrics_bind_address,
        health_probe_bind_address=given.health_probe_bind_address,
        leader_elect=given.leader_elect,
        leader_election_namespace=given.leader_election_namespace or given.namespace,
        sync_period=given.sync_period,
        namespace=given.namespace,
        max_concurrent_reconciles=given.max_concurrent_reconciles,
        default_image_pull_policy=given.default_image_pull_policy,
        clusters_namespace=given.clusters_namespace,
        playbook=given.playbook,
        private_data_dir=given.private_data_dir,
        warm_engine=given.warm_engine,
        pass_timeout=given.pass_timeout,
        shutdown_grace=given.shutdown_grace,
        zap_devel=given.zap_devel,
        zap_log_level=given.zap_log_level or ("debug" if given.zap_devel else "info"),
        zap_encoder=given.zap_encoder or ("console" if given.zap_devel else "json"),
        enable_webhooks=given.enable_webhooks,
        webhook_bind_address=given.webhook_bind_address,
        webhook_cert_path=given.webhook_cert_path,
        webhook_self_signed=given.webhook_self_signed,
        webhook_configuration_name=given.webhook_configuration_name,
        webhook_secret_name=given.webhook_secret_name,
    )


def lease_namespace(settings: Settings) -> str:
    """Where the Lease lives: as told, else the namespace that the operator's pod runs in, else `default`."""
    own = pathlib.Path("/var/run/secrets/kubernetes.io/serviceaccount/namespace")
    told = settings.leader_election_namespace or os.environ.get("POD_NAMESPACE", "")
    return told or (own.read_text().strip() if own.is_file() else "default")
