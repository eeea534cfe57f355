"""What ``gateway status`` says of channels."""

from __future__ import annotations

from gateway.cli.commands.status import _rows
from gateway.engine.kinds import JsonObject
from gateway.host.channels.registry import Registry
from gateway.values import needed


def test_a_channel_is_on_off_or_down() -> None:
    def row(name: str, off: str = "", on: bool = False, problem: str | None = None) -> JsonObject:
        return {"name": name, "on": on, "off": off or None, "problem": problem}

    channels = [
        row("echo", on=True),
        row("slack", on=True, problem="nobody knows this token; it is tried again"),
        row("email", "set EMAIL_ADDRESS"),
        row("crisp"),
    ]
    shown = dict(_rows({"ready": True, "channels": [*channels]}, "here"))
    assert shown["health"] == ("✓ ready", "green"), "a channel that is down takes nobody with it"
    assert shown["echo"] == ("✓ on", "green")
    assert shown["slack"] == ("✗ down · nobody knows this token; it is tried again", "red")
    assert "deliveries" not in shown, "nothing is said where nothing is dead"
    assert shown["email"] == ("off · set EMAIL_ADDRESS", "dim")
    assert shown["crisp"] == ("off", "dim")


def test_dead_deliveries_are_told_with_the_way_to_them() -> None:
    shown = dict(_rows({"dead_deliveries": 1}, "here"))
    assert shown["deliveries"] == ("✗ 1 dead   gateway deliveries list --state dead", "red")


def test_what_would_turn_a_channel_on_is_told_with_its_choices() -> None:
    registry = Registry(
        missing={"slack": ("A or B", "C or D"), "email": (), "chat": ("E",)},
        unmade={"email", "chat"},
        absent={"crisp"},
    )
    assert {name: registry.off(name) for name in registry.names} == {
        "slack": "set either A or B, and either C or D",
        "email": "gateway add channel email",
        "chat": "gateway add channel chat, then set E",
        "crisp": "not in this release",
    }
    assert needed(["A", "B or C", "D"]) == "A, either B or C, and D"
    assert needed(["A or B"]) == "A or B"
