# SPDX-License-Identifier: Apache-2.0
"""Writes the pages and pictures of the reference from their sources, so that what a reader sees and what runs agree.

`python docs/reference.py --write` writes them; without `--write` it names those that are old, and fails if any is.
docs/crd.md and docs/conditions.md have programs of their own: crds/reference.py and docs/conditions.py.
"""

from __future__ import annotations

import argparse
import ast
import inspect
import pathlib
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import yaml

HERE = pathlib.Path(__file__).resolve().parent
for folder in (HERE, HERE.parent / "tests", HERE.parent / "tools"):
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))

import ansible_versions  # noqa: E402 - the folders are known only now
import pictures  # noqa: E402
import published_metrics  # noqa: E402
from nova_compute_operator import settings, unfinished  # noqa: E402

PLUGINS = HERE.parent / "collections" / "ansible_collections" / "c5c3" / "nova" / "plugins"
OPERATOR = HERE.parent / "operator" / "nova_compute_operator"
ROLES = HERE.parent / "roles"
HEAD = (
    "<!-- SPDX-License-Identifier: Apache-2.0 -->\n"
    "<!-- Written from the code by: python docs/reference.py --write -->\n"
    "# {title}\n\n{about}\n\n"
)

Row = tuple[str, ...]


def files() -> dict[pathlib.Path, str]:
    """Every file of the reference with its text."""
    pages = {"flags": flags(), "metrics": metrics(), "events": events(), "modules": modules(), "roles": roles()}
    return {
        **{HERE / "reference" / f"{name}.md": text.rstrip() + "\n" for name, text in pages.items()},
        HERE / "reference" / "ansible-core.md": versions_of_ansible().rstrip() + "\n",
        HERE / "reference" / "phases.md": phases().rstrip() + "\n",
        HERE / "reference" / "phases.svg": pictures.phases_picture(),
        HERE / "reference" / "pass.svg": pictures.pass_picture(),
    }


def phases() -> str:
    head = HEAD.format(
        title="Phases of a node",
        about="What the rules of the operator make of a node's entry in `status.nodes`, found by trying each situation "
        "on each phase.\n\n![The phases of a node in a pool](phases.svg)",
    )
    moves = [
        (str(number), f"{before} → {after}", pictures.SITUATIONS[number - 1].text)
        for before, after, number in sorted(pictures.transitions(), key=lambda move: move[2])
    ]
    return head + table(("", "move", "when"), moves)


def versions_of_ansible() -> str:
    head = HEAD.format(
        title="Versions of ansible-core",
        about="What the collection's modules, plugins and roles run with. The operator and its image bring their own: "
        "2.19, the last for Python 3.11. 2.18 and older are refused: they would evaluate a template that stands in the "
        "text of a resource.",
    )
    rows = [
        (release.name, release.oldest, ", ".join(release.pythons), release.tested)
        for release in ansible_versions.RELEASES
    ]
    tail = "\n`make test-versions` runs them. 2.19 is also what every other test runs with, on Python 3.11.\n"
    return head + table(("ansible-core", "from", "Python", "tested on"), rows) + tail


def flags() -> str:
    parser = settings._parser()  # noqa: SLF001 - the parser is what --help prints
    rows = []
    for action in parser._actions:  # noqa: SLF001 - argparse has no other way to ask
        if action.option_strings and action.dest != "help":
            text = re.sub(r" \(%\(default\)s\)", "", action.help or "").replace("%%", "%")
            default = "" if action.default is None else str(action.default).replace(str(settings.PROJECT), "<project>")
            default = {"True": "true", "False": "false"}.get(default, default)
            rows.append((f"`{action.option_strings[0]}`", f"`{default}`" if default else "", text))
    about = "`nova-compute-operator [flags]`. One dash or two, `--flag=value` or `--flag value`; durations as `10m`."
    return HEAD.format(title="Flags of the operator", about=about) + table(("flag", "default", ""), rows)


def metrics() -> str:
    rows = [
        (
            f"`{family.name}{'_total' if family.type == 'counter' else ''}`",
            family.type,
            ", ".join(f"`{label}`" for label in sorted(family.labels)),
            family.text,
        )
        for family in published_metrics.families()
    ]
    about = "At `/metrics` of `--metrics-bind-address`."
    return HEAD.format(title="Metrics", about=about) + table(("metric", "type", "labels", ""), rows)


def events() -> str:
    rows = {
        (f"`{reason}`", kind, message, f"`{path.stem}`")
        for path in (*sorted((PLUGINS / "modules").glob("*.py")), *sorted(OPERATOR.glob("*.py")))
        for kind, reason, message in _events_of(ast.parse(path.read_text(encoding="utf-8")))
    }
    rows |= {(f"`{reason}`", "Warning", "…", "`unfinished`") for reason in unfinished.REASONS.values()}
    about = "About a NovaCompute, from `novacompute-controller`. None is recorded while a pool only waits."
    return HEAD.format(title="Events", about=about) + table(("reason", "type", "message", "from"), sorted(rows))


