"""What opening does to a database, and what it says when it can't."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import psycopg
import pytest
from psycopg import sql

from gateway.engine.errors import ConfigError, GatewayError, StoreUnavailableError
from gateway.engine.kinds import SessionRef
from gateway.stores import open_store as open_by_url
from gateway.stores.postgres import PostgresStore
from gateway.stores.postgres.schema import MIGRATIONS, NAME_BYTES, literal, tool_role
from tests.conformance.store_kit import begin, query
from tests.support.postgres import PostgresServer

Admin = psycopg.Connection[Any]


def with_login(url: str, user: str, password: str) -> str:
    parts = urlsplit(url)
    return urlunsplit(parts._replace(netloc=f"{user}:{password}@{parts.hostname}:{parts.port}"))


@pytest.fixture
def postgres_url(empty_postgres_url: str) -> str:
    """Everything here begins without the engine's tables."""
    return empty_postgres_url


@pytest.fixture
def admin(postgres_url: str) -> Iterator[Admin]:
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        yield connection


@pytest.fixture
def login(admin: Admin, postgres_url: str) -> str:
    """The URL of an ordinary user, who owns nothing yet and goes with the server."""
    name = f"app_{admin.info.dbname}"
    admin.execute(sql.SQL("CREATE ROLE {} LOGIN PASSWORD 'pw'").format(sql.Identifier(name)))
    return with_login(postgres_url, name, "pw")


def user_of(url: str) -> str:
    return str(urlsplit(url).username)


def let(admin: Admin, statement: str, *names: str) -> None:
    identifiers = [sql.Identifier(name) for name in names]
    admin.execute(sql.SQL(statement).format(*identifiers))


async def refused(url: str, kind: type[GatewayError]) -> GatewayError:
    store = PostgresStore(url, timeout=5.0)
    with pytest.raises(kind) as caught:
        await store.open()
    with pytest.raises(StoreUnavailableError):
        await store.beat("x")
    await store.close()
    error = caught.value
    assert error.fix
    chain: BaseException | None = error
    while chain is not None:
        assert "s3cret" not in f"{chain} {getattr(chain, 'fix', '')}"
        chain = chain.__cause__ or chain.__context__
    return error


async def works(url: str, key: str = "s") -> None:
    store = PostgresStore(url)
    await store.open()
    _, fence = await begin(store, SessionRef("june", key))
    await query(store, fence, "CREATE TABLE orders (item text)")
    await query(store, fence, "INSERT INTO orders VALUES (?)", "a")
    assert await query(store, fence, "SELECT item FROM orders") == [("a",)]
    await store.close()


@pytest.mark.postgres
async def test_hosts_that_start_together_migrate_once(postgres_url: str, admin: Admin) -> None:
    stores = [PostgresStore(postgres_url) for _ in range(6)]
    async with asyncio.TaskGroup() as tasks:
        for store in stores:
            tasks.create_task(store.open())
    versions = admin.execute("SELECT version FROM gw.schema ORDER BY version").fetchall()
    assert versions == [(migration.version,) for migration in MIGRATIONS]
    async with asyncio.TaskGroup() as tasks:
        for store in stores:
            tasks.create_task(store.close())


@pytest.mark.postgres
async def test_opening_again_changes_nothing(postgres_url: str, admin: Admin) -> None:
    await works(postgres_url)
    listing = "SELECT oid, relname, relacl::text FROM pg_class WHERE relname !~ 'pg_' ORDER BY 1"
    before = admin.execute(listing).fetchall()
    store = PostgresStore(postgres_url)
    await store.open()
    await store.close()
    assert admin.execute(listing).fetchall() == before


@pytest.mark.postgres
async def test_an_owner_that_may_create_roles_needs_nothing_else(admin: Admin, login: str) -> None:
    let(admin, "ALTER ROLE {} CREATEROLE", user_of(login))
    let(admin, "ALTER DATABASE {} OWNER TO {}", admin.info.dbname, user_of(login))
    await works(login)


@pytest.mark.postgres
async def test_an_owner_that_may_not_create_roles_is_told_the_statements(
    admin: Admin, login: str
) -> None:
    let(admin, "ALTER DATABASE {} OWNER TO {}", admin.info.dbname, user_of(login))
    error = await refused(login, ConfigError)
    assert f'"gw_tool_{admin.info.dbname}"' in error.fix
    for_admin, _, for_owner = error.fix.partition("; then as ")
    _, _, statements = for_admin.partition(": ")
    admin.execute(statements.encode())
    with psycopg.connect(login, autocommit=True) as owner:
        owner.execute(for_owner.partition(": ")[2].encode())
    await works(login)


