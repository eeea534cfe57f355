"""Cron lines as people write them, and when they fire."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from gateway.engine.kinds import Millis
from gateway.schedules.cron import Cron

PARIS, NEW_YORK, LORD_HOWE = "Europe/Paris", "America/New_York", "Australia/Lord_Howe"


@pytest.mark.parametrize(
    "line",
    [
        "* * * * *",
        "0 9 * * 1-5",
        "  0   9 * *  MON-FRI ",
        "*/15 8-18 * * *",
        "5/15 * * * *",
        "0-30/10,45 * * jan,Mar-DEC sun",
        "59 23 31 12 7",
        "0 0 29 2 *",
        "0 0 30 2 1",
    ],
)
def test_a_line_that_can_be_understood(line: str) -> None:
    assert Cron.parse(line).minutes


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("", "has 0 fields instead of 5"),
        ("0 9 * * * *", "has 6 fields instead of 5"),
        ("@daily", "has 1 field instead of 5"),
        ("60 * * * *", "the minute '60', outside 0-59"),
        ("* * 0 * *", "the day of month '0', outside 1-31"),
        ("* * * 13 *", "the month '13', outside 1-12"),
        ("* * * * 8", "the day of week '8', outside 0-7"),
        ("1,,2 * * * *", "the minute '', which isn't a number"),
        ("-5 * * * *", "the minute '-5', which isn't a number"),
        ("* * * mai *", "the month 'mai', which isn't a number or a name"),
        ("* * * * L", "the day of week 'L', which isn't a number or a name"),
        ("*/x * * * *", "the minute '*/x', whose step isn't a number above 0"),
        ("*/99999999999 * * * *", "whose step isn't a number above 0"),
        ("* * 31 2,4,6,9,11 *", "names a date that never comes"),
        ("0 9 30 2 */2", "names a date that never comes"),
    ],
)
def test_a_line_that_cannot(line: str, said: str) -> None:
    assert said in problem(line)


@given(st.text(st.sampled_from("0123456789*/,-LW# \tsunmoja٣²")))
def test_no_line_is_too_strange(line: str) -> None:
    assert len(problem(line).splitlines()) <= 1


def problem(line: str) -> str:
    try:
        Cron.parse(line)
    except ValueError as error:
        return str(error)
    return ""


# -- when it fires ---------------------------------------------------------------------------------
def fires(line: str, zone: str, start: str, end: str) -> list[str]:
    """The local times of a line's ticks from ``start`` to ``end``, both local."""
    there = ZoneInfo(zone)
    after, until = (
        Millis(int(datetime.fromisoformat(text).replace(tzinfo=there).timestamp() * 1000))
        for text in (start, end)
    )
    return [
        f"{datetime.fromtimestamp(tick / 1000, there):%d %H:%M%z}"
        for tick in Cron.parse(line).ticks(there, after, until)
    ]


@pytest.mark.parametrize(
    ("zone", "change", "line", "expected"),
    [
        # Spring: 02:00 becomes 03:00 in Paris on 29 March and in New York on 8 March 2026, and
        # 02:30 on Lord Howe on 4 October.
        (PARIS, "2026-03-29", "30 2 * * *", ["29 03:00+0200"]),
        (PARIS, "2026-03-29", "0,30 2 * * *", ["29 03:00+0200"]),
        (PARIS, "2026-03-29", "0 2,3 * * *", ["29 03:00+0200"]),
        (PARIS, "2026-03-29", "59 1 * * *", ["29 01:59+0100"]),
        (PARIS, "2026-03-29", "0 9 * * *", ["29 09:00+0200"]),
        (PARIS, "2026-03-29", "0 */2 * * *", ["29 03:00+0200", "29 04:00+0200"]),
        (PARIS, "2026-03-29", "7 * * * *", ["29 01:07+0100", "29 03:07+0200", "29 04:07+0200"]),
        (NEW_YORK, "2026-03-08", "30 2 * * *", ["08 03:00-0400"]),
        (NEW_YORK, "2026-03-08", "0 9 * * *", ["08 09:00-0400"]),
        (
            NEW_YORK,
            "2026-03-08",
            "*/30 1-2 * * *",
            ["08 01:00-0500", "08 01:30-0500", "08 03:00-0400"],
        ),
        (LORD_HOWE, "2026-10-04", "15 2 * * *", ["04 02:30+1100"]),
        (LORD_HOWE, "2026-10-04", "45 2 * * *", ["04 02:45+1100"]),
        (
            LORD_HOWE,
            "2026-10-04",
            "15 * * * *",
            ["04 01:15+1030", "04 03:15+1100", "04 04:15+1100"],
        ),
        # Autumn: 03:00 becomes 02:00 in Paris on 25 October, 02:00 becomes 01:00 in New York on
        # 1 November, and 01:30 on Lord Howe on 5 April.
        (PARIS, "2026-10-25", "30 2 * * *", ["25 02:30+0200"]),
        (PARIS, "2026-10-25", "0 3 * * *", ["25 03:00+0100"]),
        (PARIS, "2026-10-25", "0 9 * * *", ["25 09:00+0100"]),
        (PARIS, "2026-10-25", "0 */2 * * *", ["25 02:00+0200", "25 04:00+0100"]),
        (
            PARIS,
            "2026-10-25",
            "7 * * * *",
            ["25 01:07+0200", "25 02:07+0200", "25 02:07+0100", "25 03:07+0100", "25 04:07+0100"],
        ),
        (NEW_YORK, "2026-11-01", "30 1 * * *", ["01 01:30-0400"]),
        (NEW_YORK, "2026-11-01", "0 2 * * *", ["01 02:00-0500"]),
        (NEW_YORK, "2026-11-01", "0 9 * * *", ["01 09:00-0500"]),
        (LORD_HOWE, "2026-04-05", "45 1 * * *", ["05 01:45+1100"]),
        (LORD_HOWE, "2026-04-05", "15 1 * * *", ["05 01:15+1100"]),
        (
            LORD_HOWE,
            "2026-04-05",
            "45 * * * *",
            ["05 01:45+1100", "05 01:45+1030", "05 02:45+1030", "05 03:45+1030"],
        ),
    ],
)
def test_both_changes_of_the_clock(zone: str, change: str, line: str, expected: list[str]) -> None:
    end = "10:00" if " 9 " in line else "04:30"
    assert fires(line, zone, f"{change}T00:50", f"{change}T{end}") == expected


