"""Writes the tables of ``docs/reference.md`` from the code: ``python -m tests.meta.reference``.

A table stands between ``<!-- made: name -->`` and ``<!-- end -->``; what is around them is written by
hand and stays.
"""

from __future__ import annotations

import importlib
import pkgutil
import re
import sqlite3
import typing
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import MISSING, fields
from typing import Any, Literal, cast

import click

import gateway
from gateway.cli.app import cli
from gateway.cli.exits import Exit, exit_for
from gateway.config import ROWS, Settings
from gateway.definition import Agent
from gateway.definition.layout import FILES, FOLDERS
from gateway.engine import events as ev
from gateway.engine.errors import GatewayError
from gateway.engine.kinds import JsonObject, Millis
from gateway.engine.limits import Limits
from gateway.engine.messages import ToolCall
from gateway.engine.model import Usage
from gateway.engine.records import COMPANIONS, WAYS
from gateway.engine.runtime import Runtime
from gateway.engine.wire.events import event_json
from gateway.host.api import Api
from gateway.host.app import openapi_route
from gateway.host.metrics import Metrics
from gateway.host.openapi import problem_statuses
from gateway.host.routes import all_routes
from gateway.host.table import Route
from gateway.log import FIELDS
from gateway.stores.sql import load_migrations
from gateway.values import RIGHTS
from tests.meta import reference_words as words
from tests.meta.tree import ROOT, text

