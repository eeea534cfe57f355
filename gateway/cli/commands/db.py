"""``gateway db``: the store's schema, and bringing it up to this release."""

from __future__ import annotations

import asyncio

import click

from gateway.cli.base import StatusGroup, pass_out
from gateway.cli.exits import Exit
from gateway.cli.out import Out, Part
from gateway.cli.problem import Finished, Problem
from gateway.cli.seat import settings
from gateway.engine.errors import SchemaTooNewError
from gateway.engine.kinds import JsonObject
from gateway.stores import open_store
from gateway.stores.versions import SchemaVersion, schema_version


@click.group(cls=StatusGroup, short_help="Look at the store's schema, migrate it.")
def db() -> None:
    """The store. A host migrates by itself when it starts; these do it on purpose."""


@db.command("status")
@pass_out
def status(out: Out) -> None:
    """Which schema the store has, and what this release would do about it. Changes nothing.

    Exit code 6 when the store was written by a newer release.
    """
    from gateway.cli.desk.choose import holder_of

    chosen = settings(out)
    found = asyncio.run(schema_version(chosen.database_url))
    held = holder_of(chosen)
    if out.json:
        out.data({**_json(found), "held_by": held})
    else:
        out.fields(_rows(found, held))
    if found.found > found.known:
        raise Finished(Exit.SCHEMA)


@db.command("migrate")
@pass_out
def migrate(out: Out) -> None:
    """Bring the store up to this release, after a verified copy where it is a file."""
    chosen = settings(out)

    async def bring_up() -> tuple[SchemaVersion, SchemaVersion]:
        before = await schema_version(chosen.database_url)
        if before.found > before.known:
            raise SchemaTooNewError(
                f"the store has schema version {before.found}, this release knows {before.known}",
                fix="install the release that wrote it, or a newer one",
            )
        if before.found == before.known:
            return before, before
        if (held := holder_of(chosen)) is not None:
            raise Problem(
                "store_in_use",
                f"process {held} holds the store",
                fix=f"kill {held}",
                exit_code=Exit.CONFLICT,
            )
        store = open_store(chosen.database_url)
        await store.open()
        await store.close()
        return before, await schema_version(chosen.database_url)

    from gateway.cli.desk.choose import holder_of

    before, after = asyncio.run(bring_up())
    if out.json:
        out.data({**_json(after), "was": before.found})
    elif before.found == after.found:
        out.say(("✓ ", "green"), f"nothing to do: {after.place} is at version {after.found}")
    else:
        out.say(("✓ ", "green"), f"{after.place}: version {before.found} → {after.found}")


def _json(found: SchemaVersion) -> JsonObject:
    return {
        "store": found.dialect,
        "place": found.place,
        "version": found.found,
        "newest": found.known,
        "bytes": found.size,
        "state": _state(found),
    }


def _state(found: SchemaVersion) -> str:
    if found.found == found.known:
        return "current"
    if found.found > found.known:
        return "newer"
    return "behind" if found.found else "empty"


def _rows(found: SchemaVersion, held: str | None) -> list[tuple[str, Part]]:
    told: dict[str, Part] = {
        "current": ("✓ up to date", "green"),
        "newer": ("✗ written by a newer release: install that one", "red"),
        "behind": ("! behind: gateway db migrate", "yellow"),
        "empty": ("not used yet: the first start makes it", "dim"),
    }
    rows: list[tuple[str, Part]] = [
        ("store", f"{found.dialect} · {found.place}"),
        ("schema", f"version {found.found} of {found.known}"),
        ("state", told[_state(found)]),
    ]
    if found.size is not None:
        rows.append(("size", f"{found.size / 1_048_576:.1f} MiB"))
    if held is not None:
        rows.append(("held by", f"process {held}"))
    return rows
