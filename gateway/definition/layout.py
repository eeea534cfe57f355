"""What may lie in an agent directory, and what a stray name probably meant."""

from __future__ import annotations

import re
from pathlib import Path

from gateway.definition.modules import Package
from gateway.definition.problems import Findings, did_you_mean
from gateway.definition.source import entries, read_text

FOLDERS = ("channels", "connections", "schedules", "skills", "subagents", "tools")
FILES = ("agent.py", "instructions.md", "offline.py")
_LATER = {
    "connections": "MCP servers can't be mounted yet",
    "subagents": "sub-agents can't run yet",
}
_OVERLAY = re.compile(r"instructions\.([a-z][a-z0-9_-]*)\.md")
_HIDE = "begin its name with _ if it isn't meant for the gateway"


def check_layout(package: Package, findings: Findings) -> None:
    """Strange names: an error where they look like a slip of the pen, a warning otherwise."""
    for path in entries(package.root):
        place = package.show(path)
        known = FOLDERS if path.is_dir() else FILES
        if path.name in _LATER and path.is_dir():
            findings.error(
                place, None, f"isn't supported yet: {_LATER[path.name]}", f"remove {place}"
            )
        elif (
            path.name in known
            or path.stem.lower() in ("readme", "license", "changelog")
            or (not path.is_dir() and _OVERLAY.fullmatch(path.name))
        ):
            continue
        elif path.name in (*FOLDERS, *FILES):
            kind = "a file" if path.is_file() else "a folder"
            findings.error(place, None, f"is {kind}", "see the layout of an agent directory")
        else:
            _stray(path, place, findings)


def _stray(path: Path, place: str, findings: Findings) -> None:
    if path.name.startswith("instructions.") and path.suffix == ".md":
        findings.error(
            place,
            None,
            "names no source",
            "call it instructions.<source>.md, the source in lower case: instructions.slack.md",
        )
        return
    near = did_you_mean(path.name, (*FOLDERS, *FILES))
    if near:
        findings.error(
            place, None, f"is not part of an agent directory{near}", f"rename it; {_HIDE}"
        )
    else:
        findings.warn(place, None, "is ignored: it is not part of an agent directory", _HIDE)


def read_prompts(package: Package, findings: Findings) -> tuple[str, dict[str, str]]:
    """The base prompt and the overlays by source."""
    base = ""
    main = package.root / "instructions.md"
    if main.is_file():
        base = (read_text(main, package.show(main), findings) or "").strip()
        if not base:
            findings.warn(package.show(main), None, "is empty", "say who the agent is")
    else:
        findings.warn(
            package.shown, None, "has no instructions.md", "write one: it says who the agent is"
        )
    overlays: dict[str, str] = {}
    for path in entries(package.root):
        match = _OVERLAY.fullmatch(path.name)
        if match and path.is_file():
            text = (read_text(path, package.show(path), findings) or "").strip()
            if text:
                overlays[match[1]] = text
            else:
                findings.warn(package.show(path), None, "is empty, so it changes nothing")
    return base, overlays
