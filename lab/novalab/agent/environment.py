# SPDX-License-Identifier: Apache-2.0
"""The environment and the words of a container's command line, as a kubelet makes them. Pure, given the sources."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

#: The data of a Secret or a ConfigMap by kind ("secrets", "configmaps"), name and optional; empty if that and absent.
Source = Callable[[str, str, bool], Mapping[str, bytes]]

_KINDS = {
    "secretRef": "secrets",
    "configMapRef": "configmaps",
    "secretKeyRef": "secrets",
    "configMapKeyRef": "configmaps",
}
_SUBSCRIPT = re.compile(r"metadata\.(labels|annotations)\['(.+)'\]")


class ConfigError(Exception):
    """The container cannot be described: a reference leads nowhere. The text becomes its waiting message."""


def expand(text: str, values: Mapping[str, str]) -> str:
    """``text`` with each $(NAME) replaced. An unknown name stays as written; $$ stands for one dollar sign."""
    done: list[str] = []
    position = 0
    while position < len(text):
        rest = text[position:]
        if rest.startswith("$$"):
            done.append("$")
            position += 2
        elif rest.startswith("$(") and ")" in rest:
            name = rest[2 : rest.index(")")]
            done.append(values.get(name, f"$({name})"))
            position += len(name) + 3
        else:
            done.append(rest[0])
            position += 1
    return "".join(done)


def field(pod: Mapping[str, Any], node_address: str, path: str) -> str:
    """The value of a fieldRef. Raises ConfigError for a path that the downward API does not offer."""
    if path in ("status.hostIP", "status.podIP", "status.hostIPs", "status.podIPs"):
        return node_address
    if match := _SUBSCRIPT.fullmatch(path):
        return str((pod["metadata"].get(match[1]) or {}).get(match[2], ""))
    if path in ("metadata.labels", "metadata.annotations"):
        pairs = pod["metadata"].get(path.partition(".")[2]) or {}
        return "\n".join(f'{key}="{value}"' for key, value in sorted(pairs.items()))
    if path in ("metadata.name", "metadata.namespace", "metadata.uid", "spec.nodeName", "spec.serviceAccountName"):
        part, _, key = path.partition(".")
        return str(pod[part].get(key, ""))
    raise ConfigError(f"fieldRef {path} is not served by this agent")


def build(
    container: Mapping[str, Any],
    base: Mapping[str, str],
    source: Source,
    field_of: Callable[[str], str],
) -> dict[str, str]:
    """The environment of a container: ``base``, then envFrom, then env, later ones over earlier ones.

    Raises ConfigError when a key that is not optional is missing.
    """
    values = dict(base)
    for entry in container.get("envFrom") or []:
        prefix = entry.get("prefix") or ""
        for key, reference in _references(entry):
            data = source(_KINDS[key], reference["name"], bool(reference.get("optional")))
            values.update({prefix + name: value.decode() for name, value in data.items()})
    for entry in container.get("env") or []:
        value = _value(entry, values, source, field_of)
        if value is not None:
            values[entry["name"]] = value
    return values


def command(container: Mapping[str, Any], values: Mapping[str, str]) -> list[str]:
    """The words to run. Raises ConfigError without any, because the lab's image has no entrypoint of its own."""
    words: Sequence[str] = [*(container.get("command") or []), *(container.get("args") or [])]
    if not words:
        raise ConfigError("no command given: images of the lab have no entrypoint, so name a command")
    return [expand(word, values) for word in words]


def _references(entry: Mapping[str, Any]) -> list[tuple[str, Mapping[str, Any]]]:
    return [(key, entry[key]) for key in _KINDS if entry.get(key)]


def _value(
    entry: Mapping[str, Any], values: Mapping[str, str], source: Source, field_of: Callable[[str], str]
) -> str | None:
    origin = entry.get("valueFrom")
    if not origin:
        return expand(entry.get("value") or "", values)
    if "fieldRef" in origin:
        return field_of(origin["fieldRef"]["fieldPath"])
    for key, reference in _references(origin):
        optional = bool(reference.get("optional"))
        data = source(_KINDS[key], reference["name"], optional)
        if reference["key"] in data:
            return data[reference["key"]].decode()
        if not optional:
            raise ConfigError(f"couldn't find key {reference['key']} in {_KINDS[key][:-1]} {reference['name']}")
        return None
    raise ConfigError(f"environment variable {entry['name']}: this agent knows no {', '.join(origin)}")
