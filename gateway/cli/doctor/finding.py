"""What the doctor finds: what is wrong, what shows it, and the exact next step."""

from __future__ import annotations

from typing import Literal

from gateway.engine.kinds import JsonObject
from gateway.engine.struct import struct

Area = Literal["settings", "agent", "slack", "email", "state"]
Severity = Literal["error", "warning"]


@struct(frozen=True, slots=True, kw_only=True)
class Fix:
    """``text`` says it in words; ``command`` is what to type, ``url`` the page to do it on."""

    text: str
    command: str | None = None
    url: str | None = None


@struct(frozen=True, slots=True, kw_only=True)
class Finding:
    """``id`` is stable: a script may hang on it. With an ``error`` something doesn't work now; a
    ``warning`` is what will hurt later, or may be meant."""

    id: str
    severity: Severity
    title: str
    evidence: str
    fix: Fix

    @property
    def area(self) -> str:
        return self.id.partition(".")[0]

    def as_json(self) -> JsonObject:
        fix: JsonObject = {"text": self.fix.text}
        if self.fix.command:
            fix["command"] = self.fix.command
        if self.fix.url:
            fix["url"] = self.fix.url
        return {
            "id": self.id,
            "area": self.area,
            "severity": self.severity,
            "title": self.title,
            "evidence": self.evidence,
            "fix": fix,
        }


def error(id: str, title: str, evidence: str, fix: Fix) -> Finding:  # noqa: A002
    return Finding(id=id, severity="error", title=title, evidence=evidence, fix=fix)


def warning(id: str, title: str, evidence: str, fix: Fix) -> Finding:  # noqa: A002
    return Finding(id=id, severity="warning", title=title, evidence=evidence, fix=fix)
