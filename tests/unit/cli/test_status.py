"""What ``gateway status`` says of channels."""

from __future__ import annotations

from gateway.cli.commands.status import _rows
from gateway.engine.kinds import JsonObject
from gateway.values import needed


def test_a_channel_is_on_off_or_down() -> None:
    def row(name: str, *missing: str, on: bool = False, problem: str | None = None) -> JsonObject:
        return {"name": name, "on": on, "missing": [*missing], "problem": problem}

    channels = [
        row("echo", on=True),
        row("slack", on=True, problem="nobody knows this token; it is tried again"),
        row("email", "EMAIL_ADDRESS", "EMAIL_SMTP_URL"),
        {**row("crisp"), "available": False},
    ]
    shown = dict(_rows({"ready": True, "channels": [*channels]}, "here"))
    assert shown["health"] == ("✓ ready", "green"), "a channel that is down takes nobody with it"
    assert shown["echo"] == ("✓ on", "green")
    assert shown["slack"] == ("✗ down · nobody knows this token; it is tried again", "red")
    assert "deliveries" not in shown, "nothing is said where nothing is dead"
    assert shown["email"] == ("off · set EMAIL_ADDRESS, EMAIL_SMTP_URL", "dim")
    assert shown["crisp"] == ("off · not in this release", "dim")


def test_dead_deliveries_are_told_with_the_way_to_them() -> None:
    shown = dict(_rows({"dead_deliveries": 1}, "here"))
    assert shown["deliveries"] == ("✗ 1 dead   gateway deliveries list --state dead", "red")


def test_what_has_to_be_set_is_told_with_its_choices() -> None:
    slack: JsonObject = {
        "name": "slack",
        "on": False,
        "missing": ["A or B", "C or D"],
        "problem": None,
    }
    shown = dict(_rows({"channels": [slack]}, "here"))
    assert shown["slack"] == ("off · set either A or B, and either C or D", "dim")
    assert needed(["A", "B or C", "D"]) == "A, either B or C, and D"
    assert needed(["A or B"]) == "A or B"
