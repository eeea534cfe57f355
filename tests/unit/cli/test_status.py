"""What ``gateway status`` says of channels."""

from __future__ import annotations

from gateway.cli.commands.status import _rows
from gateway.engine.kinds import JsonObject


def test_a_channel_is_on_off_or_down() -> None:
    def row(name: str, *missing: str, on: bool = False, problem: str | None = None) -> JsonObject:
        return {"name": name, "on": on, "missing": [*missing], "problem": problem}

    channels = [
        row("echo", on=True),
        row("slack", on=True, problem="nobody knows this token; it is tried again"),
        row("crisp", "CRISP_KEY", "CRISP_WEBSITE_ID"),
    ]
    shown = dict(_rows({"ready": True, "channels": [*channels]}, "here"))
    assert shown["health"] == ("✓ ready", "green"), "a channel that is down takes nobody with it"
    assert shown["echo"] == ("✓ on", "green")
    assert shown["slack"] == ("✗ down · nobody knows this token; it is tried again", "red")
    assert shown["crisp"] == ("off · set CRISP_KEY, CRISP_WEBSITE_ID", "dim")
