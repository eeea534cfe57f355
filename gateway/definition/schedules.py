"""Schedules: read and checked here, planned and fired in ``gateway/schedules``.

``<name>.md`` holds ``cron``, ``timezone``, ``target``, ``missed``, ``within`` in its head and the
seed below it (or as ``seed``); ``<name>.py`` assigns a ``Schedule`` to ``schedule``.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from difflib import get_close_matches
from pathlib import Path
from typing import cast, get_args
from zoneinfo import ZoneInfo, available_timezones

from gateway.definition.author import Missed, Schedule, Target
from gateway.definition.modules import Package
from gateway.definition.problems import Findings, did_you_mean
from gateway.definition.source import (
    FrontMatter,
    assignment_line,
    check_keys,
    entries,
    parse,
    read_text,
    split,
)
from gateway.schedules.cron import Cron, CronError

_KEYS: tuple[str, ...] = ("cron", "timezone", "target", "missed", "within", "seed")
_MISSED = cast("tuple[str, ...]", get_args(Missed))


@dataclass(frozen=True, slots=True, kw_only=True)
class Placed:
    """A schedule, and where its target is written."""

    schedule: Schedule
    file: str
    line: int | None


def load_schedules(
    package: Package, channels: Collection[str], findings: Findings
) -> dict[str, Placed]:
    """Every schedule of an agent, by name. They speak on ``channels``."""
    found: dict[str, Placed] = {}
    for path in entries(package.root / "schedules"):
        place = package.show(path)
        if path.suffix not in (".md", ".py") or not path.is_file():
            findings.warn(
                place,
                None,
                "is ignored: a schedule is an .md or .py file",
                "begin its name with _ if it isn't meant for the gateway",
            )
            continue
        if path.stem in found:
            findings.error(place, None, f"is a second schedule {path.stem!r}", "rename one of them")
            continue
        schedule = (
            _from_text(path, place, channels, findings)
            if path.suffix == ".md"
            else _from_code(path, package, channels, findings)
        )
        if schedule is not None:
            found[path.stem] = schedule
    return found


def _from_text(
    path: Path, place: str, channels: Collection[str], findings: Findings
) -> Placed | None:
    text = read_text(path, place, findings)
    head = None if text is None else split(text, place, findings)
    if head is None:
        return None
    check_keys(head, _KEYS, place, findings)
    nested = sorted(head.nested & set(_KEYS))
    for key in nested:
        findings.error(place, head.lines[key], f"gives {key} more than one value")
    if nested:
        return None
    schedule = Schedule(
        cron=head.values.get("cron", ""),
        seed=_seed(head, place, findings),
        target=head.values.get("target") or None,
        timezone=head.values.get("timezone", "UTC"),
        missed=cast("Missed", head.values.get("missed", "latest")),
        within=_within(head, place, findings),
    )
    return check(schedule, Place(place, head.lines), channels, findings)


def _seed(head: FrontMatter, place: str, findings: Findings) -> str:
    inline = head.values.get("seed", "")
    if inline and head.body:
        findings.error(
            place,
            head.lines["seed"],
            "has a seed in its front matter and another below it",
            "keep one of the two",
        )
    return inline or head.body


def _within(head: FrontMatter, place: str, findings: Findings) -> timedelta:
    text = head.values.get("within", "1h")
    within = parse_duration(text)
    if within is None:
        findings.error(
            place,
            head.lines.get("within"),
            f"has within: {text}, which is no length of time",
            "write a number with s, m, h or d: within: 1h",
        )
    return within or timedelta(hours=1)


def _from_code(
    path: Path, package: Package, channels: Collection[str], findings: Findings
) -> Placed | None:
    place = package.show(path)
    module = package.run(f"schedules/{path.name}", findings)
    if module is None:
        return None
    schedule = cast("object", getattr(module, "schedule", None))
    line = assignment_line(parse(path), "schedule")
    if not isinstance(schedule, Schedule):
        findings.error(place, line, "defines no schedule", "write schedule = Schedule(cron=…, …)")
        return None
    lines = dict.fromkeys(_KEYS, line or 1)
    return check(schedule, Place(place, lines), channels, findings)


@dataclass(frozen=True, slots=True)
class Place:
    """A file, and the line on which each key stands."""

    file: str
    lines: Mapping[str, int]


def check(
    schedule: Schedule, place: Place, channels: Collection[str], findings: Findings
) -> Placed | None:
    """The schedule with its target parsed, or ``None`` when it can't run."""
    before = len(findings.errors)

    def refuse(key: str, message: str, fix: str) -> None:
        findings.error(place.file, place.lines.get(key, 1), message, fix)

    if not schedule.cron:
        refuse("cron", "has no cron", 'say when it runs: cron: "0 9 * * 1-5"')
    elif problem := _cron_problem(schedule.cron):
        refuse("cron", f"has a cron that {problem}", problem.fix)
    if not _is_zone(schedule.timezone):
        refuse(
            "timezone",
            f"names the unknown timezone {schedule.timezone!r}",
            f"timezone: {near}"
            if (near := near_zone(str(schedule.timezone)))
            else "use an IANA name, such as Europe/Paris or UTC",
        )
    if schedule.missed not in _MISSED:
        near = did_you_mean(str(schedule.missed), _MISSED)
        refuse("missed", f"has missed: {schedule.missed}{near}", f"use {', '.join(_MISSED)}")
    if not schedule.seed or not (isinstance(schedule.seed, str) or callable(schedule.seed)):
        refuse("seed", "has no seed", "write below the front matter what the agent shall do")
    if not isinstance(cast("object", schedule.within), timedelta) or schedule.within <= timedelta(
        0
    ):
        refuse("within", "has a within that is no length of time", "use timedelta(hours=1)")
    target = _target(schedule.target, channels)
    if isinstance(target, _Wrong):
        refuse("target", target.what, target.fix)
        return None
    if len(findings.errors) > before:
        return None
    return Placed(
        schedule=replace(schedule, target=target), file=place.file, line=place.lines.get("target")
    )


