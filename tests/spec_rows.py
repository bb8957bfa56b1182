# SPDX-License-Identifier: Apache-2.0
"""Rows of the specification's tables that are no table in the product: read from its source and from the CRD."""

from __future__ import annotations

import ast
import importlib
import inspect
import pathlib
import re
from collections.abc import Iterator, Mapping
from types import ModuleType
from typing import Any

import yaml
from ansible_collections.c5c3.nova.plugins.module_utils.rules import violations

ROOT = pathlib.Path(__file__).resolve().parents[1]
PLUGINS = ROOT / "collections" / "ansible_collections" / "c5c3" / "nova" / "plugins"
RULES = "ansible_collections.c5c3.nova.plugins.module_utils.rules"
CRD_FILE = ROOT / "crds" / "nova.openstack.c5c3.io_novacomputes.yaml"

#: Schema is what one field may hold: its keywords and their values.
Schema = Mapping[str, Any]

# What a keyword says besides bounds: the shape of a field, which is tested with every field of that shape.
_SHAPE = {
    "description",
    "type",
    "properties",
    "items",
    "additionalProperties",
    "anyOf",
    "x-kubernetes-int-or-string",
    "x-kubernetes-list-map-keys",
}
# Two writers may replace an atomic list, and nothing is refused. Every integer of the API has 64 bits.
_NO_BOUND = {("x-kubernetes-list-type", "atomic"), ("format", "int64")}


def recorded_events(folder: pathlib.Path = PLUGINS / "modules") -> list[str]:
    """The reasons of the events that modules record, sorted."""
    found = {
        argument.value
        for path in sorted(folder.glob("*.py"))
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "record_event"
        for argument in node.args[2:3]
        if isinstance(argument, ast.Constant) and isinstance(argument.value, str)
    }
    return sorted(found)


# --- what the API server refuses or fills in by the schema


def schema_rules() -> dict[tuple[str, str], str]:
    """(field, keyword), or (field, CEL rule), to the message of a CEL rule and nothing for a keyword.

    A field that has to be there has the keyword ``required``.
    """
    crd = yaml.safe_load(CRD_FILE.read_text(encoding="utf-8"))
    (version,) = crd["spec"]["versions"]
    return {
        (path, rule): message
        for path, schema in schemas(version["schema"]["openAPIV3Schema"])
        for path, rule, message in _rules(path, schema)
    }


def schemas(schema: Schema, path: str = "") -> Iterator[tuple[str, Schema]]:
    """Every schema of a CRD with its path: `spec.traits`, `spec.traits[]` for its items, `.*` for a map's values."""
    yield path, schema
    for name, field in schema.get("properties", {}).items():
        yield from schemas(field, f"{path}.{name}".lstrip("."))
    if "items" in schema:
        yield from schemas(schema["items"], f"{path}[]")
    if "additionalProperties" in schema:
        yield from schemas(schema["additionalProperties"], f"{path}.*")


def _rules(path: str, schema: Schema) -> Iterator[tuple[str, str, str]]:
    for keyword, value in schema.items():
        if keyword == "required":
            yield from ((f"{path}.{name}".lstrip("."), keyword, "") for name in value)
        elif keyword == "x-kubernetes-validations":
            yield from ((path, rule["rule"], rule["message"]) for rule in value)
        elif keyword not in _SHAPE and (keyword, str(value)) not in _NO_BOUND:
            yield path, keyword, ""


# --- what the webhook refuses

#: How a message begins that another function makes.
_TOLD = "what "
# A function that makes a violation to the place of its message, or of what the message is made of.
_KINDS = {
    name: len(inspect.signature(kind).parameters) - 1
    for name, kind in vars(violations).items()
    if inspect.isfunction(kind) and kind.__annotations__["return"] == "Violation"
}


def webhook_rules() -> list[tuple[str, str]]:
    """(module, message) of every violation that the rules can find; ``<name>`` stands for what is filled in."""
    found = set()
    for path in sorted((PLUGINS / "module_utils" / "rules").glob("*.py")):
        module = importlib.import_module(f"{RULES}.{path.stem}")
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for message, names in _messages(tree, {}):
            found |= {(path.stem, text) for text in _texts(message, names, module)}
    return sorted(found)


def pattern(message: str) -> re.Pattern[str]:
    """What a message of :func:`webhook_rules` can read when everything is filled in."""
    if message.startswith(_TOLD):
        return re.compile(".+", re.DOTALL)
    return re.compile(re.sub(r"<\w+>", ".*", re.escape(message)), re.DOTALL)


def _messages(node: ast.AST, names: Mapping[str, ast.AST]) -> Iterator[tuple[ast.expr, Mapping[str, ast.AST]]]:
    """The argument of each violation that is its message, and what the names around it stand for."""
    if isinstance(node, ast.Module):
        names = {each.name: each for each in node.body if isinstance(each, ast.FunctionDef)}
    elif isinstance(node, ast.FunctionDef):
        assigned = [each for each in ast.walk(node) if isinstance(each, ast.Assign)]
        names = {**names, **{name: each.value for each in assigned for name in _names(*each.targets)}}
    elif isinstance(node, ast.GeneratorExp | ast.ListComp):
        names = {**names, **{name: each.iter for each in node.generators for name in _names(each.target)}}
    elif isinstance(node, ast.Call) and ast.unparse(node.func) in {f"violations.{kind}" for kind in _KINDS}:
        yield node.args[_KINDS[ast.unparse(node.func).rpartition(".")[2]]], names
    for child in ast.iter_child_nodes(node):
        yield from _messages(child, names)


def _names(*targets: ast.expr) -> Iterator[str]:
    yield from (each.id for target in targets for each in ast.walk(target) if isinstance(each, ast.Name))


def _texts(node: ast.AST, names: Mapping[str, ast.AST], module: ModuleType) -> list[str]:
    """What a message can read."""
    if isinstance(node, ast.Name) and node.id in names:
        return _texts(names[node.id], names, module)
    if isinstance(node, ast.JoinedStr):
        return [_part(node, module)]
    if isinstance(node, ast.Call):
        teller = ast.unparse(node.func)
        returned = [each.value for each in ast.walk(names.get(teller, node)) if isinstance(each, ast.Return)]
        told = [_part(each, module) for each in returned if isinstance(each, ast.JoinedStr)]
        owner = "" if "." in teller else f"{module.__name__.rpartition('.')[2]}."
        return told or [f"{_TOLD}{owner}{teller} says"]
    value = _evaluated(node, module)
    # Unsupported values have no message of their own, but name the supported ones.
    return [value if isinstance(value, str) else violations.not_supported("", "", value).message]


def _part(node: ast.AST, module: ModuleType) -> str:
    """Text as it stands, a constant of the module as its value, and everything else by its name."""
    if isinstance(node, ast.JoinedStr):
        return "".join(_part(part, module) for part in node.values)
    if not isinstance(node, ast.FormattedValue):
        return str(_evaluated(node, module))
    try:
        return str(_evaluated(node.value, module))
    except NameError:
        return f"<{ast.unparse(node.value).rpartition('.')[2]}>"


def _evaluated(node: ast.AST, module: ModuleType) -> Any:
    """Raises NameError for what is known only when the rule runs."""
    return eval(ast.unparse(node), {**vars(module), "__builtins__": {}})
