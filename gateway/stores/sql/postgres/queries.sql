-- Statements of the PostgreSQL store. Columns come in the field order of the record they become.

-- name: now
(extract(epoch FROM clock_timestamp()) * 1000)::bigint

-- ---------------------------------------------------------------------------------- sessions
-- name: alive
coalesce((SELECT h.beat > clock_timestamp() - $1::bigint * interval '1 millisecond'
  FROM gw.hosts h WHERE h.id = s.owner), false)

-- name: session_columns
s.id, s.agent, s.key, s.generation, s.epoch, s.owner, {alive},
(SELECT coalesce(max(m.idx) + 1, 0) FROM gw.messages m
  WHERE m.session = s.id AND m.generation = s.generation),
b.next_number, s.reset_at, s.created_at, b.active_at

-- name: find_session
SELECT {session_columns} FROM gw.sessions s JOIN gw.mailboxes b ON b.session = s.id
WHERE s.agent = $2 AND s.key = $3

-- Locks are taken in one order everywhere: session, mailbox, turns.
-- name: lock_session
WITH held AS (
  SELECT id FROM gw.sessions WHERE agent = $1 AND key = $2 FOR NO KEY UPDATE
)
SELECT b.session FROM gw.mailboxes b WHERE b.session = (SELECT id FROM held) FOR NO KEY UPDATE

-- name: lock_mailbox
SELECT b.session FROM gw.mailboxes b
WHERE b.session = (SELECT id FROM gw.sessions WHERE agent = $1 AND key = $2) FOR NO KEY UPDATE

-- name: create_session
WITH made AS (
  INSERT INTO gw.sessions (agent, key, created_at) VALUES ($1, $2, {now})
  ON CONFLICT (agent, key) DO NOTHING RETURNING id, created_at
)
INSERT INTO gw.mailboxes (session, active_at) SELECT id, created_at FROM made

-- name: beat
INSERT INTO gw.hosts (id, beat) VALUES ($1, clock_timestamp())
ON CONFLICT (id) DO UPDATE SET beat = excluded.beat

-- name: forget_hosts
DELETE FROM gw.hosts WHERE beat < clock_timestamp() - interval '7 days'

-- name: list_sessions
SELECT {session_columns}, o.status, b.next_number - 1, o.pending
FROM gw.sessions s JOIN gw.mailboxes b ON b.session = s.id
CROSS JOIN LATERAL (
  SELECT
    CASE
      WHEN s.reset_at IS NOT NULL THEN 'resetting'
      WHEN head.state = 'suspended' THEN 'suspended'
      WHEN head.state IS NOT NULL THEN 'running'
      WHEN EXISTS (SELECT FROM gw.messages m
        WHERE m.session = s.id AND m.generation = s.generation) THEN 'idle'
      ELSE 'new'
    END AS status,
    CASE WHEN head.state = 'suspended' THEN head.request END AS pending
  FROM (SELECT 1) one LEFT JOIN gw.turns head ON head.id = coalesce(
    (SELECT p.id FROM gw.turns p WHERE p.session = s.id AND p.state = 'suspended'
      ORDER BY p.number LIMIT 1),
    (SELECT p.id FROM gw.turns p WHERE p.session = s.id AND p.state IN ('queued', 'running')
      ORDER BY p.number LIMIT 1))
) o
WHERE ($2::text IS NULL OR s.agent = $2) AND ($3::text IS NULL OR o.status = $3)
ORDER BY b.active_at DESC, b.session DESC LIMIT $4

-- name: backlog
WITH waiting AS (
  SELECT session AS id, min(number) AS number FROM gw.turns
  WHERE state IN ('queued', 'running') GROUP BY session
)
SELECT s.agent, s.key, s.owner, {alive}, s.reset_at IS NOT NULL
FROM gw.sessions s WHERE s.id IN (
  SELECT w.id FROM waiting w WHERE NOT EXISTS (
    SELECT FROM gw.turns p
    WHERE p.session = w.id AND p.state = 'suspended' AND p.number < w.number)
  UNION SELECT r.id FROM gw.sessions r WHERE r.reset_at IS NOT NULL)
ORDER BY s.id