DOCUMENT = "docs/reference.md"
COMMAND = "python -m tests.meta.reference"
_TABLE = re.compile(r"(<!-- made: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)


class WordsError(Exception):
    """The code and the words of the reference don't speak of the same things."""


def document(current: str) -> str:
    """The reference with its tables as the code has them today."""
    found = {name for _, name, _ in _TABLE.findall(current)}
    if found != set(TABLES):
        raise WordsError(f"tables that are in one place only: {sorted(found ^ set(TABLES))}")
    return _TABLE.sub(lambda m: f"{m[1]}{TABLES[m[2]]()}\n{m[3]}", current)


def _same(what: str, code: Iterable[str], said: Mapping[str, object]) -> None:
    """Complain about what has no words, and about words for what is gone."""
    names = set(code)
    if names != set(said):
        raise WordsError(
            f"tests/meta/reference_words.py, {what}: without words {sorted(names - set(said))},"
            f" gone {sorted(set(said) - names)}"
        )


def table(head: str, rows: Iterable[Iterable[str]]) -> str:
    names = [name.strip() for name in head.split("|")]
    lines = [names, ["---"] * len(names), *([cell.replace("|", r"\|") for cell in r] for r in rows)]
    return "\n".join(
        "|" + "|".join(f" {cell} " if cell else " " for cell in line) + "|" for line in lines
    )


def code(name: object) -> str:
    return f"`{name}`"


# -- HTTP --------------------------------------------------------------------------------------------
def _routes() -> list[Route]:
    api = Api(runtime=cast("Runtime", None), agent="")  # nothing is called, the table is only read
    listed = [*all_routes(api)]
    return [*listed, openapi_route(listed, api)]


def routes() -> str:
    return table("route | right | does | query", (_route(route) for route in _routes()))


def _route(route: Route) -> Iterator[str]:
    yield code(f"{route.method} {route.path}")
    yield "none" if route.open else (route.right or "any token")
    yield route.about
    asked = [f"{code('?' + q.name)} {q.about}" for q in route.query if q.offered]
    yield " ".join([*asked, *(f"{code(h.name)} {h.about}" for h in route.headers)])


def replies() -> str:
    rows = ((code(r.name), *_statuses(r)) for r in _routes() if r.replies or r.problems)
    return table("operation | answers | problems", rows)


def _statuses(route: Route) -> Iterator[str]:
    yield "; ".join(
        f"{status} {reply.about.rstrip('.')}" for status, reply in route.replies.items()
    )
    yield ", ".join(str(status) for status in sorted(problem_statuses(route)))


def rights() -> str:
    _same("RIGHTS", RIGHTS, words.RIGHTS)
    return table("right | lets its holder", ((code(r), words.RIGHTS[r]) for r in RIGHTS))


# -- events ------------------------------------------------------------------------------------------
def events() -> str:
    kinds = cast("tuple[type[ev.Event], ...]", typing.get_args(ev.TurnEvent))
    _same("EVENTS", (kind.type for kind in kinds), words.EVENTS)
    return table("event | durable | own fields | tells", (_event(kind) for kind in kinds))


def _event(kind: type[ev.Event]) -> Iterator[str]:
    yield code(kind.type)
    yield ("yes, the last" if kind.terminal else "yes") if kind.durable else ""
    yield ", ".join(_fields(kind))
    yield words.EVENTS[kind.type]


def _fields(kind: type[ev.Event]) -> Iterator[str]:
    base: dict[str, Any] = {"turn_id": "t", "session": "s", "at": Millis(0)}
    if kind is ev.UsageEvent:
        yield from (code(name) for name in _sent(ev.UsageEvent(usage=Usage(), message=0, **base)))
        return
    if kind is ev.ActionRequested:
        sent = _sent(ev.ActionRequested(call=ToolCall("c", "n", {}), message=0, **base))
        yield f"`call` ({', '.join(map(code, cast('JsonObject', sent['call'])))})"
        return
    own = {field.name for field in fields(kind)} - {field.name for field in fields(ev.Event)}
    hints = typing.get_type_hints(kind)
    for field in fields(kind):
        if field.name in own - {"message"}:  # where it stands in the transcript isn't sent
            yield f"`{field.name}`{_hint(hints[field.name])}"


def _sent(event: ev.TurnEvent) -> JsonObject:
    return {
        k: v for k, v in event_json(event).items() if k not in {"type", "turn_id", "session", "at"}
    }


def _hint(hint: object) -> str:
    """What a reader must know of a type: the values it can have, and whether it may be absent."""
    if typing.get_origin(hint) is Literal:
        return f" ({', '.join(map(code, typing.get_args(hint)))})"
    return "?" if type(None) in typing.get_args(hint) else ""


# -- errors ------------------------------------------------------------------------------------------
def errors() -> str:
    found: dict[str, type[GatewayError]] = {}
    for kind in _kinds(GatewayError):
        if kind.__module__.startswith("gateway."):  # a test may have one of its own
            found.setdefault(kind.code, kind)
    _same("ERRORS", found, words.ERRORS)
    return table(
        "code | status | whose fault | exit | means | fix",
        (_error(found[name]) for name in sorted(found)),
    )


def _error(kind: type[GatewayError]) -> Iterator[str]:
    means, fix = words.ERRORS[kind.code]
    yield code(kind.code)
    yield str(kind.status)
    yield kind.fault
    yield str(int(exit_for(kind.code, kind.status)))
    yield means
    yield fix


def _kinds(kind: type[GatewayError]) -> Iterator[type[GatewayError]]:
    yield kind
    for child in kind.__subclasses__():
        yield from _kinds(child)


def _import_all() -> None:
    """Every module, so that every error is there to be asked for."""
    for module in pkgutil.walk_packages(gateway.__path__, "gateway."):
        if not module.name.startswith(("gateway.__main__", "gateway.testing")):
            importlib.import_module(module.name)


# -- settings ----------------------------------------------------------------------------------------
def settings() -> str:
    channels = {row.env: words.LATER for row in ROWS if re.match("CRISP_", row.env)}
    said = {**words.SETTINGS, **channels}
    _same("SETTINGS", (row.env for row in ROWS), said)
    plain = Settings()
    rows = (
        (
            code(row.env),
            code(row.key),
            _default(row.show(getattr(plain, row.field))),
            "yes" if row.mask == "all" else "its password" if row.mask == "password" else "",
            said[row.env],
        )
        for row in ROWS
    )
    return table("variable | key in gateway.toml | default | secret | means", rows)


def _default(shown: str) -> str:
    return code(shown.removesuffix(".0")) if shown else ""


def limits() -> str:
    _same("LIMITS", (field.name for field in fields(Limits)), words.LIMITS)
    plain = Limits()
    rows = (
        (code(f.name), _default(str(getattr(plain, f.name) or "")), words.LIMITS[f.name])
        for f in fields(Limits)
    )
    return table("limit | default | is", rows)


# -- commands ----------------------------------------------------------------------------------------
def commands() -> str:
    with click.Context(cli, info_name="gateway") as ctx:
        return table("command | does", _commands(cli, ctx))


def _commands(command: click.Command, ctx: click.Context) -> Iterator[tuple[str, str]]:
    if not isinstance(command, click.Group):
        yield code(" ".join([ctx.command_path, *_parameters(command)])), _about(command)
        return
    for name in command.list_commands(ctx):
        child = command.get_command(ctx, name)
        assert child is not None
        with click.Context(child, info_name=name, parent=ctx) as inner:
            yield from _commands(child, inner)


def _parameters(command: click.Command) -> Iterator[str]:
    with click.Context(command) as ctx:
        for parameter in command.params:
            if isinstance(parameter, click.Argument):
                yield _metavar(parameter, ctx)
            elif isinstance(parameter, click.Option) and parameter.is_flag:
                yield f"[{'/'.join([*parameter.opts, *parameter.secondary_opts])}]"
            else:
                option = f"{parameter.opts[0]} {_metavar(parameter, ctx)}"
                yield option if parameter.required else f"[{option}]"


def _metavar(parameter: click.Parameter, ctx: click.Context) -> str:
    return parameter.make_metavar(ctx).replace("INTEGER RANGE", "N")


def _about(command: click.Command) -> str:
    first = (command.help or "").replace("\b", "").split("\n\n")[0]
    return " ".join(first.split()).replace("``", "`")


def exits() -> str:
    _same("EXITS", (one.name for one in Exit), words.EXITS)
    return table("exit code | means", ((str(int(one)), words.EXITS[one.name]) for one in Exit))


# -- the rest ----------------------------------------------------------------------------------------
def agent() -> str:
    _same("AGENT", (field.name for field in fields(Agent)), words.AGENT)
    rows = (
        (
            code(f.name),
            "yes" if f.default is f.default_factory is MISSING else "",
            words.AGENT[f.name],
        )
        for f in fields(Agent)
    )
    return table("field of Agent | required | is", rows)


def directory() -> str:
    _same("DIRECTORY", (*FILES, *FOLDERS), words.DIRECTORY)
    rows = (
        (code(name if name in FILES else f"{name}/"), said)
        for name, said in words.DIRECTORY.items()
    )
    return table("in the agent directory | holds", rows)


def companions() -> str:
    _same("COMPANIONS", (kind.TABLE for kind in COMPANIONS), words.COMPANIONS)
    _same("WAYS", {*words.WAYS, *(kind.TABLE for kind in WAYS)}, words.WAYS)
    rows: list[tuple[str, Iterable[str], str]] = [
        (
            f"gw_{kind.TABLE}",
            (f.name for f in fields(cast("Any", kind))),
            words.COMPANIONS[kind.TABLE],
        )
        for kind in COMPANIONS
    ]
    rows += [(f"gw_{name}", _columns(f"gw_{name}"), about) for name, about in words.WAYS.items()]
    return table(
        "table | columns | holds",
        ((code(name), ", ".join(map(code, columns)), about) for name, columns, about in rows),
    )


def _columns(name: str) -> Iterator[str]:
    """As the migrations make them."""
    with closing(sqlite3.connect(":memory:")) as connection:
        for migration in load_migrations("sqlite"):
            connection.executescript(migration.script)
        found = connection.execute("SELECT name FROM pragma_table_info(?)", (name,)).fetchall()
    if not found:
        raise WordsError(f"tests/meta/reference_words.py, WAYS: there is no table {name}")
    return (column for (column,) in found)


def log_fields() -> str:
    names = dict.fromkeys(FIELDS.values())
    return ", ".join(map(code, names)) + "."


def metrics() -> str:
    counted = re.findall(r"# HELP (\w+) (.*)\n# TYPE \w+ (\w+)", Metrics().text({}))
    gauges = re.findall(
        r'"(gateway_\w+)"\]? ?[:=] ?\("([^"]*)"', text("gateway/host/routes/operate.py")
    )
    rows = [*counted, *((name, about, "gauge") for name, about in gauges)]
    return table("metric | kind | counts", ((code(n), kind, a) for n, a, kind in sorted(rows)))


TABLES: dict[str, Callable[[], str]] = {
    made.__name__: made
    for made in (
        routes, replies, rights, events, errors, settings, limits, commands, exits, agent,
        directory, companions, log_fields, metrics,
    )
}  # fmt: skip

_import_all()

if __name__ == "__main__":
    (ROOT / DOCUMENT).write_text(document(text(DOCUMENT)), encoding="utf-8")
