"""How the CLI finds the host of its state directory: ``host.json`` beside the database.

It names process, URL, the store that is served and a file with a token, readable only by the user who
runs the host. The token is made anew at each start and dies with the process; whoever could read it could
as well open the database. Not so with a database elsewhere: its login isn't in there.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
from dataclasses import dataclass
from pathlib import Path
from typing import cast
from urllib.parse import parse_qsl, urlencode, urlsplit

from gateway.engine.kinds import JsonObject
from gateway.values import ApiToken, Secret

NAME, TOKEN_NAME = "host.json", "host.token"
LOGIN = frozenset({"user", "password", "passfile", "sslpassword"})
"""What of a database URL's query says who comes, and not whereto."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HostFile:
    """A running host, as its state directory tells of it."""

    pid: int
    url: str
    token_file: Path
    store: str
    """As ``store_named`` says it."""

    def token(self) -> str | None:
        try:
            return self.token_file.read_text("ascii").strip()
        except (OSError, UnicodeDecodeError):
            return None


def make_cli_token() -> ApiToken:
    return ApiToken("cli", Secret(secrets.token_urlsafe(32)), identities=("cli:",), proves=True)


def store_named(database_url: str) -> str:
    """The store that a URL names, without the login: two URLs that come out the same name the same one.
    Blocks: it follows links."""
    scheme, _, rest = database_url.partition("://")
    if scheme == "sqlite":
        return f"sqlite:///{Path(rest.removeprefix('/')).resolve()}"
    parts = urlsplit(database_url)
    if not parts.hostname:
        return database_url
    name = parts.path.strip("/") or parts.username or ""  # as PostgreSQL takes it
    asked = sorted(pair for pair in parse_qsl(parts.query) if pair[0].lower() not in LOGIN)
    found = f"postgresql://{parts.hostname}:{parts.port or 5432}/{name}"
    return f"{found}?{urlencode(asked)}" if asked else found


def announce(state: Path, url: str, token: ApiToken, database_url: str) -> HostFile:
    """Write both files, whole or not at all, the token first. Blocks: call it in a thread."""
    state.mkdir(parents=True, exist_ok=True)
    found = HostFile(
        pid=os.getpid(),
        url=url,
        token_file=(state / TOKEN_NAME).absolute(),
        store=store_named(database_url),
    )
    _write(state / TOKEN_NAME, token.secret.value + "\n")
    told: JsonObject = {
        "pid": found.pid,
        "url": found.url,
        "token_file": str(found.token_file),
        "store": found.store,
    }
    _write(state / NAME, json.dumps(told) + "\n")
    return found


def _write(path: Path, text: str) -> None:
    part = path.with_name(f"{path.name}.{os.getpid()}.part")
    descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    try:
        os.fchmod(descriptor, 0o600)
        os.write(descriptor, text.encode("utf-8"))
    finally:
        os.close(descriptor)
    part.replace(path)


def find_host(state: Path) -> HostFile | None:
    """The host that runs on this state directory, or ``None``. A file left behind by a killed
    process names one that is gone."""
    try:
        told = cast("JsonObject", json.loads((state / NAME).read_text("utf-8")))
        found = HostFile(
            pid=int(cast("int", told["pid"])),
            url=str(told["url"]),
            token_file=Path(str(told["token_file"])),
            store=str(told["store"]),
        )
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return found if _alive(found.pid) else None


def _alive(pid: int) -> bool:
    if pid <= 0 or _zombie(pid):
        return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:  # somebody else's process: alive
        return True
    return True


def _zombie(pid: int) -> bool:
    """Dead, while its parent hasn't asked how it ended: it takes signals and nothing else."""
    try:
        # The name stands in parentheses and may hold any; the state follows the last one.
        state = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[:1]
    except OSError:  # gone, or a system without /proc
        return False
    return state in ([b"Z"], [b"X"])


def withdraw(state: Path) -> None:
    """Remove the files, if they are still this process's own."""
    found = find_host(state)
    if found is not None and found.pid == os.getpid():
        for path in (state / NAME, found.token_file):
            with contextlib.suppress(OSError):
                path.unlink()


def local_url(host: str, port: int) -> str:
    """Where this machine reaches a bind address: the wildcard ones have no address of their own."""
    name = host.strip("[]")
    name = {"0.0.0.0": "127.0.0.1", "::": "::1", "": "127.0.0.1"}.get(name, name)  # noqa: S104
    return f"http://[{name}]:{port}" if ":" in name else f"http://{name}:{port}"