-- -------------------------------------------------------------------------- what a decision sees
-- One statement, so that it is one moment. A session that isn't there yet is given its number.
-- name: view
SELECT {session_columns},
  ARRAY(
    SELECT h.head FROM (
      SELECT t.number, row({head_columns}) AS head FROM gw.turns t
      WHERE t.session = s.id AND t.state IN ('queued', 'running')
      UNION ALL
      SELECT t.number, row({head_columns}) FROM gw.turns t
      WHERE t.session = s.id AND t.state = 'suspended'
    ) h ORDER BY h.number
  ),
  <turn>, <tail>, <steps>, <request>, <votes>,
  b.version, CASE WHEN s.id IS NULL AND $4 THEN nextval('gw.sessions_id_seq') END, {now}
FROM (SELECT $2::text AS agent, $3::text AS key) a
LEFT JOIN gw.sessions s ON s.agent = a.agent AND s.key = a.key
LEFT JOIN gw.mailboxes b ON b.session = s.id <chosen>

-- name: view_chosen_by_id
LEFT JOIN gw.turns t ON t.session = s.id AND t.turn_id = :turn_id

-- name: view_chosen_head
LEFT JOIN gw.turns t ON t.id = (
  SELECT h.id FROM (
    (SELECT p.id, p.number FROM gw.turns p
      WHERE p.session = s.id AND p.state IN ('queued', 'running') ORDER BY p.number LIMIT 1)
    UNION ALL
    (SELECT p.id, p.number FROM gw.turns p
      WHERE p.session = s.id AND p.state = 'suspended' ORDER BY p.number LIMIT 1)
  ) h ORDER BY h.number LIMIT 1)

-- name: view_turn
CASE WHEN t.id IS NOT NULL THEN
  (SELECT row({turn_columns}) FROM (SELECT) one LEFT JOIN gw.openings o ON o.turn = t.id) END

-- name: view_tail
ARRAY(
  SELECT row({message_columns}) FROM gw.messages m
  WHERE m.session = s.id AND m.generation = t.generation AND m.turn = t.id AND m.idx >= coalesce(
    (SELECT a.idx FROM gw.messages a
      WHERE a.session = s.id AND a.generation = t.generation AND a.turn = t.id
        AND a.role = 'assistant' AND a.idx >= coalesce(t.opening, 0)
      ORDER BY a.idx DESC LIMIT 1),
    t.opening, 0)
  ORDER BY m.idx
)

-- name: view_steps
ARRAY(SELECT row({step_columns}) FROM gw.steps p WHERE p.turn = t.id ORDER BY p.at, p.step)

-- name: view_request
(SELECT row({request_columns}) FROM gw.requests r JOIN gw.turns t ON t.id = r.turn
  WHERE r.id = :request AND t.session = s.id)

-- name: view_votes
ARRAY(
  SELECT row({vote_columns}) FROM gw.votes v
  JOIN gw.requests r ON r.id = v.request JOIN gw.turns t ON t.id = r.turn
  WHERE v.request = :request AND t.session = s.id ORDER BY v.id
)

-- ------------------------------------------------------------------------------------- turns
-- name: last_seq
(SELECT coalesce(max(e.seq), 0) FROM gw.events e WHERE e.turn = t.id)

-- name: head_columns
t.id, t.turn_id, t.number, t.generation, t.state, t.cancel, t.source, t.speaker, t.delivers,
{last_seq}

-- name: turn_columns
t.id, t.turn_id, t.number, t.generation, t.body, o.content, t.content_hash, t.source, t.speaker,
t.queued_at, t.cancel, t.cancel_at, t.state, t.surface, t.edition, t.opening, t.started_at,
t.ended_at, t.attempt_at, t.ran, t.attempts, t.crashes, t.suspect, t.alone, t.request, t.answer,
t.error, t.delivers, {last_seq}

-- name: find_turn
SELECT {turn_columns} FROM gw.turns t LEFT JOIN gw.openings o ON o.turn = t.id
WHERE t.session = (SELECT s.id FROM gw.sessions s WHERE s.agent = $1 AND s.key = $2)
  AND t.turn_id = $3

-- name: list_turns
SELECT s.agent, s.key, {message_columns}, {turn_columns}
FROM gw.turns t LEFT JOIN gw.openings o ON o.turn = t.id JOIN gw.sessions s ON s.id = t.session
LEFT JOIN gw.messages m ON m.session = s.id AND m.generation = t.generation AND m.idx = t.opening
WHERE $1::text IS NULL OR t.state = $1
ORDER BY t.id DESC LIMIT $2

-- name: list_turns_of
SELECT s.agent, s.key, {message_columns}, {turn_columns}
FROM gw.sessions s JOIN gw.turns t ON t.session = s.id LEFT JOIN gw.openings o ON o.turn = t.id
LEFT JOIN gw.messages m ON m.session = s.id AND m.generation = t.generation AND m.idx = t.opening
WHERE s.agent = $3 AND s.key = $4 AND ($1::text IS NULL OR t.state = $1)
ORDER BY t.id DESC LIMIT $2

