"""The tool with which a turn that nobody asked for says that it has nothing to report."""

from __future__ import annotations

from gateway.engine.struct import replace
from gateway.engine.tool import Tool, tool

LONGEST_REASON = 500


@tool(effect="read")
def nothing_to_report(reason: str) -> str:
    """Say that there is nothing worth anybody's attention this time, and why in a few words. Nothing
    is posted then, whatever you write afterwards; those who look at the schedule see the reason."""
    if not reason.strip():
        raise ValueError("say why in a few words: people look for the reason")
    return reason.strip()[:LONGEST_REASON]


TOOL: Tool = replace(nothing_to_report, unasked=True)