def _events_of(tree: ast.Module) -> Iterator[Row]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "record_event":
            named = {keyword.arg: keyword.value for keyword in node.keywords if keyword.arg}
            words = [*node.args[1:], *(named[key] for key in ("kind", "reason", "message") if key in named)]
            kind, reason, message = (_text(word) for word in words[:3])
            if reason != "…":
                yield kind, reason, message


def _text(node: ast.expr) -> str:
    """The text of a constant or an f-string, with the names of what is filled in; `…` for what is made elsewhere."""
    if isinstance(node, ast.Constant):
        return str(node.value)
    if isinstance(node, ast.JoinedStr):
        return "".join(
            str(part.value) if isinstance(part, ast.Constant) else f"<{_name(ast.unparse(part.value))}>"  # type: ignore[attr-defined]
            for part in node.values
        )
    return "…"


def _name(code: str) -> str:
    return re.sub(r"\W+", " ", code).strip().split(" ")[-1]


def modules() -> str:
    parts = [
        HEAD.format(
            title="Modules and plug-ins",
            about="Of the collection `c5c3.nova`; `ansible-doc c5c3.nova.<module>` prints the same with examples."
            " Those that talk to a cluster also take `kubeconfig` and `context`.",
        )
    ]
    for path in sorted((PLUGINS / "modules").glob("*.py")):
        documents = _documents(path)
        documentation, returned = documents["DOCUMENTATION"], documents.get("RETURN") or {}
        parts.append(f"## {path.stem}\n\n{_prose(documentation['description'])}\n")
        parts.append(table(("option", "type", "default", ""), _options(_with_shared(documentation))))
        parts.append(table(("returns", "type", ""), _returns(returned)))
    return "\n".join(part for part in parts if part)


def _with_shared(documentation: Mapping[str, Any]) -> dict[str, Any]:
    """The options of a module, with those that it shares with others; how it finds its cluster goes without saying."""
    named = documentation.get("extends_documentation_fragment") or []
    options: dict[str, Any] = {}
    for name in [named] if isinstance(named, str) else named:
        if name != "c5c3.nova.cluster":
            text = (PLUGINS / "doc_fragments" / f"{name.rpartition('.')[2]}.py").read_text(encoding="utf-8")
            options |= yaml.safe_load(text.split('"""')[-2])["options"]
    return options | dict(documentation.get("options") or {})


def roles() -> str:
    about = "The steps of a pass, in their order. Each records one condition, see [Conditions](../conditions.md)."
    parts = [HEAD.format(title="Roles", about=about)]
    for role in pictures.metrics.CONDITION_OF_STEP:
        specification = yaml.safe_load((ROLES / role / "meta" / "argument_specs.yml").read_text(encoding="utf-8"))
        main = specification["argument_specs"]["main"]
        parts.append(f"## {role}\n\n{main['short_description']}.\n\n{_prose(main.get('description') or [])}\n")
        parts.append(table(("variable", "type", "default", ""), _options(main.get("options") or {})))
    return "\n".join(part for part in parts if part)


def _documents(path: pathlib.Path) -> dict[str, Any]:
    found = {}
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if (
            isinstance(node, ast.Assign)
            and isinstance(node.value, ast.Constant)
            and isinstance(node.targets[0], ast.Name)
        ):
            found[node.targets[0].id] = yaml.safe_load(inspect.cleandoc(str(node.value.value)))
    return found


def _options(options: Mapping[str, Mapping[str, Any]]) -> Iterator[Row]:
    for name, option in options.items():
        kind = f"list of {option['elements']}" if "elements" in option else str(option.get("type", "str"))
        default = "required" if option.get("required") else f"`{option['default']}`" if "default" in option else ""
        yield f"`{name}`", kind, default, _prose(option["description"])


def _returns(values: Mapping[str, Mapping[str, Any]]) -> Iterator[Row]:
    for name, value in values.items():
        kind = f"list of {value['elements']}" if "elements" in value else str(value["type"])
        yield f"`{name}`", kind, _prose(value["description"])


def _prose(text: str | Iterable[str]) -> str:
    """Ansible's own mark-up as Markdown, in one paragraph."""
    joined = " ".join((text if isinstance(text, str) else " ".join(text)).split())
    marked = re.sub(r"\b(?:[COVEP]|RV)\(([^()]*(?:\([^()]*\))?[^()]*)\)", r"`\1`", joined)
    return re.sub(r"\b[BI]\(([^)]*)\)", r"*\1*", marked)


def table(titles: Row, rows: Iterable[Row]) -> str:
    """A Markdown table, or nothing without rows."""
    lines = [" | ".join(cell.replace("|", "\\|").replace("<", "&lt;") for cell in row) for row in rows]
    if not lines:
        return ""
    return "\n".join(f"| {line} |" for line in (" | ".join(titles), " | ".join("---" for _ in titles), *lines)) + "\n"


def main(arguments: list[str]) -> int:
    """Write the files, or name those that are old; returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="write the files")
    if parser.parse_args(arguments).write:
        for path, text in files().items():
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, encoding="utf-8")
        return 0
    old = [path.name for path, text in files().items() if not path.exists() or path.read_text(encoding="utf-8") != text]
    print("\n".join(old))
    return 1 if old else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