-- ------------------------------------------------------------------- transcript, steps, events
-- name: message_columns
m.generation, m.idx, m.turn, t.turn_id, m.role, m.body

-- name: messages
SELECT {message_columns} FROM gw.messages m JOIN gw.turns t ON t.id = m.turn
WHERE m.session = (SELECT s.id FROM gw.sessions s WHERE s.agent = $1 AND s.key = $2)
  AND m.generation = $3 AND m.idx > $4
ORDER BY m.idx LIMIT $5

-- name: step_columns
p.turn, p.step, p.done, p.attempt, p.message, p.body, p.at

-- name: steps
SELECT {step_columns} FROM gw.steps p WHERE p.turn = $1 ORDER BY p.at, p.step

-- name: usage_columns
u.turn, u.step, u.at, u.model, u.input, u.output, u.cache_read, u.cache_write, u.cost, u.prices,
u.raw, u.estimated

-- Several events point at one message; its body is sent with the first of them.
-- name: events
SELECT e.turn, e.seq, e.at, e.type, e.ref, e.body, m.generation, m.idx, m.turn, t.turn_id, m.role,
  CASE WHEN row_number() OVER (PARTITION BY e.ref ORDER BY e.seq) = 1 THEN m.body END,
  {usage_columns}
FROM (
  SELECT * FROM gw.events WHERE turn = $1 AND seq > $2 ORDER BY seq LIMIT $3
) e
JOIN gw.turns t ON t.id = e.turn
LEFT JOIN gw.messages m
  ON m.session = t.session AND m.generation = t.generation AND m.idx = e.ref
LEFT JOIN gw.usage u ON u.turn = e.turn AND u.step = e.ref AND e.type = 'usage'
WHERE t.session = (SELECT s.id FROM gw.sessions s WHERE s.agent = $4 AND s.key = $5)
ORDER BY e.seq

-- name: usage_totals
SELECT coalesce(sum(input), 0)::bigint, coalesce(sum(output), 0)::bigint,
  coalesce(sum(cache_read), 0)::bigint, coalesce(sum(cache_write), 0)::bigint,
  sum(cost::numeric)::text, count(*)
FROM gw.usage WHERE turn = $1

-- ------------------------------------------------------------------------- requests and votes
-- name: request_columns
r.id, r.key, r.turn, t.turn_id, r.position, r.call_id, r.name, r.tool, r.digest, r.body,
r.created_at, r.expires_at, r.outcome, r.value, r.reason, r.by, r.decided_at

-- name: vote_count
(SELECT count(*) FROM gw.votes v WHERE v.request = r.id)

-- name: requests
SELECT {request_columns} FROM gw.requests r JOIN gw.turns t ON t.id = r.turn
WHERE r.turn = $1 ORDER BY r.row

-- name: find_request
SELECT s.agent, s.key, {vote_count}, {request_columns}
FROM gw.requests r JOIN gw.turns t ON t.id = r.turn JOIN gw.sessions s ON s.id = t.session
WHERE r.id = $1

-- name: list_requests
SELECT s.agent, s.key, {vote_count}, {request_columns}
FROM gw.requests r JOIN gw.turns t ON t.id = r.turn JOIN gw.sessions s ON s.id = t.session
WHERE r.outcome IS NULL AND t.state = 'suspended'
ORDER BY r.created_at, r.row LIMIT $1

-- name: list_past_requests
SELECT s.agent, s.key, {vote_count}, {request_columns}
FROM gw.requests r JOIN gw.turns t ON t.id = r.turn JOIN gw.sessions s ON s.id = t.session
WHERE r.outcome IS NOT NULL AND (r.outcome NOT IN ('expired', 'cancelled')) = $1
ORDER BY r.row DESC LIMIT $2

-- name: due
SELECT s.agent, s.key, {request_columns}
FROM gw.requests r JOIN gw.turns t ON t.id = r.turn JOIN gw.sessions s ON s.id = t.session
WHERE r.outcome IS NULL AND r.expires_at <= $1 AND t.state = 'suspended'
ORDER BY r.expires_at

-- name: vote_columns
v.request, v.by, v.value, v.reason, v.at

-- name: edition
SELECT hash, body FROM gw.editions WHERE hash = $1

