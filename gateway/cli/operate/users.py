"""``gateway users``: who may sign in to the operators' pages, and as what."""

from __future__ import annotations

import click

from gateway.cli.base import ListGroup, pass_out
from gateway.cli.commands.common import listing, now
from gateway.cli.out import Out, Part
from gateway.cli.seat import at_desk, settings
from gateway.cli.text import Style
from gateway.cli.told import text_of, whole
from gateway.engine.kinds import JsonObject
from gateway.host.console.access.visitor import ROLES
from gateway.host.hostfile import find_host, local_url

STYLES: dict[str, Style] = {"active": "green", "invited": "yellow", "disabled": "red"}
NAME = click.argument("name", metavar="NAME")
ROLE = click.Choice(ROLES)


@click.group(cls=ListGroup, short_help="Who may sign in to the operators' pages.")
def users() -> None:
    """The users of /console. A viewer looks, an operator also decides and retries, an admin also runs
    and pauses schedules."""


@users.command("list")
@pass_out
def list_users(out: Out) -> None:
    """All of them, by name."""
    with at_desk(out) as (portal, desk):
        found = portal.call(desk.users())
    at = now()

    def cells(row: JsonObject) -> list[Part]:
        state = text_of(row.get("state"))
        return [
            text_of(row.get("name")),
            text_of(row.get("role")),
            (state, STYLES.get(state, "")),
            out.when(whole(row.get("last_sign_in")) or None, at),
            str(whole(row.get("recovery_codes"))),
        ]

    columns = ("NAME", "ROLE", "STATE", "LAST SIGN-IN", "RECOVERY CODES")
    none = "nobody may sign in yet: gateway users add NAME --role admin"
    listing(out, found, columns, cells, empty=none)


@users.command("add")
@NAME
@click.option("--role", type=ROLE, required=True, help="What they may do.")
@pass_out
def add(out: Out, name: str, role: str) -> None:
    """Invite somebody: prints a link by which they choose a password and set up a second factor.

    It works once, for 24 hours. Needs GATEWAY_SECRET_KEYS, which seals second factors.
    """
    _change(out, name, "add", role)


@users.command("role")
@NAME
@click.argument("role", type=ROLE)
@pass_out
def set_role(out: Out, name: str, role: str) -> None:
    """Give somebody another role. It counts from their next click."""
    _change(out, name, "role", role)


@users.command("disable")
@NAME
@pass_out
def disable(out: Out, name: str) -> None:
    """Let somebody in no more. What they have open ends at once."""
    _change(out, name, "disable")


@users.command("enable")
@NAME
@pass_out
def enable(out: Out, name: str) -> None:
    """Let somebody in again who was disabled, with the password they had."""
    _change(out, name, "enable")


@users.command("reset")
@NAME
@pass_out
def reset(out: Out, name: str) -> None:
    """Forget somebody's password and second factor, and invite them anew. What they have open ends."""
    _change(out, name, "reset")


@users.command("link")
@pass_out
def link(out: Out) -> None:
    """Print a new link into the pages of the gateway dev that runs on this state folder.

    It works once, for five minutes, on this machine."""
    with at_desk(out) as (portal, desk):
        path = text_of(portal.call(desk.sign_in_link()).get("link"))
    host = find_host(settings(out).state)
    url = f"{host.url if host else ''}{path}"
    if out.json:
        out.data({"link": url})
        return
    out.say(url)


def _change(out: Out, name: str, do: str, role: str | None = None) -> None:
    with at_desk(out, keeps=True) as (portal, desk):
        found = portal.call(desk.change_user(name, do, role))
    link = text_of(found.get("link"))
    if link:
        link = _base(out) + link
    if out.json:
        out.data({**found, "link": link or None})
        return
    told = (
        f"{text_of(found.get('name'))}: {text_of(found.get('role'))}, {text_of(found.get('state'))}"
    )
    out.say(("✓", "green"), f" {told}")
    if link:
        out.say("  Their link, for one use within 24 hours. Whoever opens it becomes this user:")
        out.say(f"  {link}")


def _base(out: Out) -> str:
    """Where the pages are reached: as configured, or on this machine."""
    chosen = settings(out)
    if chosen.public_url:
        return chosen.public_url
    host = find_host(chosen.state)
    return host.url if host else local_url(chosen.host, chosen.port)
