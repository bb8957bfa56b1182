# SPDX-License-Identifier: Apache-2.0
"""The command line: names, defaults and spelling that manifests of sibling operators use."""

from __future__ import annotations

import pathlib

import pytest
from nova_compute_operator import settings


@pytest.fixture
def playbook(tmp_path: pathlib.Path) -> str:
    path = tmp_path / "reconcile.yml"
    path.write_text("[]")
    return f"--playbook={path}"


def refusal(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    with pytest.raises(SystemExit) as ended:
        settings.parse(arguments)
    assert ended.value.code == 2
    return capsys.readouterr().err


def test_defaults_are_those_of_sibling_operators(playbook: str) -> None:
    told = settings.parse([playbook])
    assert told.metrics_bind_address == settings.Address(host="", port=8080)
    assert told.health_probe_bind_address == settings.Address(host="", port=8081)
    assert (told.leader_elect, told.sync_period, told.namespace) == (False, 600.0, "")
    assert (told.max_concurrent_reconciles, told.default_image_pull_policy) == (2, "")
    assert (told.zap_log_level, told.zap_encoder, told.pass_timeout) == ("info", "json", 600.0)


@pytest.mark.parametrize("dash", ["-", "--"])
def test_one_dash_and_two_dashes_mean_the_same(playbook: str, dash: str) -> None:
    told = settings.parse(
        [playbook, f"{dash}leader-elect=true", f"{dash}namespace=openstack", f"{dash}sync-period", "1h"]
    )
    assert (told.leader_elect, told.namespace, told.sync_period) == (True, "openstack", 3600.0)


@pytest.mark.parametrize(
    ("text", "truth"), [("--leader-elect", True), ("--leader-elect=true", True), ("--leader-elect=false", False)]
)
def test_a_switch_takes_a_truth_value_or_none(playbook: str, text: str, truth: bool) -> None:  # noqa: FBT001
    assert settings.parse([text, playbook]).leader_elect is truth


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("10m", 600.0), ("1h30m", 5400.0), ("300ms", 0.3), ("1.5h", 5400.0), ("0", 0.0), ("90s", 90.0)],
)
def test_durations_are_written_as_in_go(text: str, seconds: float) -> None:
    assert settings.duration(text) == pytest.approx(seconds)


@pytest.mark.parametrize("text", ["10", "10 m", "ten", "-5m", "1h 30m", "", "5d", "m"])
def test_what_go_would_not_read_as_a_duration_is_refused(
    playbook: str, text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert "is not a duration: write it as" in refusal(capsys, playbook, f"--sync-period={text}")


def test_a_pass_needs_some_time(playbook: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert "must be longer than nothing" in refusal(capsys, playbook, "--pass-timeout=0")


@pytest.mark.parametrize(
    ("text", "host", "port"), [(":8080", "", 8080), ("127.0.0.1:0", "127.0.0.1", 0), ("[::1]:9443", "::1", 9443)]
)
def test_addresses_are_written_as_in_go(text: str, host: str, port: int) -> None:
    assert settings.address(text) == settings.Address(host=host, port=port)


def test_an_address_of_zero_turns_the_server_off() -> None:
    assert settings.address("0") is None


@pytest.mark.parametrize("text", ["8080", ":", ":70000", "::1:80", "host:name"])
def test_what_is_no_address_is_refused(playbook: str, text: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert "argument --metrics-bind-address" in refusal(capsys, playbook, f"--metrics-bind-address={text}")


@pytest.mark.parametrize("policy", ["", "Always", "IfNotPresent", "Never"])
def test_pull_policies_of_kubernetes_are_taken(playbook: str, policy: str) -> None:
    assert settings.parse([playbook, f"--default-image-pull-policy={policy}"]).default_image_pull_policy == policy


def test_another_pull_policy_ends_start_up_and_names_the_right_ones(
    playbook: str, capsys: pytest.CaptureFixture[str]
) -> None:
    said = refusal(capsys, playbook, "--default-image-pull-policy=Sometimes")
    assert "'Sometimes' must be one of Always, IfNotPresent, Never" in said


@pytest.mark.parametrize("count", ["0", "-1", "two", "1.5"])
def test_less_than_one_pass_at_a_time_is_refused(playbook: str, count: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert "at least 1" in refusal(capsys, playbook, f"--max-concurrent-reconciles={count}")


def test_an_unknown_flag_ends_start_up(playbook: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert "--sync-periods" in refusal(capsys, playbook, "--sync-periods=10m")


def test_a_missing_playbook_ends_start_up(capsys: pytest.CaptureFixture[str]) -> None:
    assert "there is no file '/nonexistent.yml'" in refusal(capsys, "--playbook=/nonexistent.yml")


def test_devel_logging_is_for_a_person_unless_told_otherwise(playbook: str) -> None:
    told = settings.parse([playbook, "--zap-devel"])
    assert (told.zap_log_level, told.zap_encoder) == ("debug", "console")
    told = settings.parse([playbook, "--zap-devel", "--zap-encoder=json", "--zap-log-level=error"])
    assert (told.zap_log_level, told.zap_encoder) == ("error", "json")


@pytest.mark.parametrize(("flags", "namespace"), [([], "c5c3-clusters"), (["--clusters-namespace="], "")])
def test_target_clusters_are_registered_in_one_namespace_or_nowhere(
    playbook: str, flags: list[str], namespace: str
) -> None:
    assert settings.parse([playbook, *flags]).clusters_namespace == namespace


def test_webhooks_are_served_where_sibling_operators_serve_theirs(playbook: str) -> None:
    told = settings.parse([playbook])
    assert (told.enable_webhooks, told.webhook_self_signed) == (True, False)
    assert told.webhook_bind_address == settings.Address(host="", port=9443)
    assert str(told.webhook_cert_path) == "/tmp/k8s-webhook-server/serving-certs"
    assert not settings.parse([playbook, "--enable-webhooks=false"]).enable_webhooks