def test_every_five_minutes_are_five_minutes_through_both_changes() -> None:
    for zone in (PARIS, NEW_YORK, LORD_HOWE):
        there = ZoneInfo(zone)
        start = Millis(int(datetime(2026, 1, 1, tzinfo=UTC).timestamp() * 1000))
        ticks = Cron.parse("*/5 * * * *").ticks(there, start, Millis(start + 366 * 86_400_000))
        assert {later - tick for tick, later in pairwise(ticks)} == {300_000}


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("0 9 31 * *", ["2027-01-31", "2027-03-31", "2027-05-31"]),
        ("0 9 29 2 *", ["2028-02-29", "2032-02-29", "2036-02-29"]),
        ("0 9 29 2 */7", ["2032-02-29", "2060-02-29", "2088-02-29"]),  # on a Sunday
        ("0 9 13 * 5", ["2027-01-01", "2027-01-08", "2027-01-13"]),  # the 13th, and any Friday
        ("0 9 */10 * 1", ["2027-01-11", "2027-02-01", "2027-03-01"]),  # those days, if a Monday
        ("0 9 1 jan *", ["2027-01-01", "2028-01-01", "2029-01-01"]),
        ("0 9 * * 7", ["2027-01-03", "2027-01-10", "2027-01-17"]),
    ],
)
def test_days_and_months(line: str, expected: list[str]) -> None:
    cron, zone = Cron.parse(line), ZoneInfo(PARIS)
    at = Millis(int(datetime(2026, 12, 31, 12, tzinfo=UTC).timestamp() * 1000))
    found: list[str] = []
    for _ in expected:
        at = cron.next(zone, at)
        local = datetime.fromtimestamp(at / 1000, zone)
        assert local.hour == 9
        found.append(f"{local:%Y-%m-%d}")
    assert found == expected


def test_the_leap_day_over_a_century_that_has_none() -> None:
    at = Millis(int(datetime(2096, 3, 1, tzinfo=UTC).timestamp() * 1000))
    later = Cron.parse("0 0 29 2 *").next(ZoneInfo("UTC"), at)
    assert datetime.fromtimestamp(later / 1000, UTC) == datetime(2104, 2, 29, tzinfo=UTC)


def test_a_date_that_a_zone_left_out_altogether() -> None:
    # Samoa had no 30 December 2011.
    apia = "Pacific/Apia"
    assert fires("0 9 * * *", apia, "2011-12-29T08:00", "2011-12-31T10:00") == [
        "29 09:00-1000",
        "31 00:00+1400",
        "31 09:00+1400",
    ]
    assert fires("0 * 30 12 *", apia, "2011-12-29T08:00", "2012-12-29T00:00") == []


def test_an_hour_that_comes_twice_over_midnight() -> None:
    # St. John's went from 00:01 back to 23:01 of the day before.
    there = "America/St_Johns"
    assert fires("0,30 * * * *", there, "2010-11-06T22:45", "2010-11-07T00:45") == [
        "06 23:00-0230",
        "06 23:30-0230",
        "07 00:00-0230",
        "06 23:30-0330",
        "07 00:00-0330",
        "07 00:30-0330",
    ]
    assert fires("0 0 * * *", there, "2010-11-06T22:45", "2010-11-07T00:45") == ["07 00:00-0230"]