@pytest.mark.postgres
async def test_a_user_without_rights_to_the_database_is_told_the_statement(
    admin: Admin, login: str
) -> None:
    error = await refused(login, ConfigError)
    found = re.search(r"CREATE SCHEMA .*", error.fix)
    assert found is not None
    admin.execute(found[0].encode())
    second = await refused(login, ConfigError)
    assert "CREATE ROLE" in second.fix


@pytest.mark.postgres
async def test_tools_live_in_the_first_schema_of_the_users_path(admin: Admin, login: str) -> None:
    let(admin, "ALTER ROLE {} CREATEROLE", user_of(login))
    let(admin, "ALTER DATABASE {} OWNER TO {}", admin.info.dbname, user_of(login))
    let(admin, "CREATE SCHEMA shop AUTHORIZATION {}", user_of(login))
    let(admin, "ALTER ROLE {} SET search_path = shop", user_of(login))
    await works(login)
    assert admin.execute("SELECT item FROM shop.orders").fetchall() == [("a",)]


@pytest.mark.postgres
async def test_a_role_that_lost_its_rights_is_seen_to(postgres_url: str, admin: Admin) -> None:
    await works(postgres_url)
    role = tool_role(admin.info.dbname)
    let(admin, "REVOKE CREATE ON SCHEMA public FROM {}", role)
    let(admin, "DROP TABLE public.orders")
    await works(postgres_url, "again")
    let(admin, "GRANT USAGE ON SCHEMA gw TO {}", role)
    error = await refused(postgres_url, ConfigError)
    assert role in str(error)


@pytest.mark.postgres
async def test_a_wrong_password_is_a_setting(postgres_url: str) -> None:
    error = await refused(with_login(postgres_url, "june", "s3cret"), ConfigError)
    assert "password" in str(error)


@pytest.mark.postgres
async def test_an_unknown_database_is_a_setting(postgres_url: str) -> None:
    await refused(urlsplit(postgres_url)._replace(path="/nowhere").geturl(), ConfigError)


async def test_a_server_that_is_not_there_is_unavailable() -> None:
    error = await refused("postgresql://june:s3cret@127.0.0.1:9/june", StoreUnavailableError)
    assert "DATABASE_URL" in error.fix


@pytest.mark.postgres
async def test_a_database_in_another_encoding_is_refused(postgres: PostgresServer) -> None:
    with psycopg.connect(postgres.url(), autocommit=True) as connection:
        connection.execute("CREATE DATABASE latin ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0")
        try:
            error = await refused(postgres.url("latin"), ConfigError)
            assert "LATIN1" in str(error)
        finally:
            connection.execute("DROP DATABASE latin WITH (FORCE)")


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://june:s3cret/x@host/june",
        "postgresql://june:s3cret@x@host/june",
        "postgresql://june:x@host:s3cret/june",
        "mysql://june:s3cret@host/june",
        "june:s3cret@host",
        "postgresql://[june:s3cret@host/x",
    ],
)
def test_a_url_that_is_none_is_refused_without_repeating_it(url: str) -> None:
    with pytest.raises(ConfigError) as caught:
        PostgresStore(url)
    assert "s3cret" not in f"{caught.value} {caught.value.fix} {caught.value.__cause__}"
    assert caught.value.__suppress_context__


@pytest.mark.parametrize("scheme", ["postgresql", "postgres"])
def test_a_url_picks_this_store(scheme: str) -> None:
    assert isinstance(open_by_url(f"{scheme}://june@127.0.0.1/june"), PostgresStore)


def test_the_tools_role_is_named_after_the_database() -> None:
    assert tool_role("june") == "gw_tool_june"
    long = {tool_role("x" * 63), tool_role("x" * 62 + "y")}
    assert len(long) == 2
    assert all(len(name) <= NAME_BYTES for name in long)


@pytest.mark.parametrize(
    ("text", "written"), [("a", "'a'"), ("it's", "'it''s'"), ("\\'", " E'\\\\'''")]
)
def test_text_in_a_script_is_quoted(text: str, written: str) -> None:
    assert literal(text) == written