-- name: list_audit
SELECT id, at, kind, agent, session, turn_id, subject, by, digest, outcome FROM gw.audit
WHERE ($1::text IS NULL OR agent = $1) AND ($2::text IS NULL OR session = $2)
  AND ($3::text IS NULL OR turn_id = $3) AND ($4::bigint IS NULL OR id < $4)
ORDER BY id DESC LIMIT $5

-- ---------------------------------------------------------------------------------- one `Writes`
-- The pieces a write is put together from: a single statement, one common table expression per kind
-- of row. <rows> becomes the rows as parameters, <columns> their names, <cells> their values.
--   f  the session, if it is what the write was meant for; else no row, and nothing below writes
--   g  f behind the mailbox row: what touches turns or the session waits for it, so that the locks
--      are taken in their order
--   n  the turn that this statement inserts

-- name: waiting
FOR NO KEY UPDATE

-- A group of checkpoints never waits for one session's row: what is locked is left to its own.
-- name: skipping
FOR NO KEY UPDATE SKIP LOCKED

-- name: f_fence
f AS (SELECT id FROM gw.sessions WHERE id = :session AND epoch = :epoch {waiting})

-- name: f_held
f AS (SELECT :session::bigint AS id)

-- name: changed
version = version + 1, active_at = {now}, next_number = greatest(next_number, :number::bigint + 1)

-- name: f_unchanged
f AS (
  UPDATE gw.mailboxes SET {changed}
  WHERE session = :session AND version = :version RETURNING session AS id
)

-- name: f_taken
f AS (
  SELECT t.id FROM gw.take(:session, :version, :index, :seqs, :turn, :steps, :done) t (id)
  WHERE t.id IS NOT NULL
)

-- name: f_made
f AS (
  INSERT INTO gw.sessions (id, agent, key, created_at) OVERRIDING SYSTEM VALUE
  VALUES (:session, :agent, :key, :created)
  ON CONFLICT (agent, key) DO NOTHING RETURNING id, created_at
)

-- name: g_mailbox
g AS (
  UPDATE gw.mailboxes SET {changed}
  WHERE session = (SELECT id FROM f) RETURNING session AS id
)

-- name: g_same
g AS (SELECT id FROM f)

-- name: g_made
g AS (
  INSERT INTO gw.mailboxes (session, active_at, next_number)
  SELECT id, created_at, :number::bigint + 1 FROM f RETURNING session AS id
)

-- name: write_new_turn
n AS (
  INSERT INTO gw.turns (session, <columns>) SELECT g.id, <cells> FROM g, <rows> RETURNING id
)

-- name: write_openings
openings_ AS (
  INSERT INTO gw.openings (turn, <columns>) SELECT n.id, <cells> FROM n, <rows>
)

-- name: write_session
session_ AS (
  UPDATE gw.sessions s
  SET epoch = coalesce(u.epoch, s.epoch),
    generation = coalesce(u.generation, s.generation),
    owner = CASE WHEN u.release THEN NULL ELSE coalesce(u.owner, s.owner) END,
    reset_at = CASE WHEN u.clear_reset THEN NULL ELSE coalesce(u.reset_at, s.reset_at) END
  FROM g, <rows> WHERE s.id = g.id
)

-- name: write_messages
messages_ AS (
  INSERT INTO gw.messages (session, <columns>) SELECT f.id, <cells> FROM f, <rows>
)

-- name: write_steps
steps_ AS (
  INSERT INTO gw.steps (<columns>) SELECT <cells> FROM f, <rows>
  ON CONFLICT (turn, step) DO UPDATE
  SET done = excluded.done, attempt = excluded.attempt, message = excluded.message,
    body = excluded.body, at = excluded.at
)

-- A cancel request that comes along with the save of its turn is part of that save.
-- name: write_turns
turns_ AS (
  UPDATE gw.turns t
  SET state = u.state, surface = u.surface, edition = u.edition, opening = u.opening,
    started_at = u.started_at, ended_at = u.ended_at, attempt_at = u.attempt_at, ran = u.ran,
    attempts = u.attempts, crashes = u.crashes, suspect = u.suspect, alone = u.alone,
    request = u.request, answer = u.answer, error = u.error, delivers = u.delivers,
    cancel = coalesce(u.cancel, t.cancel), cancel_at = coalesce(u.cancel_at, t.cancel_at)
  FROM g, <rows> WHERE t.id = u.id RETURNING t.id
)

-- name: write_opened
opened_ AS (DELETE FROM gw.openings o USING g, <rows> WHERE o.turn = u.turn)

