"""Docs that can't drift: what they name exists, what they promise has its test."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache

from tests.meta.tree import ROOT, files, syntax, text, verdict

MAP = "docs/architecture.md"
GUARANTEES = "docs/guarantees.md"
FRAGMENT = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*\.(?:added|changed|fixed|removed|security)\.md")

REFERENCE = re.compile(r"([\w][\w./-]*\.py)::(\w+(?:(?:\.|::)\w+)*)")
LINK = re.compile(r"\]\((?!\w+:|#)([^)#\s]+)")


def references(document: str) -> list[tuple[str, str]]:
    """The ``path::symbol`` pairs of a document; ``Class::method`` and ``Class.method`` are one."""
    return [(path, name.replace("::", ".")) for path, name in REFERENCE.findall(text(document))]


@cache
def symbols(path: str) -> frozenset[str]:
    return frozenset(_defined(syntax(path)))


def _defined(body: ast.AST, prefix: str = "") -> Iterator[str]:
    for node in ast.iter_child_nodes(body):
        match node:
            case ast.ClassDef(name=name):
                yield prefix + name
                yield from _defined(node, f"{prefix}{name}.")
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                yield prefix + name
            case ast.AnnAssign(target=ast.Name(id=name)):
                yield prefix + name
            case ast.Assign(targets=targets):
                yield from (prefix + t.id for t in targets if isinstance(t, ast.Name))
            case _:
                pass


def unknown(document: str) -> dict[str, str]:
    """References that lead nowhere."""
    found: dict[str, str] = {}
    for path, name in references(document):
        if path not in files():
            found[f"{path}::{name}"] = "no such file"
        elif name not in symbols(path):
            found[f"{path}::{name}"] = "the file has no such name"
    return found


def test_the_map_is_true() -> None:
    assert references(MAP), f"{MAP} names no path::symbol: it is the map of the journeys"
    verdict(
        f"{MAP} is how a newcomer finds the code, so each path::symbol in it exists.",
        "correct the map in the change that moved the code.",
        unknown(MAP),
    )


def test_each_guarantee_has_its_test() -> None:
    offences = unknown(GUARANTEES)
    offences |= {
        f"{path}::{name}": "isn't a test"
        for path, name in references(GUARANTEES)
        if not (path.startswith("tests/") and name.rsplit(".", 1)[-1].startswith("test_"))
    }
    promises = list(_promises(text(GUARANTEES)))
    assert promises, f"{GUARANTEES} promises nothing"
    offences |= {
        promise[:70]: "names no test" for promise in promises if not REFERENCE.search(promise)
    }
    verdict(
        f"A line in {GUARANTEES} is a promise, and a promise is a test that would fail without it.",
        "name it as tests/…/test_file.py::test_name (a suite's test where the suite is written).",
        offences,
    )


def _promises(content: str) -> Iterator[str]:
    """List items, each with the indented lines that continue it, and table rows but the heads."""
    yield from re.findall(r"^[-*] .*(?:\n {2,}\S.*)*", content, re.MULTILINE)
    without_heads = re.sub(r"^\|.*\n\|[ :|-]+$", "", content, flags=re.MULTILINE)
    yield from re.findall(r"^\|.*", without_heads, re.MULTILINE)


def test_links_between_files_hold() -> None:
    documents = [name for name in files() if name.endswith(".md") and not name.startswith("agent/")]
    offences = {
        f"{name} -> {target}": "no such file"
        for name in documents
        for target in LINK.findall(text(name))
        if not (ROOT / name).parent.joinpath(target).exists()
    }
    verdict("A link in the docs leads somewhere.", "correct it.", offences)


def test_changelog_fragments_are_named_by_kind() -> None:
    here = [name for name in files() if name.startswith("docs/changes/")]
    offences = {
        name: "isn't <what-changed>.<kind>.md"
        for name in here
        if not name.endswith("/README.md") and not FRAGMENT.fullmatch(name.rsplit("/", 1)[-1])
    }
    verdict(
        "A change tells its users about itself in a file of its own, so that two never conflict.",
        "see docs/changes/README.md for names and kinds.",
        offences,
    )
