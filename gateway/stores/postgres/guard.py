"""What a sync tool may say to PostgreSQL, and its ``?`` parameters → ``$1``.

The tools' role has no rights on the engine's tables; this is the line before it. It reads the
statement the way PostgreSQL's scanner does (comments, quotes, dollar quotes) and lets through what
reads or writes the tool's own data. It refuses what would leave the transaction or the role, or
outlive the call on the connection: whatever doesn't begin with a word of ``VERBS``, more than one
statement, and the functions in ``FUNCTIONS``, also inside quotes. ``??`` is the operator ``?``.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from typing import NamedTuple

from gateway.stores.handle import HandleError

VERBS = frozenset({
    *("select", "insert", "update", "delete", "merge", "with", "values", "table", "explain"),
    *("create", "alter", "drop", "truncate", "comment", "lock", "refresh", "analyze"),
})  # fmt: skip
TEMPORARY = frozenset({"temp", "temporary", "pg_temp"})
READS = frozenset({"select", "values", "table", "explain"})
WRITES = frozenset({"insert", "update", "delete", "merge"})
OBJECTS = frozenset({"table", "index", "view", "sequence", "type", "domain", "materialized"})
"""What ``create``, ``alter`` and ``drop`` may be about: a function or a trigger would run code under
another role, or after the call."""
MODIFIERS = frozenset({
    *("or", "replace", "temp", "temporary", "global", "local", "unlogged", "unique", "recursive"),
})  # fmt: skip

FUNCTIONS = frozenset({
    *("set_config", "pg_settings", "pg_notify"),
    # They run text as SQL, out of sight of this guard.
    *("query_to_xml", "query_to_xmlschema", "query_to_xml_and_xmlschema", "ts_stat", "ts_rewrite"),
    # They hold a lock beyond the transaction.
    *("pg_advisory_lock", "pg_advisory_lock_shared", "pg_advisory_unlock"),
    *("pg_try_advisory_lock", "pg_try_advisory_lock_shared"),
    *("pg_advisory_unlock_shared", "pg_advisory_unlock_all"),
})  # fmt: skip
ENGINE = "gw"
"""The engine's schema; ``gw_`` begins its tables' names on SQLite, so tools avoid both."""

_TOKEN = re.compile(
    r"""
      (?P<space> \s+ | --[^\n]* )
    | (?P<comment> /\* )
    | (?P<text> [eE]'(?:[^'\\]|''|\\.)*' | (?:[bBxXnN]|[uU]&)?'(?:[^']|'')*' )
    | (?P<dollar> \$(?P<tag>[^\W\d]\w*)?\$ )
    | (?P<unicode> [uU]&" )
    | (?P<quoted> "(?:[^"]|"")*" )
    | (?P<word> (?![eE]')[^\W\d][\w$]* )
    | (?P<number> \d[\w.]* )
    | (?P<numbered> \$\d )
    | (?P<literal> \?\? )
    | (?P<parameter> \? )
    | (?P<end> ; )
    | (?P<other> (?![eE]')[^'"] )
    """,
    re.VERBOSE | re.DOTALL,
)


class Admitted(NamedTuple):
    sql: str
    rows: bool
    """Whether the statement answers with rows."""
    temporary: bool
    """Whether it may leave something in ``pg_temp``."""


@functools.lru_cache(maxsize=512)
def admitted(sql: str) -> Admitted:
    """The statement as the driver takes it; raises ``HandleError`` for what a tool may not say."""
    out: list[str] = []
    words: list[str] = []
    outer: list[str] = []
    depth = parameters = 0
    ended = False
    for kind, token in _tokens(sql):
        if kind in {"space", "comment"}:
            # A line break between two strings makes them one, so it stays.
            out.append("\n" if "\n" in token else " ")
            continue
        if ended:
            raise HandleError("one statement at a time: call execute() again for the next")
        if kind == "end":
            ended = True
            continue
        if kind in {"word", "quoted"}:
            words.append(_checked(token))
            if depth == 0:
                outer.append(words[-1])
        elif kind == "parameter":
            parameters += 1
            token = f"${parameters}"  # noqa: PLW2901
        elif kind == "literal":
            token = "?"  # noqa: PLW2901, S105
        depth += {"(": 1, ")": -1}.get(token, 0)
        out.append(token)
    _check_verb(words)
    temporary = not TEMPORARY.isdisjoint(words)
    return Admitted("".join(out), _answers(words[0], outer), temporary)


def _answers(verb: str, outer: list[str]) -> bool:
    if verb == "with":
        verb = next((word for word in outer if word in READS | WRITES), "")
    return verb in READS or (verb in WRITES and "returning" in outer)


def _tokens(sql: str) -> Iterator[tuple[str, str]]:
    at = 0
    while at < len(sql):
        found = _TOKEN.match(sql, at)
        kind = found.lastgroup if found else None
        if found is None or kind is None:
            raise HandleError("a quote in the statement is never closed")
        end = found.end()
        if kind == "comment":
            end = _comment_end(sql, end)
        elif found["dollar"] is not None:
            kind = "text"
            end = sql.find(found["dollar"], end) + len(found["dollar"])
            if end < found.end() + len(found["dollar"]):
                raise HandleError("a dollar quote in the statement is never closed")
        elif kind == "numbered":
            raise HandleError("write ? for a parameter, as on every backend")
        elif kind == "unicode":
            raise HandleError('write names without U&"…"')
        yield kind, sql[at:end]
        at = end


def _comment_end(sql: str, at: int) -> int:
    """Comments nest in PostgreSQL."""
    depth = 1
    for found in re.compile(r"/\*|\*/").finditer(sql, at):
        depth += 1 if found[0] == "/*" else -1
        if depth == 0:
            return found.end()
    raise HandleError("a comment in the statement is never closed")


def _checked(token: str) -> str:
    name = token[1:-1].replace('""', '"') if token.startswith('"') else token
    folded = name.lower()
    if folded in FUNCTIONS or folded.startswith("dblink"):
        raise HandleError(f"{name} isn't for tools: it reaches beyond the call's transaction")
    if folded == ENGINE or folded.startswith(f"{ENGINE}_"):
        raise HandleError(f"{name}: names that begin with {ENGINE}_ are the engine's own")
    return folded if name is token else f'"{name}"'


def _check_verb(words: list[str]) -> None:
    verb = words[0] if words else ""
    if verb not in VERBS:
        raise HandleError(
            f"{verb.upper() or 'an empty statement'} isn't for tools: the engine begins and ends"
            " the transaction; a tool reads and writes its own tables"
        )
    if verb in {"create", "alter", "drop"}:
        about = next((word for word in words[1:] if word not in MODIFIERS), "")
        if about not in OBJECTS:
            raise HandleError(f"{verb.upper()} {about.upper()} isn't for tools")
