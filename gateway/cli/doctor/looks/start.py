"""What ``gateway serve`` would refuse to start with: the code that refuses it is asked, and starts nothing.
What an agent's services need isn't among it. To build them is to connect to what they connect to."""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import partial

from gateway.cli.commands.serve import refusal
from gateway.cli.doctor.finding import Finding, Fix, error
from gateway.cli.doctor.looks.agent import LOOKED_AT, mistake
from gateway.config import Settings, SettingsError
from gateway.definition import DefinitionError, Loaded
from gateway.engine.errors import ConfigError

REFUSES = "gateway serve refuses to start with these settings"


def look(
    settings: Settings, unread: Collection[str], loaded: Loaded | None, told: Collection[str]
) -> tuple[Finding, ...]:
    """``unread`` stands only in ``.env``; ``told`` are the titles of what was found before. Blocks: it runs
    the author's channel files."""
    try:
        served = Settings.load() if unread else settings
    except SettingsError as wrong:
        how = Fix(
            text="Set what it names where it is served", command="gateway config show --origin"
        )
        without = f"{REFUSES}: it doesn't read .env"
        return tuple(error("settings.serve", one, without, how) for one in wrong.problems)
    found: list[Finding] = []
    if refused := refusal(served, unread):
        how = Fix(text="Set it in the environment that it is served in", command=refused.fix)
        found.append(error("settings.serve", refused.what, REFUSES, how))
    found += _of_the_host(served)
    if loaded is not None:
        found += _of_the_channels(served, loaded)
    return tuple(one for one in found if one.title not in told)


def _of_the_host(settings: Settings) -> list[Finding]:
    from gateway.host.compose import make_room, make_sink
    from gateway.host.serving import check_address

    found: list[Finding] = []
    checks: tuple[Callable[[Settings], object], ...] = (
        check_address,
        partial(make_room, make=False),
        make_sink,
    )
    for check in checks:
        try:
            _ = check(settings)
        except ConfigError as wrong:
            found.append(_refused(wrong))
    return found


def _of_the_channels(settings: Settings, loaded: Loaded) -> list[Finding]:
    from gateway.host.channels.equipping import with_tools
    from gateway.host.channels.registry import mounted

    try:
        channels = mounted(loaded, settings.environ, settings.missing)
        _ = with_tools(loaded.definition, channels)
    except DefinitionError as wrong:
        return [
            mistake(one.file, one.line, one.message, one.fix)
            for one in wrong.problems
            if not one.message.startswith(LOOKED_AT)
        ]
    except ConfigError as wrong:
        return [] if str(wrong).startswith(LOOKED_AT) else [_refused(wrong)]
    return []


def _refused(wrong: ConfigError) -> Finding:
    how = wrong.fix or "correct it where it stands"
    return error("settings.serve", str(wrong), REFUSES, Fix(text=how[:1].upper() + how[1:]))
