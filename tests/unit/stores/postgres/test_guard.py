"""What a tool may say, and how its question marks become the driver's parameters."""

from __future__ import annotations

import pytest

from gateway.stores.handle import HandleError
from gateway.stores.postgres.guard import admitted

TRANSLATED = {
    "SELECT ?": "SELECT $1",
    "select ?, ?, a": "select $1, $2, a",
    "SELECT '?' || a FROM t WHERE b = ?": "SELECT '?' || a FROM t WHERE b = $1",
    "SELECT 'it''s ?', ?": "SELECT 'it''s ?', $1",
    r"SELECT E'\'?', ?": r"SELECT E'\'?', $1",
    r"SELECT '\', ?": r"SELECT '\', $1",
    'SELECT "a?" FROM "t""?" WHERE x=?': 'SELECT "a?" FROM "t""?" WHERE x=$1',
    "SELECT 1 -- why?\n, ?": "SELECT 1  \n, $1",
    "SELECT /* ? /* ? */ ? */ ?": "SELECT   $1",
    "SELECT $$ ? $$, ?": "SELECT $$ ? $$, $1",
    "SELECT $a$ ? $$ ? $a$, ?": "SELECT $a$ ? $$ ? $a$, $1",
    "SELECT a$b$c, ? FROM t": "SELECT a$b$c, $1 FROM t",
    "SELECT body ?? 'key' FROM t": "SELECT body ? 'key' FROM t",
    "SELECT body ??| ? FROM t": "SELECT body ?| $1 FROM t",
    "SELECT 'a'\n'b'": "SELECT 'a'\n'b'",
    "SELECT 1;": "SELECT 1",
    "SELECT 1 ; -- done": "SELECT 1   ",
    "(SELECT 1) UNION (SELECT ?)": "(SELECT 1) UNION (SELECT $1)",
    "SELECT a::text, %s": "SELECT a::text, %s",
}

ALLOWED = [
    "INSERT INTO t VALUES (1)", "UPDATE t SET a = 1", "DELETE FROM t", "TRUNCATE t",
    "WITH x AS (SELECT 1) SELECT * FROM x", "VALUES (1)", "TABLE t", "EXPLAIN SELECT 1",
    "MERGE INTO t USING s ON true WHEN MATCHED THEN DELETE", "LOCK TABLE t", "COMMENT ON TABLE t IS ''",
    "CREATE TABLE t (a int)", "CREATE TEMP TABLE t (a int)", "CREATE UNIQUE INDEX ON t (a)",
    "CREATE OR REPLACE VIEW v AS SELECT 1", "CREATE MATERIALIZED VIEW v AS SELECT 1",
    "CREATE SEQUENCE s", "CREATE TYPE mood AS ENUM ('a')", "ALTER TABLE t ADD b int", "DROP TABLE t",
    "SELECT 'COMMIT; SET ROLE x'", "SELECT commit FROM t", "SELECT gwen, my_gw_ FROM t",
]  # fmt: skip

