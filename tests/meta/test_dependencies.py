"""What is installed: every dependency has a reason, every lock is complete and names no place."""

from __future__ import annotations

import json
import re
import tomllib
from typing import Any

from tests.meta.tree import ROOT, files, text, verdict

LOCKS = ("requirements.txt", "requirements-dev.txt", "requirements-build.txt")
NODE, NODE_LOCK = "tests/foreign/package.json", "tests/foreign/package-lock.json"
DOCS = "docs/dependencies.md"
SHORTEST_REASON = 25

# An address, a pip option that holds one, or a path: all of them true on one machine only.
PLACES = re.compile(r"://|file:/|^\s*--(?!hash)|(?:^|\s)(?:\.{0,2}/|~)", re.MULTILINE)
MACHINE_PATHS = re.compile(r"(?<![\w.~$}-])/(?:work|root|home|Users|opt/(?:pypi|wheels))/[\w.]")
HOSTS = re.compile(r"(?:pypi|pythonhosted|npmjs|npmmirror|debian)[.](?:org|com)")


def declared() -> tuple[set[str], set[str], set[str]]:
    """The names in pyproject.toml: to run, to develop, to build."""
    settings = tomllib.loads(text("pyproject.toml"))
    project = settings["project"]
    return (
        _names(project["dependencies"]),
        _names(project["optional-dependencies"]["dev"]),
        _names(settings["build-system"]["requires"]),
    )


def declared_for_node() -> dict[str, str]:
    """The clients for Node.js that the tests run, with the versions asked for."""
    settings: dict[str, Any] = json.loads(text(NODE))
    return dict(settings["dependencies"])


def _names(requirements: list[str]) -> set[str]:
    found = (re.match(r"[\w.-]+", requirement) for requirement in requirements)
    return {_normal(name[0]) for name in found if name}


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def pins(lock: str) -> dict[str, str]:
    found = re.findall(r"^([\w.-]+)==(\S+)", text(lock), re.MULTILINE)
    return {_normal(name): version for name, version in found}


def test_every_dependency_has_a_reason() -> None:
    rows = re.findall(r"^\| `([\w./@-]+)` \| (.+?) \|$", text(DOCS), re.MULTILINE)
    reasons = {_normal(name): reason for name, reason in rows}
    wanted = set().union(*declared(), map(_normal, declared_for_node()))
    offences = dict.fromkeys(wanted - reasons.keys(), "has no line")
    offences |= dict.fromkeys(reasons.keys() - wanted, f"isn't in pyproject.toml or {NODE}")
    offences |= {
        name: "has a reason too short to be one"
        for name, reason in reasons.items()
        if len(reason) < SHORTEST_REASON
    }
    verdict(
        f"Each dependency is code that somebody else can change, so each has its reason in {DOCS}.",
        "write `| `name` | what it does for us, and why not without it |`, or drop the dependency.",
        offences,
    )


def test_locks_are_complete() -> None:
    run, develop, build = declared()
    offences: dict[str, str] = {}
    agreed: dict[str, str] = {}
    for lock, wanted in zip(LOCKS, (run, run | develop, build), strict=True):
        locked = pins(lock)
        offences |= {f"{lock}::{name}": "isn't locked" for name in wanted - locked.keys()}
        for name, version in locked.items():
            if agreed.setdefault(name, version) != version:
                offences[f"{lock}::{name}"] = f"{version}, and {agreed[name]} in another lock"
        for block in re.split(r"\n(?=\w)", text(lock)):
            if (name_pinned := re.match(r"[\w.-]+==\S+", block)) and "--hash=sha256:" not in block:
                offences[f"{lock}::{name_pinned[0]}"] = "has no hash"
    verdict(
        "The locks hold every package with its version and hash, and agree with each other.",
        "make lock",
        offences,
    )


def test_locks_name_no_place() -> None:
    verdict(
        "A lock says what, never from where: an address or a path is true on one machine only.",
        "make lock (it leaves index, links and header out).",
        _lines(PLACES, LOCKS),
    )


def test_the_lock_for_node_is_complete_and_names_no_place() -> None:
    packages: dict[str, dict[str, Any]] = json.loads(text(NODE_LOCK))["packages"]
    asked, offences = declared_for_node(), {}
    if packages.pop("")["dependencies"] != asked:
        offences[NODE_LOCK] = f"isn't of {NODE}"
    for name, version in asked.items():
        if packages.get(f"node_modules/{name}", {}).get("version") != version:
            offences[f"{NODE}::{name}"] = f"{version}, which isn't the one version that is locked"
    for name, about in packages.items():
        if not str(about.get("integrity", "")).startswith("sha512-"):
            offences[f"{NODE_LOCK}::{name}"] = "has no hash"
        if "resolved" in about or not re.fullmatch(r"\d[\w.+-]*", about.get("version", "")):
            offences[f"{NODE_LOCK}::{name}"] = "says from where, instead of which version"
    verdict(
        "The lock holds every package with its version and hash, and never an address.",
        f"exact versions in {NODE}, then make lock.",
        offences,
    )


def test_no_file_names_a_machine() -> None:
    known = [name for name in files() if name not in LOCKS]
    verdict(
        "A path of somebody's machine or a registry's host works for one reader and misleads the rest.",
        "write paths relative to the repository, and name packages instead of where they lie.",
        _lines(MACHINE_PATHS, known) | _lines(HOSTS, [*known, *LOCKS]),
    )


def _lines(pattern: re.Pattern[str], names: tuple[str, ...] | list[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for name in names:
        try:
            content = (ROOT / name).read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue
        for match in pattern.finditer(content):
            line = content.count("\n", 0, match.start()) + 1
            found[f"{name}:{line}"] = repr(match[0].strip())
    return found
