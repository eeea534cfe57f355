"""Writes ``docs/conformance.md``, the rules of all channels and who keeps them:
``python -m tests.conformance.channels.matrix``.
"""

from __future__ import annotations

from collections.abc import Iterator

from tests.conformance.channels import suite
from tests.conformance.channels.gaps import DRIVERS, GAPS, Gap
from tests.conformance.channels.rule import Rule
from tests.meta.reference import table
from tests.meta.tree import ROOT

DOCUMENT = "docs/conformance.md"
COMMAND = "python -m tests.conformance.channels.matrix"

HEAD = f"""# What every channel keeps

Each rule is written once, in `tests/conformance/channels/rules/`, and played by a driver per channel that
knows only the channel's wire: a whole gateway, its database, and beside it the platform's emulator or a
program with a token. `make test` plays all of it. This page is made from the rules; `{COMMAND}` writes it
anew.

✓: it holds. A number: the platform makes it impossible, and the fact stands below. Such a cell must go on
failing for that reason, or the tests are red. Nothing may be lost, happen twice or be decided by who may not on
any platform: those rules take no such excuse.
"""


def rules() -> list[type[Rule]]:
    found = [getattr(suite, name) for name in suite.__all__]
    return sorted(found, key=lambda rule: (rule.promise, rule.about))


def written_in(rule: type[Rule]) -> list[str]:
    """In the order in which they are written."""
    return [name for name in vars(rule) if name.startswith("test_")]


def document() -> str:
    facts = list(dict.fromkeys(gap.fact for gap in GAPS))
    parts = [HEAD]
    for promise in dict.fromkeys(rule.promise for rule in rules()):
        of = [rule for rule in rules() if rule.promise == promise]
        rows = [row for rule in of for row in _rows(rule, facts)]
        head = " | ".join([promise[:1].upper() + promise[1:], *DRIVERS])
        parts.append(table(head, rows))
    numbered = "\n".join(f"{number}. {fact}" for number, fact in enumerate(facts, 1))
    return "\n".join([*(f"{part}\n" for part in parts), "## What isn't there\n", numbered, ""])


def _rows(rule: type[Rule], facts: list[str]) -> Iterator[list[str]]:
    yield [f"**{rule.about}**", *("" for _ in DRIVERS)]
    for test in written_in(rule):
        sentence = test.removeprefix("test_").replace("_", " ")
        yield [sentence, *(_cell(f"{rule.__name__}.{test}", driver, facts) for driver in DRIVERS)]


def _cell(rule: str, driver: str, facts: list[str]) -> str:
    gap = next((gap for gap in GAPS if gap.driver == driver and rule_of(gap) == rule), None)
    if gap is None:
        return "✓"
    parameter = gap.rule.partition("[")[2].rstrip("]")
    number = facts.index(gap.fact) + 1
    return f"✓, {parameter}: {number}" if parameter else f"{number}"


def rule_of(gap: Gap) -> str:
    return gap.rule.partition("[")[0]


if __name__ == "__main__":
    (ROOT / DOCUMENT).write_text(document(), encoding="utf-8")
