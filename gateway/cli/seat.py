"""Where a command sits down: settings read, a desk opened, the person named."""

from __future__ import annotations

import logging
from collections.abc import Collection, Generator
from contextlib import contextmanager

from gateway.cli.desk import Desk
from gateway.cli.dotenv import DOTENV
from gateway.cli.out import Out
from gateway.cli.portal import Portal
from gateway.config import Settings


def settings(out: Out) -> Settings:
    """The settings of a command. Like every command but ``serve``, it reads ``.env``: whoever types
    here works in a project, and ``config show --origin`` says what came from it."""
    loaded = Settings.load(dotenv=DOTENV)
    quieten(out, loaded.secrets)
    return loaded


def quieten(out: Out, secrets: Collection[str] = ()) -> None:
    """What the engine logs is for hosts; a person sees the outcome. ``--debug`` shows all, but for
    configured secrets."""
    if out.debug:
        from gateway.log import configure

        configure(level=logging.DEBUG, secrets=secrets, stream=out.stderr)
    else:
        logging.getLogger().addHandler(logging.NullHandler())


def user() -> str:
    """Who sits here, as the system knows: a name in the environment could be anybody's."""
    try:
        import os
        import pwd

        return pwd.getpwuid(os.getuid()).pw_name
    except (ImportError, KeyError):
        return "local"


def identity() -> str:
    return f"cli:{user()}"


@contextmanager
def at_desk(
    out: Out, *, works: bool = False, keeps: bool = False
) -> Generator[tuple[Portal, Desk]]:
    """A portal and a desk for one command. ``works``: the command starts or answers turns, so
    without a host this process becomes one for as long as it takes. ``keeps``: it writes down what no
    turn has to do with."""
    from gateway.cli.desk.choose import open_desk

    chosen = settings(out)
    with (
        Portal() as portal,
        portal.hold(open_desk(chosen, identity(), works=works, keeps=keeps)) as desk,
    ):
        yield portal, desk
