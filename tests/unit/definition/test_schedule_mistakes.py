"""Every mistake an author can make in a schedule, and what is said about it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.definition.mistakes import Case


def schedule(head: str, body: str = "Do it.") -> dict[str, str | None]:
    return {"schedules/extra.md": f"---\n{head}\n---\n{body}\n"}


CASES = [
    Case("no cron", schedule("missed: skip"), "schedules/extra.md:1: has no cron"),
    Case(
        "four fields",
        schedule("cron: 0 9 * *"),
        "extra.md:2: has a cron that has 4 fields",
        'write five fields: cron: "0 9 * * 1-5"',
    ),
    Case(
        "an hour too far",
        schedule("cron: 0 24 * * *"),
        "the hour '24', outside 0-23. fix: for the hour, write 0 to 23",
    ),
    Case(
        "a minute too far",
        schedule("cron: 61 9 * * *"),
        "the minute '61', outside 0-59. fix: for the minute, write 0 to 59",
    ),
    Case(
        "no number",
        schedule("cron: 0 9 * * fun"),
        "the day of week 'fun', which isn't a number or a",
        "for the day of week, write 0 to 7 or a name (sun, mon, tue, wed, thu, fri, sat)",
    ),
    Case(
        "backwards",
        schedule("cron: 0 22-6/2 * * *"),
        "the hour '22-6/2', a range that runs backwards",
        "write it as two: 22-23/2,0-6/2",
    ),
    Case("step of nothing", schedule("cron: 0/0 9 * * *"), "the minute '0/0', whose step isn't"),
    Case(
        "a day that never comes",
        schedule("cron: 0 9 30 2 *"),
        "names a date that never comes",
        'name a day that the month has: cron: "0 9 28 2 *"',
    ),
    Case(
        "an unquoted star",
        schedule("cron: */5 * * * *"),
        "schedules/extra.md:2: has front matter that isn't YAML",
        'quotes: cron: "*/5 * * * *"',
    ),
    Case(
        "an unknown zone",
        schedule("cron: 0 9 * * *\ntimezone: Paris"),
        "extra.md:3: names the unknown timezone 'Paris'",
        "timezone: Europe/Paris",
    ),
    Case(
        "a zone in small letters",
        schedule("cron: 0 9 * * *\ntimezone: europe/paris"),
        "unknown timezone 'europe/paris'. fix: timezone: Europe/Paris",
    ),
    Case(
        "a zone misspelt",
        schedule("cron: 0 9 * * *\ntimezone: Europe/Pariss"),
        "unknown timezone 'Europe/Pariss'. fix: timezone: Europe/Paris",
    ),
    Case("a path for a zone", schedule("cron: 0 9 * * *\ntimezone: ../../etc"), "unknown timezone"),
    Case(
        "a place without its channel",
        schedule("cron: 0 9 * * *\ntarget: C0123"),
        "extra.md:3: has a target",
        "write target: slack:C0123",
    ),
    Case(
        "a channel without a place",
        schedule("cron: 0 9 * * *\ntarget: slack"),
        "extra.md:3: has a target",
        "write target: slack:C0123ABCD",
    ),
    Case(
        "a channel misspelt",
        {
            "channels/echo.py": "def channel(env): ...\n",
            **schedule("cron: 0 9 * * *\ntarget: ecco:1"),
        },
        'there is no channel ecco (did you mean "echo"?); there is echo',
    ),
    Case(
        "a target on a channel there isn't",
        schedule("cron: 0 9 * * *\ntarget: slack:C0123"),
        "extra.md:3: has the target slack:C0123, but there is no channel slack; there is none",
        "write channels/slack.py",
    ),
    Case(
        "all that is wrong with one",
        {
            "channels/echo.py": "def channel(env): ...\n",
            **schedule("cron: 0 9 30 2 *\ntimezone: Paris\ntarget: slack:C1\nmissed: never", ""),
        },
        "extra.md:2: has a cron that names a date that never comes",
        others=[
            "extra.md:1: has no seed",
            "extra.md:3: names the unknown timezone 'Paris'",
            "extra.md:4: has the target slack:C1, but there is no channel slack; there is echo",
            "extra.md:5: has missed: never",
        ],
    ),
    Case(
        "an unknown rule",
        schedule("cron: 0 9 * * *\nmissed: lates"),
        'extra.md:3: has missed: lates (did you mean "latest"?)',
    ),
    Case(
        "a length of no time",
        schedule("cron: 0 9 * * *\nwithin: soon"),
        "extra.md:3: has within: soon",
    ),
    Case("no seed", schedule("cron: 0 9 * * *", ""), "extra.md:1: has no seed"),
    Case("two seeds", schedule("cron: 0 9 * * *\nseed: A."), "extra.md:3: has a seed in its front"),
    Case("a list for a cron", schedule("cron: [1]"), "extra.md:2: gives cron more than one value"),
    Case(
        "the same schedule twice",
        {"schedules/daily.py": "x = 1\n"},
        "schedules/daily.py: is a second schedule 'daily'",
        "rename one of them",
    ),
    Case(
        "a schedule of code without one", {"schedules/extra.py": "x = 1\n"}, "defines no schedule"
    ),
    Case(
        "a schedule of code that can't run",
        {
            "schedules/extra.py": "from gateway import Schedule\n\nschedule = Schedule(cron='x', seed='s')\n"
        },
        "schedules/extra.py:3: has a cron that has 1 field",
    ),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_mistake_is_named_with_its_place_and_its_fix(case: Case, tmp_path: Path) -> None:
    case.check(tmp_path)
