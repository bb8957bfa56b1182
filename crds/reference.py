# SPDX-License-Identifier: Apache-2.0
"""Writes docs/crd.md from the CRD, so that the reference and the schema cannot part.

`python crds/reference.py --write` writes the file; without `--write` the text goes to the standard output.
"""

from __future__ import annotations

import argparse
import pathlib
import sys
from collections.abc import Iterator, Mapping
from typing import Any

import yaml

ROOT = pathlib.Path(__file__).resolve().parents[1]
CRD_FILE = ROOT / "crds" / "nova.openstack.c5c3.io_novacomputes.yaml"
REFERENCE_FILE = ROOT / "docs" / "crd.md"

BOUNDS = {
    "minLength": "at least {} characters",
    "maxLength": "at most {} characters",
    "minProperties": "at least {} entries",
    "maxProperties": "at most {} entries",
    "maxItems": "at most {} items",
    "minimum": "at least {}",
}
SINGULAR = {"at least 1 characters": "not empty", "at least 1 entries": "at least 1 entry"}


def load() -> dict[str, Any]:
    """The CRD as the file has it."""
    loaded: dict[str, Any] = yaml.safe_load(CRD_FILE.read_text(encoding="utf-8"))
    return loaded


def type_name(schema: Mapping[str, Any]) -> str:
    """The type of a field in the words of a person: `list of string`, `map of string to quantity`, `int or string`."""
    if schema.get("x-kubernetes-int-or-string"):
        return "quantity" if "pattern" in schema else "int or string"
    if schema["type"] == "array":
        return f"list of {type_name(schema['items'])}"
    if "additionalProperties" in schema:
        return f"map of string to {type_name(schema['additionalProperties'])}"
    return str(schema.get("format", schema["type"]))


def limits(schema: Mapping[str, Any]) -> Iterator[str]:
    """What the API server refuses at this field, in sentences without a full stop."""
    if "enum" in schema:
        yield "one of " + ", ".join(f"`{value}`" for value in schema["enum"])
    for keyword, words in BOUNDS.items():
        if keyword in schema:
            text = words.format(schema[keyword])
            yield SINGULAR.get(text, text)
    if "pattern" in schema and not schema.get("x-kubernetes-int-or-string"):
        # A bar would end the cell of the table, in code too.
        yield "matches `{}`".format(schema["pattern"].replace("|", "\\|"))
    if schema.get("x-kubernetes-list-type") == "set":
        yield "no item twice"
    if keys := schema.get("x-kubernetes-list-map-keys"):
        yield f"one item for each `{'`, `'.join(keys)}`"
    if schema.get("type") == "array":
        yield from (f"each item: {limit}" for limit in limits(schema["items"]) if "properties" not in schema["items"])
    yield from (f"*{rule['message']}*" for rule in schema.get("x-kubernetes-validations", []))


def rows(schema: Mapping[str, Any], path: str) -> Iterator[str]:
    """The rows of the table for the fields below a schema, depth first, in the order of the file."""
    required = schema.get("required", [])
    for name, field in schema.get("properties", {}).items():
        below = f"{path}.{name}"
        default = field.get("default")
        cells = [
            f"`{below}`",
            type_name(field),
            "yes" if name in required else "",
            "" if default is None else f"`{default}`",
            "; ".join(dict.fromkeys(limits(field))),
            field["description"],
        ]
        yield f"| {' | '.join(cells)} |"
        yield from rows(field, below)
        if field.get("type") == "array":
            item = field["items"]
            rules = "; ".join(limits(item))
            if rules and "properties" in item:
                yield f"| `{below}[]` | object | | | {rules} | {item['description']} |"
            yield from rows(item, f"{below}[]")


def table(schema: Mapping[str, Any], part: str) -> Iterator[str]:
    yield "| Field | Type | Required | Default | Refused unless | Meaning |"
    yield "|---|---|---|---|---|---|"
    yield from rows(schema["properties"][part], part)


def reference(crd: Mapping[str, Any]) -> str:
    """The text of docs/crd.md for a CRD."""
    names = crd["spec"]["names"]
    (version,) = crd["spec"]["versions"]
    schema = version["schema"]["openAPIV3Schema"]
    lines = [
        "<!-- SPDX-License-Identifier: Apache-2.0 -->",
        "<!-- Written from the CRD. To change it, change the CRD and run: python crds/reference.py --write -->",
        f"# {names['kind']}",
        "",
        schema["description"],
        "",
        f"`{crd['spec']['group']}/{version['name']}`, in a namespace. `kubectl get {names['plural']}`, or",
        f"`{names['shortNames'][0]}` for short; `kubectl explain {names['singular']}.spec` says what stands here.",
        "",
        "## Columns of `kubectl get`",
        "",
        "| Column | From |",
        "|---|---|",
        *(f"| {column['name']} | `{column['jsonPath']}` |" for column in version["additionalPrinterColumns"]),
        "",
        "## Spec",
        "",
        "Words in *italics* are what the API server answers when it refuses.",
        "",
        *(f"- `spec`: *{message}*" for message in spec_rules(schema)),
        "",
        *table(schema, "spec"),
        "",
        "## Status",
        "",
        *table(schema, "status"),
    ]
    return "\n".join(lines) + "\n"


def spec_rules(schema: Mapping[str, Any]) -> list[str]:
    """The messages of the rules that look at the whole spec, each once."""
    return list(dict.fromkeys(rule["message"] for rule in schema["properties"]["spec"]["x-kubernetes-validations"]))


def main() -> None:
    parser = argparse.ArgumentParser(description="The reference of the NovaCompute CRD, as Markdown.")
    parser.add_argument("--write", action="store_true", help=f"write it to {REFERENCE_FILE.relative_to(ROOT)}")
    text = reference(load())
    if parser.parse_args().write:
        REFERENCE_FILE.write_text(text, encoding="utf-8")
    else:
        sys.stdout.write(text)


if __name__ == "__main__":
    main()
