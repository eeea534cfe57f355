"""The agent directory, read as a start would read it, and the manifest that was kept beside it."""

from __future__ import annotations

import ast
from dataclasses import replace
from pathlib import Path

from gateway.cli.commands.check import agent_directory
from gateway.cli.doctor.finding import Finding, Fix, error
from gateway.cli.doctor.seen import Defined
from gateway.cli.operate.manifest import app_of, read_kept
from gateway.cli.problem import Problem
from gateway.config import Settings
from gateway.definition import DefinitionError, Loaded, load_agent
from gateway.engine.errors import ConfigError
from gateway.engine.kinds import JsonObject

MANIFEST = Path("manifest.yml")
LOOKED_AT = ("SLACK_", "EMAIL_")
"""How a word on a channel's settings begins: those are looked at one by one."""


def look(settings: Settings) -> tuple[Defined | None, JsonObject | None, list[Finding]]:
    """Blocks: it reads and runs the author's files."""
    found: list[Finding] = []
    try:
        loaded, lacks = _loaded(replace(settings, agent=agent_directory(settings.agent)))
    except DefinitionError as mistakes:
        return None, None, [mistake(one.file, one.line, one.message, one.fix)
                            for one in mistakes.problems]  # fmt: skip
    try:
        app = app_of(settings, loaded)
    except DefinitionError as mistakes:
        app = None
        found += [
            mistake(one.file, one.line, one.message, one.fix)
            for one in mistakes.problems
            if not one.message.startswith(LOOKED_AT)
        ]
    except ConfigError as lacking:
        app = None
        if not str(lacking).startswith(LOOKED_AT):
            how = Fix(text=lacking.fix or "correct it, then look again", command="gateway check")
            found.append(error("slack.channel", str(lacking), "the channel can't be made", how))
    defined = Defined(loaded=loaded, app=app, money=_money(loaded), model_lacks=lacks)
    return defined, _manifest(), found


def _loaded(settings: Settings) -> tuple[Loaded, tuple[str, str] | None]:
    """The directory, and what keeps its model from being made."""
    from gateway.host.compose import load

    try:
        return load(settings), None
    except DefinitionError:
        raise
    except ConfigError as lacking:
        lacks = str(lacking), lacking.fix
    return load_agent(settings.agent, env=settings.environ, run_channels=True), lacks


def mistake(file: str, line: int | None, message: str, fix: str) -> Finding:
    where = f"{file}:{line}" if line else file
    how = Fix(text=fix or "correct it, then look again", command="gateway check")
    return error("agent.definition", f"{where} {message}", "no host starts with it", how)


def _manifest() -> JsonObject | None:
    try:
        return read_kept(MANIFEST)
    except Problem:
        return None


def _money(loaded: Loaded) -> dict[str, bool]:
    """Whether a tool names who decides: for the taint gate, or where it asks."""
    return {
        name: tool.answerers is not None or _asks_somebody(loaded.path / "tools" / f"{name}.py")
        for name, tool in loaded.definition.tools.items()
        if tool.effect == "money"
    }


def _asks_somebody(file: Path) -> bool:
    try:
        tree = ast.parse(file.read_bytes())
    except (OSError, SyntaxError, ValueError):
        return True  # a channel's own tool, which has no such file
    return any(isinstance(node, ast.keyword) and node.arg == "answerers" for node in ast.walk(tree))
