# SPDX-License-Identifier: Apache-2.0
"""The links of the pages beside the site lead somewhere; its build looks at those of the site itself."""

from __future__ import annotations

import itertools
import pathlib
import re
from collections.abc import Iterator
from urllib import parse

import markdown_it
import pages
import pytest
from markdown_it import token as tokens

SITE = pages.TREE / "docs"


def parsed(path: pathlib.Path) -> list[tokens.Token]:
    return markdown_it.MarkdownIt().enable("table").parse(path.read_text(encoding="utf-8"))


def links(path: pathlib.Path) -> Iterator[str]:
    """Where the links and pictures of a page lead."""
    for block in parsed(path):
        for inline in block.children or ():
            for name in ("href", "src"):
                if name in inline.attrs:
                    yield str(inline.attrs[name])


def anchors(path: pathlib.Path) -> set[str]:
    """The anchors of a page's headings, as GitHub and the site make them."""
    found = parsed(path)
    headings = [inline for before, inline in itertools.pairwise(found) if before.type == "heading_open"]
    texts = ["".join(part.content for part in heading.children or ()) for heading in headings]
    return {re.sub(r"[^\w\s-]", "", text).strip().lower().replace(" ", "-") for text in texts}


def broken(path: pathlib.Path) -> list[str]:
    """The links of a page that lead nowhere in the tree."""
    found = []
    for link in links(path):
        parts = parse.urlsplit(link)
        if parts.scheme:
            continue
        target = path.parent / parse.unquote(parts.path) if parts.path else path
        is_there = target.exists() and target.resolve().is_relative_to(pages.TREE)
        if not is_there or (parts.fragment and parts.fragment not in anchors(target)):
            found.append(link)
    return found


def test_links_beside_the_site_lead_somewhere() -> None:
    found = [path for path in pages.files("*.md") if not path.is_relative_to(SITE)]
    assert pages.TREE / "README.md" in found
    assert [link for path in found for link in links(path)]
    assert {str(path.relative_to(pages.TREE)): wrong for path in found if (wrong := broken(path))} == {}


@pytest.mark.parametrize(
    ("link", "leads"),
    [
        ("other.md", True),
        ("other.md#two-words-done", True),
        ("#here", True),
        ("https://example.org/", True),
        ("no.md", False),
        ("other.md#three", False),
        ("#there", False),
        ("/other.md", False),
    ],
)
def test_link_that_leads_nowhere_is_found(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch, link: str, *, leads: bool
) -> None:
    monkeypatch.setattr(pages, "TREE", tmp_path)
    (tmp_path / "other.md").write_text("# Two `words`, done\n", encoding="utf-8")
    page = tmp_path / "page.md"
    page.write_text(f"# Here\n\n| a |\n| --- |\n| [x]({link}) |\n", encoding="utf-8")
    assert broken(page) == ([] if leads else [link])