REFUSED = [
    "", "   ", "-- nothing", ";", "COMMIT", "commit;", "END", "ROLLBACK", "ABORT", "BEGIN",
    "START TRANSACTION", "SAVEPOINT a", "RELEASE a", "PREPARE TRANSACTION 'a'", "/* x */ COMMIT",
    "SET ROLE postgres", "RESET ROLE", "SET SESSION AUTHORIZATION postgres", "SET LOCAL a.b = 1",
    "SET CONSTRAINTS ALL DEFERRED", "DISCARD ALL", "DO $$BEGIN END$$", "CALL p()", "PREPARE p AS SELECT 1",
    "EXECUTE p", "DEALLOCATE p", "COPY t FROM STDIN", "COPY t TO PROGRAM 'sh'", "LISTEN a", "NOTIFY a",
    "UNLISTEN *", "DECLARE c CURSOR FOR SELECT 1", "FETCH c", "GRANT ALL ON t TO public", "REVOKE x FROM y",
    "VACUUM", "CLUSTER", "REINDEX TABLE t", "CHECKPOINT", "LOAD 'x'", "SECURITY LABEL ON TABLE t IS 'a'",
    "CREATE FUNCTION f() RETURNS int LANGUAGE sql AS 'SELECT 1'", "CREATE ROLE x", "CREATE USER x",
    "CREATE OR REPLACE PROCEDURE p() LANGUAGE sql AS ''", "CREATE EXTENSION dblink", "CREATE SCHEMA s",
    "CREATE TRIGGER a AFTER INSERT ON t EXECUTE FUNCTION f()", "CREATE RULE r AS ON INSERT TO t DO NOTHING",
    "CREATE CONSTRAINT TRIGGER a AFTER INSERT ON t EXECUTE FUNCTION f()", "CREATE EVENT TRIGGER e",
    "ALTER ROLE x SUPERUSER", "ALTER SYSTEM SET a = 1", "ALTER DEFAULT PRIVILEGES GRANT ALL ON TABLES TO x",
    "DROP SCHEMA gw", "DROP OWNED BY x", "IMPORT FOREIGN SCHEMA a FROM SERVER b INTO c",
    "SELECT 1; SELECT 2", "SELECT 1; COMMIT", "SELECT 1;;",
    "SELECT set_config('role', 'postgres', true)", "SELECT SET_CONFIG('role', 'x', true)",
    'SELECT pg_catalog."set_config"(\'role\', \'x\', true)', "SELECT set_config /**/ ('role', 'x', true)",
    "SELECT U&\"\\0073et_config\"('role', 'x', true)", "SELECT u&\"a\"",
    "UPDATE pg_settings SET setting = 'off' WHERE name = 'fsync'",
    "SELECT query_to_xml('SELECT 1', true, true, '')", "SELECT * FROM ts_stat('SELECT 1')",
    "SELECT * FROM dblink('x', 'SELECT 1') AS t (a int)", "SELECT dblink_exec('COMMIT')",
    "SELECT pg_advisory_lock(1)", "SELECT pg_notify('a', 'b')",
    "SELECT * FROM gw.sessions", 'SELECT * FROM "gw"."sessions"', "CREATE TABLE gw_mine (a int)",
    "UPDATE GW.SESSIONS SET epoch = 0", "WITH x AS (DELETE FROM gw.turns) SELECT 1",
    "SELECT $1", "SELECT 'open", 'SELECT "open', "SELECT $$ open", "SELECT $a$ open $b$", "SELECT /* open",
    "SELECT E'open\\'", "SELECT /* /* */",
]  # fmt: skip


@pytest.mark.parametrize("sql", TRANSLATED)
def test_parameters_are_numbered_where_they_are_parameters(sql: str) -> None:
    assert admitted(sql).sql == TRANSLATED[sql]


@pytest.mark.parametrize("sql", ALLOWED)
def test_work_on_own_data_passes(sql: str) -> None:
    assert admitted(sql).sql == sql


@pytest.mark.parametrize("sql", REFUSED)
def test_what_reaches_beyond_the_call_is_refused(sql: str) -> None:
    with pytest.raises(HandleError):
        admitted(sql)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT 1", "(SELECT 1)", "VALUES (1)", "TABLE t", "EXPLAIN DELETE FROM t",
        "INSERT INTO t VALUES (1) RETURNING a", "WITH x AS (SELECT 1) SELECT * FROM x",
        "WITH x AS (INSERT INTO t VALUES (1) RETURNING a) SELECT * FROM x",
        "WITH x AS (SELECT 1) DELETE FROM t RETURNING a",
    ],
)  # fmt: skip
def test_it_knows_what_answers_with_rows(sql: str) -> None:
    assert admitted(sql).rows


@pytest.mark.parametrize(
    "sql",
    [
        "INSERT INTO t SELECT 1", "UPDATE t SET a = 1", "CREATE TABLE t AS SELECT 1", "DROP TABLE t",
        "WITH x AS (SELECT 1) INSERT INTO t SELECT * FROM x",
        "WITH x AS (DELETE FROM t RETURNING a) INSERT INTO t SELECT * FROM x",
    ],
)  # fmt: skip
def test_it_knows_what_does_not(sql: str) -> None:
    assert not admitted(sql).rows


def test_a_refusal_says_what_is_wrong() -> None:
    with pytest.raises(HandleError, match=r"^COMMIT isn't for tools"):
        admitted("commit")
    with pytest.raises(HandleError, match="one statement at a time"):
        admitted("SELECT 1; SELECT 2")
    with pytest.raises(HandleError, match=r"write \? for a parameter"):
        admitted("SELECT $1")
    with pytest.raises(HandleError, match="set_config isn't for tools"):
        admitted("SELECT set_config('role', 'x', true)")