-- name: write_cancels
cancels_ AS (
  UPDATE gw.turns t SET cancel = u.reason, cancel_at = u.at
  FROM g, <rows> WHERE t.id = u.turn RETURNING t.id
)

-- name: write_requests
requests_ AS (
  INSERT INTO gw.requests (<columns>) SELECT <cells> FROM g, <rows>
  ON CONFLICT (turn, key) DO UPDATE
  SET id = excluded.id, position = excluded.position, call_id = excluded.call_id,
    name = excluded.name, tool = excluded.tool, digest = excluded.digest, body = excluded.body,
    created_at = excluded.created_at, expires_at = excluded.expires_at,
    outcome = excluded.outcome, value = excluded.value, reason = excluded.reason,
    by = excluded.by, decided_at = excluded.decided_at
)

-- name: write_editions
editions_ AS (
  INSERT INTO gw.editions (<columns>) SELECT <cells> FROM f, <rows> ON CONFLICT (hash) DO NOTHING
)

-- The claim's own time decides whether the one before it has expired.
-- name: write_claims
claims_ AS (
  INSERT INTO gw.claims AS c (<columns>) SELECT <cells> FROM f, <rows>
  ON CONFLICT (key) DO UPDATE
  SET turn = excluded.turn, at = excluded.at, expires_at = excluded.expires_at
  WHERE c.expires_at <= excluded.at RETURNING c.key
)

-- name: write_votes
votes_ AS (INSERT INTO gw.votes (<columns>) SELECT <cells> FROM g, <rows>)

-- name: write_rows
<table>_ AS (INSERT INTO gw.<table> (<columns>) SELECT <cells> FROM f, <rows>)

-- name: written
SELECT (SELECT count(*) FROM f)

-- name: written_claims
, (SELECT gw.refuse_claim(k.key) FROM unnest(:keys::text[]) k (key)
  WHERE EXISTS (SELECT FROM f) AND k.key NOT IN (SELECT key FROM claims_) LIMIT 1)

-- name: written_updates
, (SELECT gw.refuse_missing('there is no such turn')
  WHERE EXISTS (SELECT FROM f) AND (SELECT count(*) FROM <table>_) <> :count::bigint)

-- -------------------------------------------------------------------------------- the schema
-- name: server
SELECT current_setting('server_version_num')::integer, current_setting('server_encoding'),
  current_setting('search_path'), coalesce(current_schema(), 'public'), current_user,
  current_database(), to_regclass('gw.schema') IS NOT NULL

-- name: schema_version
SELECT max(version) FROM gw.schema

-- name: record_version
INSERT INTO gw.schema (version, at) VALUES ($1, {now})

-- One migration at a time, whoever starts it. The number is the engine's name in ASCII.
-- name: lock_migrations
SELECT pg_advisory_xact_lock(x'6a756e655f6777'::bigint)

-- Whether the role of the tools is there, this user may become it, it may use and fill the tools'
-- schema, and it has no way to the engine's.
-- name: tool_role
SELECT pg_has_role(r.oid, 'MEMBER'),
  has_schema_privilege(r.oid, n.oid, 'USAGE') AND has_schema_privilege(r.oid, n.oid, 'CREATE'),
  NOT has_schema_privilege(r.oid, 'gw', 'USAGE') AND NOT r.rolsuper
FROM pg_roles r, pg_namespace n WHERE r.rolname = $1 AND n.nspname = $2

-- name: make_tool_role
CREATE ROLE <role> NOLOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE NOREPLICATION NOBYPASSRLS NOINHERIT

-- name: grant_tool_role
GRANT <role> TO <user>

-- name: grant_tool_schema
GRANT USAGE, CREATE ON SCHEMA <schema> TO <role>

-- name: grant_tool_tables
ALTER DEFAULT PRIVILEGES IN SCHEMA <schema> GRANT ALL ON TABLES TO <role>;
ALTER DEFAULT PRIVILEGES IN SCHEMA <schema> GRANT ALL ON SEQUENCES TO <role>

-- The application's tables that were there before the role.
-- name: earlier_tables
SELECT format('GRANT ALL ON %s %I.%I TO %I',
  CASE c.relkind WHEN 'S' THEN 'SEQUENCE' ELSE 'TABLE' END, n.nspname, c.relname, $1::text)
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname = $2 AND c.relkind IN ('r', 'p', 'v', 'm', 'f', 'S')
  AND pg_has_role(c.relowner, 'USAGE')
