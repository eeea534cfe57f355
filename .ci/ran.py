"""Reads a pytest report and fails if the suite did not really run.

A green run may hide that nothing was collected, or that the tests which need a server, kill a process or
run somebody else's client were skipped. The suite marks those in its report as ``must-run`` (tests/conftest.py).
"""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path
from xml.etree import ElementTree as ET

MUST_RUN = ("postgres", "crash", "foreign", "browser", "mail")


def complaints(report: Path) -> list[str]:
    """What is wrong with the run, as sentences."""
    if not report.is_file():
        return [f"there is no report at {report}: the tests did not run"]
    ran: Counter[str] = Counter()
    skipped: list[str] = []
    for case in ET.parse(report).getroot().iter("testcase"):
        kinds = [p.get("value", "") for p in case.iter("property") if p.get("name") == "must-run"]
        if case.find("skipped") is None:
            ran.update(["any", *kinds])
        elif kinds:
            skipped.append(f"{case.get('classname')}.{case.get('name')}")
    found = [f"no test marked {kind} ran" for kind in MUST_RUN if not ran[kind]]
    found += [f"skipped, and must not be: {name}" for name in skipped]
    if not ran["any"]:
        found.insert(0, "no test ran")
    counts = ", ".join(f"{ran[kind]} {kind}" for kind in ("any", *MUST_RUN))
    print(f"tests that ran: {counts}")
    return found


def main() -> int:
    """Print the complaints; zero if there are none."""
    found = complaints(Path(sys.argv[1]))
    for complaint in found:
        print(complaint, file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
