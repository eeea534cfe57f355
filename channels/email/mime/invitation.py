"""An invitation (RFC 5545, RFC 5546) as one line that a person would say: what, when, where."""

from __future__ import annotations

from typing import Final

from channels.email.mime import clean

_MOST: Final = 256 << 10
_LONG: Final = 300
_KINDS: Final = {
    "REQUEST": "Invitation",
    "PUBLISH": "Event",
    "CANCEL": "Cancelled event",
    "REPLY": "Answer to an invitation",
    "COUNTER": "Another time proposed",
    "DECLINECOUNTER": "Proposed time declined",
}


def told(calendar: str) -> str:
    """Of the first event; empty where there is none."""
    said: dict[str, tuple[str, str]] = {}
    inside: list[str] = []
    for name, extra, value in _properties(calendar[:_MOST]):
        if name == "BEGIN":
            inside.append(value.upper())
        elif name == "END":
            if inside and inside.pop() in {"VEVENT", "VTODO"}:
                break
        elif name == "METHOD" or (inside and inside[-1] in {"VEVENT", "VTODO"}):
            said.setdefault(name, (extra, value))
    if not said.keys() & {"SUMMARY", "DTSTART", "DUE"}:
        return ""
    method = said.get("METHOD", ("", ""))[1].upper()
    pieces = [_text(said.get("SUMMARY", ("", ""))[1]) or "without a title", _when(said)]
    if place := _text(said.get("LOCATION", ("", ""))[1]):
        pieces.append(place)
    if method == "REPLY" and (answer := _answer(said.get("ATTENDEE", ("", ""))[0])):
        pieces.append(answer)
    return f"{_KINDS.get(method, 'Event')}: {', '.join(piece for piece in pieces if piece)}"


def _properties(calendar: str) -> list[tuple[str, str, str]]:
    """Name, parameters and value of each line, folded lines joined (RFC 5545 §3.1)."""
    found: list[tuple[str, str, str]] = []
    for line in calendar.replace("\n ", "").replace("\n\t", "").split("\n"):
        colon = line.find(":")
        if line.count('"', 0, colon) % 2:  # in a quoted parameter
            colon = line.find(":", line.find('"', colon))
        if colon > 0:
            name, _, extra = line[:colon].partition(";")
            found.append((name.strip().upper(), extra, line[colon + 1 :].strip()))
    return found


def _text(value: str) -> str:
    plain = value.replace("\\n", " ").replace("\\N", " ")
    for mark in ",;\\":
        plain = plain.replace(f"\\{mark}", mark)
    return clean.line(plain)[:_LONG]


def _when(said: dict[str, tuple[str, str]]) -> str:
    begin = _moment(*said.get("DTSTART", said.get("DUE", ("", ""))))
    end = _moment(*said.get("DTEND", ("", "")))
    if not begin or not end or begin == end:
        return begin
    same = end.startswith(begin[:10])
    return f"{begin} to {end[11:] if same and len(end) > 10 else end}"


def _moment(extra: str, value: str) -> str:
    """``20270301T100000Z`` for people, with the zone that it names."""
    day, _, clock = value.partition("T")
    if not (len(day) == 8 and day.isdecimal()):
        return ""
    date = f"{day[:4]}-{day[4:6]}-{day[6:]}"
    if not clock[:4].isdecimal() or len(clock) < 4:
        return date
    zone = " UTC" if clock.endswith("Z") else ""
    for parameter in extra.split(";"):
        name, _, given = parameter.partition("=")
        if name.upper() == "TZID":
            zone = f" ({clean.line(given.strip(chr(34)))[:60]})"
    return f"{date} {clock[:2]}:{clock[2:4]}{zone}"


def _answer(extra: str) -> str:
    for parameter in extra.split(";"):
        name, _, given = parameter.partition("=")
        if name.upper() == "PARTSTAT":
            return clean.line(given).lower()[:20]
    return ""
