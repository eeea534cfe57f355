"""What a terminal shows of a call."""

from __future__ import annotations

from gateway.cli.text import arguments, value
from gateway.engine.kinds import JsonObject


def test_arguments_show_words_bare_and_the_rest_as_json() -> None:
    given: JsonObject = {"order_id": "1042", "note": 'say "hi", twice', "amount": 42.5, "who": None}
    assert arguments(given, 200) == (
        'order_id=1042, note="say \\"hi\\", twice", amount=42.5, who=null'
    )
    # Text that looks like more arguments stays visibly one string.
    assert value("1042, amount=0") == '"1042, amount=0"'
