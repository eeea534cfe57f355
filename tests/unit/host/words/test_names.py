"""What people and places are called, beside their ids."""

from __future__ import annotations

from typing import cast

from channels.protocol import Channel
from gateway.host.words.names import Names, address


class Town:
    """A channel as far as names go."""

    source = "town"

    def called(self, word: str) -> str | None:
        return {"town:T1:U1": "a\u202eda", "town:T1:C1:1.5": "#orders"}.get(word)


def names() -> Names:
    return Names({"town": cast("Channel", Town())})


def test_a_row_gets_names_beside_its_ids_and_keeps_them() -> None:
    row = names().beside(
        {
            "session": "town:T1:C1:1.5",
            "speaker": "town:T1:U1",
            "by": "town:T1:U1 via api:ops",
            "target": {"source": "town", "installation": "T1", "channel": "C1", "thread_ts": "1.5"},
            "place": None,
            "other": "town:T1:U1",
        }
    )
    assert row["speaker"] == "town:T1:U1"
    assert row["speaker_name"] == "a\\u202eda", "a name is somebody's text"
    assert row["session_name"] == row["target_name"] == "#orders"
    assert row["by_name"] == "a\\u202eda via api:ops"
    assert row["place_name"] is None
    assert "other_name" not in row


def test_a_speakers_name_is_learned_from_their_turn() -> None:
    known = names()
    assert known.shown("api:desk:U7") == "api:desk:U7"
    known.beside({"speaker": "api:desk:U7", "speaker_name": "Lee"})
    told = known.throughout({"history": [{"by": "api:desk:U7"}]})
    assert told == {"history": [{"by": "api:desk:U7", "by_name": "Lee"}]}


def test_a_target_that_an_author_wrote_is_an_address() -> None:
    assert address({"source": "slack", "address": "C0123"}) == "slack:C0123"