@dataclass(frozen=True, slots=True)
class _Wrong:
    what: str
    fix: str


def _target(given: Target | str | None, channels: Collection[str]) -> Target | _Wrong | None:
    try:
        target = Target.parse(given) if isinstance(given, str) else given
    except ValueError as error:
        return _Wrong(f"has a target that can't be understood: {error}", _how(str(given), channels))
    if target is None or target.channel in channels:
        return target
    there = f"there is {', '.join(sorted(channels))}" if channels else "there is none"
    return _Wrong(
        f"has the target {target}, but there is no channel {target.channel}"
        f"{did_you_mean(target.channel, channels)}; {there}",
        f"write channels/{target.channel}.py, or name a channel that is there",
    )


def _how(given: str, channels: Collection[str]) -> str:
    """How a target that isn't one is written: a channel's name without a place, or a place alone."""
    word = given.strip(" :")
    if re.fullmatch(r"[CGD][A-Z0-9]+", word):  # as Slack's ids are
        return f"write target: slack:{word}"
    name = word if word in channels else next(iter(sorted(channels)), "slack")
    return f"write target: {name}:{'C0123ABCD' if name == 'slack' else '<address>'}, with the place to post in"


def _cron_problem(text: str) -> CronError | None:
    try:
        Cron.parse(text)
    except CronError as error:
        return error
    return None


def near_zone(name: str) -> str:
    """The time zone that an unknown name must mean: but for its capitals, or its continent; else one that
    is nearly written so, or none."""
    zones, wanted = sorted(available_timezones()), name.strip().lower()
    for zone in zones:
        if zone.lower() == wanted or zone.lower().endswith(f"/{wanted}"):
            return zone
    return next(iter(get_close_matches(name, zones, n=1, cutoff=0.7)), "")


def _is_zone(name: object) -> bool:
    try:
        ZoneInfo(str(name))
    except (KeyError, ValueError, OSError):  # unknown, absolute path, directory
        return False
    return True


_DURATION = re.compile(r"(\d{1,6})\s*(s|m|h|d)", re.ASCII)
_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}


def parse_duration(text: str) -> timedelta | None:
    """``90s``, ``15m``, ``1h``, ``2d``; ``None`` for anything else, zero included."""
    match = _DURATION.fullmatch(text.strip())
    if match is None:
        return None
    return timedelta(**{_UNITS[match[2]]: int(match[1])}) or None
