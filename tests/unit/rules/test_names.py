# SPDX-License-Identifier: Apache-2.0
"""The names of a pool and its Nova, as long as they may be, where they stand in labels and in names of children."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.c5c3.nova.plugins.module_utils.rules import (
    admission,
    compute_config,
    discovery,
    labels,
    vocabulary,
    vpa,
    workload,
)
from unit.rules import objects

LONGEST = admission.MAX_NAME_LENGTH
#: The most that the name of an object may have.
MOST_OF_NAME = 253


def names_of_every_length() -> list[str]:
    return ["p" * length for length in range(1, LONGEST + 1)] + ["p" * (LONGEST - 2) + ".p", "p" * 46 + "." + "p" * 16]


def pools(**spec: Any) -> list[dict[str, Any]]:
    return [objects.novacompute(name, **spec) for name in names_of_every_length()]


@pytest.mark.parametrize("placed", [{}, {"targetClusterRef": {"name": "edge"}}], ids=["local", "placed"])
def test_labels_of_a_child_hold_the_name_of_its_pool(placed: dict[str, Any]) -> None:
    for pool in pools(verticalAutoscaling={"updateMode": "Off"}, **placed):
        name = pool["metadata"]["name"]
        autoscaler = vpa.wanted(pool, has_daemon_set=True)
        assert autoscaler is not None
        carried = (workload.labels(name), compute_config.config_map_labels(pool), autoscaler["metadata"]["labels"])
        problems = {value: labels.value_problems(value) for each in carried for value in each.values()}
        assert {value: found for value, found in problems.items() if found} == {}


def test_name_of_a_child_is_no_longer_than_a_name_may_be() -> None:
    for name in names_of_every_length():
        assert len(compute_config.config_map_name(name, "")) <= MOST_OF_NAME
        assert len(workload.name(name)) <= MOST_OF_NAME


def test_name_that_fits_stands_whole_in_the_label_of_the_config_maps() -> None:
    assert compute_config.config_map_base("p" * 56) == "p" * 56 + "-config"


def test_longer_names_are_told_apart_in_the_label_of_the_config_maps() -> None:
    long = ["p" * 62 + end for end in "abc"] + ["p" * 57]
    assert len({compute_config.config_map_base(name) for name in long}) == len(long)


def test_config_maps_are_listed_by_a_label_that_they_carry() -> None:
    for pool in pools():
        carried = compute_config.config_map_labels(pool)
        assert carried[vocabulary.CONFIG_BASE_LABEL] == compute_config.config_map_base(pool["metadata"]["name"])


def test_config_map_of_a_long_name_is_named_after_the_whole_pool() -> None:
    assert compute_config.config_map_name("p" * LONGEST, "").startswith("p" * LONGEST + "-config-")


def test_job_of_a_nova_of_any_length_has_a_name_that_a_label_of_its_pods_holds() -> None:
    for name in names_of_every_length():
        assert labels.value_problems(discovery.job_name(name)) == []
