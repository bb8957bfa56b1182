# SPDX-License-Identifier: Apache-2.0
"""Prints what the running Python environment, and the Debian below it, consist of, as a CycloneDX document.

    python tools/sbom.py [debian.tsv] > sbom.cdx.json

A line of the file is a package's name, version, architecture and source, as dpkg-query prints them. The document has no
clock and no chance in it: the same environment gives the same text.
"""

from __future__ import annotations

import importlib.metadata
import json
import pathlib
import re
import sys
from collections.abc import Iterable, Iterator
from typing import Any

PRODUCT = "nova-compute-operator"
_LONGEST_LICENCE = 100
_DOC = pathlib.Path("/usr/share/doc")

Component = dict[str, Any]


def python_packages() -> Iterator[Component]:
    """Every distribution of this environment."""
    for found in importlib.metadata.distributions():
        name = re.sub(r"[-_.]+", "-", found.metadata["Name"]).lower()
        yield {
            "type": "application" if name == PRODUCT else "library",
            "name": name,
            "version": found.version,
            "purl": f"pkg:pypi/{name}@{found.version}",
            **licences(found.metadata),
        }


def licences(metadata: importlib.metadata.PackageMetadata) -> Component:
    """What the distribution says of its licence: an SPDX expression, else its short text, else its classifiers."""
    expression = metadata.get("License-Expression")
    if expression:
        return {"licenses": [{"expression": expression}]}
    text = (metadata.get("License") or "").strip()
    if text and len(text) < _LONGEST_LICENCE and "\n" not in text:
        return {"licenses": [{"license": {"name": text}}]}
    classifiers = metadata.get_all("Classifier") or []
    names = [line.rpartition(" :: ")[2] for line in classifiers if line.startswith("License ::")]
    return {"licenses": [{"license": {"name": name}} for name in names]} if names else {}


def debian_packages(lines: Iterable[str], doc: pathlib.Path = _DOC) -> Iterator[Component]:
    """Every package of a list of name, version, architecture and source, with what its copyright file names."""
    rows = [line.rstrip("\n").split("\t") for line in lines]
    for name, version, architecture, source in rows:
        # A slim Debian drops the links that lead from a package's folder to that of another of the same source.
        siblings = [name, *(other for other, _, _, its_source in rows if its_source == source)]
        texts = [doc / sibling / "copyright" for sibling in siblings]
        text = next((path.read_text(encoding="utf-8", errors="replace") for path in texts if path.is_file()), "")
        yield {
            "type": "library",
            "name": name,
            "version": version,
            "purl": f"pkg:deb/debian/{name}@{version}?arch={architecture}",
            "licenses": [
                {"license": {"name": licence}} for licence in debian_licences(text) or [f"as of Debian's {source}"]
            ],
        }


def debian_licences(text: str) -> list[str]:
    """The licences that a copyright file names: its own fields, else the common licences that it points to."""
    fields = set(re.findall(r"^License: *(\S.*?) *$", text, re.MULTILINE))
    return sorted(fields or set(re.findall(r"/usr/share/common-licenses/([\w.-]*\w)", text)))


def document(components: Iterable[Component]) -> Component:
    """The CycloneDX document about the product and its components, which are sorted."""
    described = sorted(components, key=lambda component: component["purl"])
    (product,) = [component for component in described if component["name"] == PRODUCT]
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"component": {**product, "bom-ref": product["purl"]}},
        "components": [{**component, "bom-ref": component["purl"]} for component in described if component != product],
    }


def main(arguments: list[str]) -> int:
    """Print the document; returns the exit code."""
    debian = [line for path in arguments for line in pathlib.Path(path).read_text().splitlines()]
    print(json.dumps(document([*python_packages(), *debian_packages(debian)]), indent=2))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