def test_the_moment_itself_is_the_last_and_never_the_next() -> None:
    cron, zone = Cron.parse("0 9 * * *"), ZoneInfo("UTC")
    nine = Millis(int(datetime(2026, 11, 30, 9, tzinfo=UTC).timestamp() * 1000))
    assert list(cron.ticks(zone, Millis(nine - 1), nine)) == [nine]
    assert cron.next(zone, nine) == nine + 86_400_000
    assert list(cron.ticks(zone, Millis(nine - 2), Millis(nine - 1))) == []


# -- against a minute-by-minute reference ----------------------------------------------------------
def walk(line: str, zone: ZoneInfo, start: datetime, minutes: int) -> list[int]:
    """The written rule, read off the clock on the wall minute by minute."""
    fields = [
        plain(part, low, high) for part, (low, high) in zip(line.split(), BOUNDS, strict=True)
    ]
    named_days = [not line.split()[index].startswith("*") for index in (2, 4)]

    def fits(wall: datetime) -> bool:
        by_day, by_name = wall.day in fields[2], wall.isoweekday() % 7 in fields[4]
        day = (by_day or by_name) if all(named_days) else (by_day and by_name)
        return (
            day
            and (wall.minute in fields[0])
            and wall.hour in fields[1]
            and wall.month in fields[3]
        )

    hourly = len(fields[1]) == 24
    found: list[int] = []
    furthest: datetime | None = None  # how far the wall's clock had come: a repeat is behind it
    for step in range(-1500, minutes):
        moment = start + timedelta(minutes=step)
        wall = moment.astimezone(zone).replace(tzinfo=None)
        fresh = furthest is None or wall > furthest
        left_out = furthest is not None and [
            furthest + timedelta(minutes=n)
            for n in range(1, int((wall - furthest) / timedelta(minutes=1)))
        ]
        if hourly:
            due = fits(wall)
        else:
            due = fresh and (fits(wall) or any(fits(missing) for missing in left_out or ()))
        if due and step > 0:
            found.append(int(moment.timestamp() * 1000))
        furthest = wall if fresh else furthest
    return found


BOUNDS = ((0, 59), (0, 23), (1, 31), (1, 12), (0, 6))


def plain(part: str, low: int, high: int) -> set[int]:
    if part.startswith("*"):
        return set(range(low, high + 1, int(part[2:] or 1)))
    return {int(number) for number in part.split(",")}


def field(low: int, high: int) -> st.SearchStrategy[str]:
    some = st.lists(st.integers(low, high), min_size=1, max_size=4)
    return st.one_of(
        st.just("*"),
        st.integers(2, 12).map(lambda step: f"*/{step}"),
        some.map(lambda numbers: ",".join(map(str, numbers))),
    )


def near_a_change() -> st.SearchStrategy[tuple[str, datetime]]:
    changes = {
        PARIS: ["2026-03-29T01:00", "2026-10-25T01:00"],
        NEW_YORK: ["2026-03-08T07:00", "2026-11-01T06:00"],
        LORD_HOWE: ["2026-10-03T15:30", "2026-04-04T15:00"],
        "America/Sao_Paulo": ["2018-11-04T03:00", "2019-02-17T02:00"],  # at midnight
        "America/St_Johns": ["2010-03-14T03:31", "2010-11-07T02:31"],  # a minute past it
        "Pacific/Apia": ["2011-12-30T10:00"],  # a whole day
    }
    flat = [(zone, text) for zone, texts in changes.items() for text in texts]
    return st.tuples(st.sampled_from(flat), st.integers(-1800, 600)).map(
        lambda drawn: (
            drawn[0][0],
            datetime.fromisoformat(drawn[0][1]).replace(tzinfo=UTC) + timedelta(minutes=drawn[1]),
        )
    )


@settings(max_examples=60, deadline=None)
@given(
    line=st.tuples(
        field(*BOUNDS[0]),
        field(*BOUNDS[1]),
        st.just("*") | field(*BOUNDS[2]),
        st.just("*") | field(*BOUNDS[3]),
        st.just("*") | field(*BOUNDS[4]),
    ).map(" ".join),
    where=near_a_change(),
)
@example(line="30 2 * * *", where=(PARIS, datetime(2026, 3, 28, 20, tzinfo=UTC)))
@example(line="0,30 23 * * *", where=("America/St_Johns", datetime(2010, 11, 7, tzinfo=UTC)))
def test_it_fires_when_a_walk_over_the_minutes_says(line: str, where: tuple[str, datetime]) -> None:
    zone, start = ZoneInfo(where[0]), where[1]
    try:
        cron = Cron.parse(line)
    except ValueError:
        return  # names a date that never comes
    after = Millis(int(start.timestamp() * 1000))
    until = Millis(after + 2500 * 60_000)
    assert list(cron.ticks(zone, after, until)) == walk(line, zone, start, 2501)
