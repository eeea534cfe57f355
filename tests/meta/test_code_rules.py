"""The rules of code_rules.py over the whole product, and a proof that each of them can fail."""

from __future__ import annotations

import ast
from collections.abc import Callable
from functools import cache, partial

import pytest

from tests.meta.code_rules import (
    Found,
    asks_terminal,
    imports_package,
    prints,
    reads_environment,
    swallows_cancellation,
)
from tests.meta.tree import PRODUCT, python_files, syntax, verdict

Check = Callable[[ast.Module], Found]
imports_anthropic: Check = partial(imports_package, package="anthropic")

CHECKS = (reads_environment, prints, asks_terminal, imports_anthropic, swallows_cancellation)

# Functions that may catch a cancellation for good, as ``path::function``. The list may only shrink.
SWALLOWERS = frozenset(
    {
        # asyncio 3.11 reports a cancelled connection task of its stream server as an error.
        "gateway/testing/fake_anthropic/server.py::FakeAnthropic._connection",
    }
)


@cache
def findings() -> dict[Check, list[tuple[str, str, str]]]:
    """What each check found where: every file is parsed once, and its tree let go."""
    found: dict[Check, list[tuple[str, str, str]]] = {check: [] for check in CHECKS}
    for name in python_files(*PRODUCT):
        tree = syntax(name)
        for check in CHECKS:
            found[check] += [(name, place, what) for place, what in check(tree)]
    return found


def offences(check: Check, *allowed: str) -> dict[str, str]:
    """What a check found outside the files that may."""
    return {
        f"{name}::{place}": what
        for name, place, what in findings()[check]
        if not (allowed and name.startswith(allowed))
    }


def test_only_config_reads_the_environment() -> None:
    verdict(
        "Only gateway/config.py reads the environment, so that every setting has one name, one check"
        " and one place in `gateway config show`.",
        "take the setting as an argument; add it to Settings if it is new.",
        offences(reads_environment, "gateway/config.py"),
    )


def test_only_the_cli_prints() -> None:
    verdict(
        "Only gateway/cli prints: a library that writes to the terminal breaks --json, pipes and logs.",
        "return what is to be said, or log it.",
        offences(prints, "gateway/cli/"),
    )


def test_nothing_asks_on_stdin() -> None:
    verdict(
        "Nobody answers input(): a gateway has no terminal, and a question to a person is a park.",
        "use ctx.request_input in a tool, and click's prompts in the CLI.",
        offences(asks_terminal),
    )


def test_one_module_imports_the_model_sdk() -> None:
    verdict(
        "Only gateway/models/anthropic*.py imports the SDK: it is slow to import, may be missing or"
        " broken, and its types must not reach the engine.",
        "speak to the Model seam.",
        offences(imports_anthropic, "gateway/models/anthropic"),
    )


def test_no_cancellation_is_swallowed() -> None:
    verdict(
        "A cancellation from outside always wins. Who catches CancelledError or BaseException (or"
        " everything) and doesn't raise makes a task that can't be stopped, and may eat a park.",
        "catch Exception; clean up in `finally`; to await a task that you cancelled, use"
        " `await asyncio.wait({task})`, which raises only for you.",
        offences(swallows_cancellation),
        SWALLOWERS,
    )


BITES: list[tuple[Check, str]] = [
    (reads_environment, "import os\nos.environ['HOME']"),
    (reads_environment, "import os as o\ndef f():\n    return o.getenv('HOME')"),
    (reads_environment, "from os import environ as e\ne.get('HOME')"),
    (prints, "print('x')"),
    (prints, "import sys\nsys.stderr.write('x')"),
    (prints, "from click import echo\necho('x')"),
    (asks_terminal, "def f():\n    return input('y/n')"),
    (imports_anthropic, "import anthropic"),
    (imports_anthropic, "def f():\n    from anthropic.types import Message"),
    (imports_anthropic, "import importlib\nimportlib.import_module('anthropic')"),
    *(
        (swallows_cancellation, source)
        for source in (
            "async def f():\n    try:\n        await g()\n    except:\n        pass",
            "async def f():\n    try:\n        await g()\n    except BaseException as e:\n        log(e)",
            (
                "import asyncio as a\nasync def f():\n    try:\n        await g()\n"
                "    except (OSError, a.CancelledError):\n        h()"
            ),
            (
                "async def f():\n    try:\n        async for x in g():\n            pass\n"
                "    except BaseException:\n        def h():\n            raise"
            ),
            (
                "import asyncio, contextlib\nasync def f():\n"
                "    with contextlib.suppress(asyncio.CancelledError):\n        await g()"
            ),
        )
    ),
]

PASSES: list[tuple[Check, str]] = [
    (reads_environment, "import os\nos.path.join('a', 'b')"),
    (prints, "import sys\ncolour = sys.stderr.isatty()"),
    (asks_terminal, "ctx.request_input(id='a')"),
    (imports_anthropic, "from gateway.models import anthropic"),
    (imports_anthropic, "from . import anthropic"),
    *(
        (swallows_cancellation, source)
        for source in (
            "async def f():\n    try:\n        await g()\n    except Exception:\n        pass",
            "async def f():\n    try:\n        await g()\n    except BaseException:\n        raise",
            "async def f():\n    try:\n        g()\n    except BaseException as e:\n        keep(e)",
            (
                "from asyncio import CancelledError as C\nasync def f():\n    try:\n        await g()\n"
                "    except C:\n        raise\n    except BaseException:\n        pass"
            ),
        )
    ),
]


@pytest.mark.parametrize(("check", "source"), BITES)
def test_a_breach_is_found(check: Check, source: str) -> None:
    assert list(check(ast.parse(source)))


@pytest.mark.parametrize(("check", "source"), PASSES)
def test_the_right_way_passes(check: Check, source: str) -> None:
    assert not list(check(ast.parse(source)))
