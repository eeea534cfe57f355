"""What holds for every test: a clean environment, no network, an event loop left as it was found."""

from __future__ import annotations

import asyncio
import gc
import shutil
import tempfile
from collections.abc import AsyncIterator, Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from blockbuster import BlockBuster
from hypothesis import HealthCheck, settings

from tests.support.hermetic import clean_environment, forbid_network
from tests.support.postgres import PostgresServer

# A normal run draws the same examples every time; `make chaos` draws new and many more. Nothing here
# is timed: a busy machine is no reason to fail.
settings.register_profile(
    "seeded", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile(
    "chaos", settings.get_profile("seeded"), derandomize=False, max_examples=2_000
)
settings.load_profile("seeded")

MUST_RUN = ("postgres", "crash", "foreign", "browser", "mail")
TASK_GRACE = 0.2

# Where product code may block the loop: (call, file, function), each with its reason.
MAY_BLOCK: tuple[tuple[str, str, str], ...] = (
    # asyncpg looks for TLS files beside the user's when it connects: a few local stat calls.
    ("os.path.abspath", "asyncpg/connect_utils.py", "_dot_postgresql_path"),
    ("os.readlink", "asyncpg/connect_utils.py", "_dot_postgresql_path"),
    ("os.stat", "asyncpg/connect_utils.py", "_parse_connect_dsn_and_args"),
    # Once a process, when a store's module is first imported.
    ("io.TextIOWrapper.read", "gateway/stores/sql/__init__.py", "load_queries"),
    # A row that a key leads to takes less time than telling a thread of it (ADR 17).
    ("sqlite3.Connection.execute", "gateway/stores/sqlite/readers.py", "few"),
    ("sqlite3.Cursor.fetchall", "gateway/stores/sqlite/readers.py", "few"),
)


def pytest_configure(config: pytest.Config) -> None:
    """Before anything of the product is imported."""
    home = Path(tempfile.mkdtemp(prefix="june-home-"))
    config.add_cleanup(lambda: shutil.rmtree(home, ignore_errors=True))
    clean_environment(home)
    forbid_network()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Write into the report which tests may not be skipped; .ci/ran.py looks them up there."""
    for item in items:
        for marker in MUST_RUN:
            if item.get_closest_marker(marker):
                item.user_properties.append(("must-run", marker))


def pytest_collection_finish() -> None:
    """Set what exists by now aside, so that the garbage collection after each test is quick."""
    gc.collect()
    gc.freeze()


def pytest_sessionfinish() -> None:
    """Let the last collection see everything again."""
    gc.unfreeze()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """What a test logged may be no text that goes from one process to another."""
    report = yield
    report.sections = [
        (name, said.encode(errors="replace").decode()) for name, said in report.sections
    ]
    return report


@pytest.fixture(scope="session", autouse=True)
def no_blocking_calls() -> Iterator[None]:
    """Product code that blocks a running loop (a sleep, a file, a lock, SQLite) fails its test."""
    detector = BlockBuster(["gateway", "channels"])
    for call, file, function in MAY_BLOCK:
        detector.functions[call].can_block_in(file, function)
    detector.activate()
    yield
    detector.deactivate()


@pytest.fixture(autouse=True)
async def tidy_loop() -> AsyncIterator[None]:
    """No task outlives its test, and no exception is left for the loop to report."""
    loop = asyncio.get_running_loop()
    complaints: list[str] = []

    def complain(_: asyncio.AbstractEventLoop, context: dict[str, object]) -> None:
        complaints.append(f"{context.get('message')}: {context.get('exception')!r}")

    loop.set_exception_handler(complain)
    yield
    if leaked := _others():
        _, leaked = await asyncio.wait(leaked, timeout=TASK_GRACE)
    gc.collect()  # a task that failed unheard says so when it is collected
    gc.freeze()
    loop.set_exception_handler(None)
    assert not leaked, f"tasks that outlived the test (who owns them?): {sorted(map(str, leaked))}"
    assert not complaints, f"exceptions that nobody awaited: {complaints}"


def _others() -> set[asyncio.Task[object]]:
    return asyncio.all_tasks() - {asyncio.current_task()}


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    """One server for the whole run."""
    server = PostgresServer()
    yield server
    server.remove()


@pytest.fixture(scope="session")
def migrated(postgres: PostgresServer) -> str:
    """A database as the store leaves it that opens it first: copying it is quicker than that."""
    from gateway.stores.postgres import PostgresStore

    async def open_once(url: str) -> None:
        store = PostgresStore(url)
        await store.open()
        await store.close()

    def fill(url: str) -> None:
        with ThreadPoolExecutor() as thread:  # which has no loop yet
            thread.submit(asyncio.run, open_once(url)).result()

    return postgres.template("migrated", fill)


@pytest.fixture
def postgres_url(postgres: PostgresServer, migrated: str) -> Iterator[str]:
    """A new database for one test: the engine's tables are there and empty, and nothing else."""
    with postgres.database(migrated) as url:
        yield url


@pytest.fixture
def empty_postgres_url(postgres: PostgresServer) -> Iterator[str]:
    """A new database for one test, with nothing in it."""
    with postgres.database() as url:
        yield url
