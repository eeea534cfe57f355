-- Statements of the SQLite store. Columns come in the field order of the record they become.

-- name: now
CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER)

-- ---------------------------------------------------------------------------------- sessions
-- name: session_columns
s.id, s.agent, s.key, s.generation, s.epoch, s.owner,
coalesce((SELECT h.beat > {now} - ?1 FROM gw_hosts h WHERE h.id = s.owner), 0),
(SELECT coalesce(max(m.idx) + 1, 0) FROM gw_messages m
  WHERE m.session = s.id AND m.generation = s.generation),
s.next_number, s.reset_at, s.created_at, s.active_at

-- name: find_session
SELECT {session_columns} FROM gw_sessions s WHERE s.agent = ?2 AND s.key = ?3

-- And whether it has open turns and the turn ?4: mostly it has neither, and nothing more is read.
-- name: look_at_session
SELECT {session_columns},
  EXISTS (SELECT 1 FROM gw_turns t WHERE t.session = s.id AND t.state IN ('queued', 'running'))
    OR EXISTS (SELECT 1 FROM gw_turns t WHERE t.session = s.id AND t.state = 'suspended'),
  EXISTS (SELECT 1 FROM gw_turns t WHERE t.session = s.id AND t.turn_id = ?4)
FROM gw_sessions s WHERE s.agent = ?2 AND s.key = ?3

-- name: create_session
INSERT INTO gw_sessions (agent, key, created_at, active_at) VALUES (?, ?, {now}, {now})

-- name: check_fence
SELECT 1 FROM gw_sessions WHERE id = ? AND epoch = ?

-- name: fences_held
WITH held (id, epoch) AS (VALUES (?, ?))
SELECT count(*) FROM held JOIN gw_sessions s ON s.id = held.id AND s.epoch = held.epoch

-- name: patch_session
UPDATE gw_sessions SET
  epoch = coalesce(?2, epoch),
  generation = coalesce(?3, generation),
  owner = CASE WHEN ?5 THEN NULL ELSE coalesce(?4, owner) END,
  reset_at = CASE WHEN ?7 THEN NULL ELSE coalesce(?6, reset_at) END,
  next_number = coalesce(?8, next_number),
  active_at = {now}
WHERE id = ?1

-- name: number_session
UPDATE gw_sessions SET next_number = ?2, active_at = {now} WHERE id = ?1

-- name: touch_session
UPDATE gw_sessions SET active_at = {now} WHERE id = ?

-- name: beat
INSERT INTO gw_hosts (id, beat) VALUES (?, {now})
ON CONFLICT (id) DO UPDATE SET beat = excluded.beat

-- name: forget_hosts
DELETE FROM gw_hosts

-- name: list_sessions
SELECT {session_columns}, status, s.next_number - 1, pending FROM (
  SELECT s.*,
    CASE
      WHEN s.reset_at IS NOT NULL THEN 'resetting'
      WHEN head.state = 'suspended' THEN 'suspended'
      WHEN head.state IS NOT NULL THEN 'running'
      WHEN EXISTS (SELECT 1 FROM gw_messages m
        WHERE m.session = s.id AND m.generation = s.generation) THEN 'idle'
      ELSE 'new'
    END AS status,
    CASE WHEN head.state = 'suspended' THEN head.request END AS pending
  FROM gw_sessions s LEFT JOIN gw_turns head ON head.id = coalesce(
    (SELECT p.id FROM gw_turns p WHERE p.session = s.id AND p.state = 'suspended'
      ORDER BY p.number LIMIT 1),
    (SELECT p.id FROM gw_turns p WHERE p.session = s.id AND p.state IN ('queued', 'running')
      ORDER BY p.number LIMIT 1))
  WHERE ?2 IS NULL OR s.agent = ?2
) s
WHERE ?3 IS NULL OR status = ?3
ORDER BY s.active_at DESC, s.id DESC LIMIT ?4

-- name: backlog
WITH waiting AS (
  SELECT session AS id, min(number) AS number FROM gw_turns
    WHERE state IN ('queued', 'running') GROUP BY session
)
SELECT s.agent, s.key, s.owner,
  coalesce((SELECT h.beat > {now} - ?1 FROM gw_hosts h WHERE h.id = s.owner), 0),
  s.reset_at IS NOT NULL
FROM gw_sessions s WHERE s.id IN (
  SELECT w.id FROM waiting w WHERE NOT EXISTS (
    SELECT 1 FROM gw_turns p
      WHERE p.session = w.id AND p.state = 'suspended' AND p.number < w.number)
  UNION SELECT r.id FROM gw_sessions r WHERE r.reset_at IS NOT NULL)
ORDER BY s.id

-- ------------------------------------------------------------------------------------- turns
-- name: last_seq
(SELECT coalesce(max(e.seq), 0) FROM gw_events e WHERE e.turn = t.id)

-- name: head_columns
t.id, t.turn_id, t.number, t.generation, t.state, t.cancel, t.source, t.speaker, t.delivers,
{last_seq}

-- name: turn_columns
t.id, t.turn_id, t.number, t.generation, t.body, o.content, t.content_hash, t.source, t.speaker, t.queued_at,
t.cancel, t.cancel_at, t.state, t.surface, t.edition, t.opening, t.started_at, t.ended_at,
t.attempt_at, t.ran, t.attempts, t.crashes, t.suspect, t.alone, t.request, t.answer, t.error,
t.delivers, {last_seq}

-- name: open_turns
SELECT {head_columns} FROM gw_turns t WHERE t.session = ?1 AND t.state IN ('queued', 'running')
UNION ALL
SELECT {head_columns} FROM gw_turns t WHERE t.session = ?1 AND t.state = 'suspended'
ORDER BY 3

-- name: turn_by_row
SELECT {turn_columns} FROM gw_turns t LEFT JOIN gw_openings o ON o.turn = t.id WHERE t.id = ?

-- name: turn_by_id
SELECT {turn_columns} FROM gw_turns t LEFT JOIN gw_openings o ON o.turn = t.id
WHERE t.session = ? AND t.turn_id = ?

-- name: find_turn
SELECT {turn_columns} FROM gw_turns t LEFT JOIN gw_openings o ON o.turn = t.id
WHERE t.session = (SELECT s.id FROM gw_sessions s WHERE s.agent = ? AND s.key = ?)
  AND t.turn_id = ?

-- name: list_turns
SELECT s.agent, s.key, {message_columns}, {turn_columns}
FROM gw_turns t LEFT JOIN gw_openings o ON o.turn = t.id JOIN gw_sessions s ON s.id = t.session
LEFT JOIN gw_messages m ON m.session = s.id AND m.generation = t.generation AND m.idx = t.opening
WHERE (?1 IS NULL OR t.state = ?1)
ORDER BY t.id DESC LIMIT ?2

-- name: list_turns_of
SELECT s.agent, s.key, {message_columns}, {turn_columns}
FROM gw_sessions s JOIN gw_turns t ON t.session = s.id LEFT JOIN gw_openings o ON o.turn = t.id
LEFT JOIN gw_messages m ON m.session = s.id AND m.generation = t.generation AND m.idx = t.opening
WHERE s.agent = ?3 AND s.key = ?4 AND (?1 IS NULL OR t.state = ?1)
ORDER BY t.id DESC LIMIT ?2

-- name: last_turn
SELECT coalesce(max(id), 0) FROM gw_turns

-- name: insert_turn
INSERT INTO gw_turns (
  id, session, turn_id, number, generation, body, content_hash, source, speaker, queued_at, cancel,
  cancel_at, state, surface, edition, opening, started_at, ended_at, attempt_at, ran, attempts,
  crashes, suspect, alone, request, answer, error, delivers
) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)

-- name: insert_opening
INSERT INTO gw_openings (turn, content) VALUES (?, ?)

-- name: drop_opening
DELETE FROM gw_openings WHERE turn = ?

-- name: save_turn
UPDATE gw_turns SET
  state = ?, surface = ?, edition = ?, opening = ?, started_at = ?, ended_at = ?, attempt_at = ?,
  ran = ?, attempts = ?, crashes = ?, suspect = ?, alone = ?, request = ?, answer = ?, error = ?,
  delivers = ?
WHERE id = ?

-- name: cancel_turn
UPDATE gw_turns SET cancel = ?2, cancel_at = ?3 WHERE id = ?1

-- ------------------------------------------------------------------- transcript, steps, events
-- name: insert_message
INSERT INTO gw_messages (session, generation, idx, turn, role, body) VALUES (?, ?, ?, ?, ?, ?)

-- name: message_columns
m.generation, m.idx, m.turn, t.turn_id, m.role, m.body

-- name: messages
SELECT {message_columns} FROM gw_messages m JOIN gw_turns t ON t.id = m.turn
WHERE m.session = (SELECT s.id FROM gw_sessions s WHERE s.agent = ? AND s.key = ?)
  AND m.generation = ? AND m.idx > ?
ORDER BY m.idx LIMIT coalesce(?, -1)

-- ?4 is the index of the turn's opening: what is older is never looked at.
-- name: tail
SELECT {message_columns} FROM gw_messages m JOIN gw_turns t ON t.id = m.turn
WHERE m.session = ?1 AND m.generation = ?2 AND m.turn = ?3 AND m.idx >= coalesce(
  (SELECT a.idx FROM gw_messages a
    WHERE a.session = ?1 AND a.generation = ?2 AND a.idx >= ?4
      AND a.turn = ?3 AND a.role = 'assistant'
    ORDER BY a.idx DESC LIMIT 1),
  ?4)
ORDER BY m.idx

-- name: save_step
INSERT OR REPLACE INTO gw_steps (turn, step, done, attempt, message, body, at)
VALUES (?, ?, ?, ?, ?, ?, ?)

-- name: steps
SELECT turn, step, done, attempt, message, body, at FROM gw_steps WHERE turn = ?

-- name: insert_event
INSERT INTO gw_events (turn, seq, at, type, ref, body) VALUES (?, ?, ?, ?, ?, ?)

-- name: usage_columns
u.turn, u.step, u.at, u.model, u.input, u.output, u.cache_read, u.cache_write, u.cost, u.prices,
u.raw, u.estimated

-- name: events
SELECT e.turn, e.seq, e.at, e.type, e.ref, e.body, {message_columns}, {usage_columns}
FROM gw_events e
JOIN gw_turns t ON t.id = e.turn
LEFT JOIN gw_messages m
  ON m.session = t.session AND m.generation = t.generation AND m.idx = e.ref
LEFT JOIN gw_usage u ON u.turn = e.turn AND u.step = e.ref
WHERE e.turn = ?1 AND e.seq > ?2
  AND t.session = (SELECT s.id FROM gw_sessions s WHERE s.agent = ?4 AND s.key = ?5)
ORDER BY e.seq LIMIT ?3

-- name: usage_totals
SELECT input, output, cache_read, cache_write, cost FROM gw_usage WHERE turn = ?

-- ------------------------------------------------------------------------- requests and votes
-- name: request_columns
r.id, r.key, r.turn, t.turn_id, r.position, r.call_id, r.name, r.tool, r.digest, r.body,
r.created_at, r.expires_at, r.outcome, r.value, r.reason, r.by, r.decided_at

-- name: vote_count
(SELECT count(*) FROM gw_votes v WHERE v.request = r.id)

-- name: save_request
INSERT INTO gw_requests (
  id, key, turn, position, call_id, name, tool, digest, body, created_at, expires_at, outcome,
  value, reason, by, decided_at
) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (turn, key) DO UPDATE SET
  id = excluded.id, position = excluded.position, call_id = excluded.call_id,
  name = excluded.name, tool = excluded.tool, digest = excluded.digest, body = excluded.body,
  created_at = excluded.created_at, expires_at = excluded.expires_at, outcome = excluded.outcome,
  value = excluded.value, reason = excluded.reason, by = excluded.by,
  decided_at = excluded.decided_at

-- name: requests
SELECT {request_columns} FROM gw_requests r JOIN gw_turns t ON t.id = r.turn
WHERE r.turn = ? ORDER BY r.row

-- name: request_of_session
SELECT {request_columns} FROM gw_requests r JOIN gw_turns t ON t.id = r.turn
WHERE r.id = ? AND t.session = ?

-- name: find_request
SELECT s.agent, s.key, {vote_count}, {request_columns}
FROM gw_requests r JOIN gw_turns t ON t.id = r.turn JOIN gw_sessions s ON s.id = t.session
WHERE r.id = ?

-- name: list_requests
SELECT s.agent, s.key, {vote_count}, {request_columns}
FROM gw_requests r JOIN gw_turns t ON t.id = r.turn JOIN gw_sessions s ON s.id = t.session
WHERE r.outcome IS NULL AND t.state = 'suspended'
ORDER BY r.created_at, r.row LIMIT ?

-- name: list_past_requests
SELECT s.agent, s.key, {vote_count}, {request_columns}
FROM gw_requests r JOIN gw_turns t ON t.id = r.turn JOIN gw_sessions s ON s.id = t.session
WHERE r.outcome IS NOT NULL AND (r.outcome NOT IN ('expired', 'cancelled')) = ?1
ORDER BY r.row DESC LIMIT ?2

-- name: due
SELECT s.agent, s.key, {request_columns}
FROM gw_requests r JOIN gw_turns t ON t.id = r.turn JOIN gw_sessions s ON s.id = t.session
WHERE r.outcome IS NULL AND r.expires_at <= ? AND t.state = 'suspended'
ORDER BY r.expires_at

-- name: insert_vote
INSERT INTO gw_votes (request, by, value, reason, at) VALUES (?, ?, ?, ?, ?)

-- name: votes
SELECT request, by, value, reason, at FROM gw_votes WHERE request = ? ORDER BY id

-- ----------------------------------------------------------------- editions and companion rows
-- name: insert_edition
INSERT INTO gw_editions (hash, body) VALUES (?, ?) ON CONFLICT (hash) DO NOTHING

-- name: edition
SELECT hash, body FROM gw_editions WHERE hash = ?

-- The claim's own time decides whether the one before it has expired. No row comes back when it
-- has not.
-- name: insert_claims
INSERT INTO gw_claims (key, turn, at, expires_at) VALUES (?, ?, ?, ?)
ON CONFLICT (key) DO UPDATE SET turn = excluded.turn, at = excluded.at,
  expires_at = excluded.expires_at
WHERE gw_claims.expires_at <= excluded.at

-- name: insert_usage
INSERT INTO gw_usage (
  turn, step, at, model, input, output, cache_read, cache_write, cost, prices, raw, estimated
) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)

-- name: insert_audit
INSERT INTO gw_audit (at, kind, agent, session, turn_id, subject, by, digest, outcome)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)

-- name: list_audit
SELECT id, at, kind, agent, session, turn_id, subject, by, digest, outcome FROM gw_audit
WHERE (?1 IS NULL OR agent = ?1) AND (?2 IS NULL OR session = ?2)
  AND (?3 IS NULL OR turn_id = ?3) AND (?4 IS NULL OR id < ?4)
ORDER BY id DESC LIMIT ?5

-- name: insert_reservations
INSERT INTO gw_reservations (turn, scope, amount, expires_at) VALUES (?, ?, ?, ?)

-- -------------------------------------------------------------------------------- the schema
-- name: has_schema
SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'gw_schema'

-- name: schema_version
SELECT max(version) FROM gw_schema

-- name: record_version
INSERT INTO gw_schema (version, at) VALUES (?, {now})

-- What no tool may have changed: the engine's own objects, what hangs on its tables, and foreign
-- keys of others that point at them.
-- name: fingerprint
SELECT type, name, tbl_name, sql FROM sqlite_master
  WHERE lower(name) LIKE 'gw\_%' ESCAPE '\' OR lower(tbl_name) LIKE 'gw\_%' ESCAPE '\'
UNION ALL
SELECT type, name, tbl_name, sql FROM sqlite_temp_master
  WHERE lower(name) LIKE 'gw\_%' ESCAPE '\' OR lower(tbl_name) LIKE 'gw\_%' ESCAPE '\'
UNION ALL
SELECT 'foreign key', m.name, f."table", f."from"
  FROM sqlite_master m JOIN pragma_foreign_key_list(m.name) f
  WHERE m.type = 'table' AND lower(f."table") LIKE 'gw\_%' ESCAPE '\'
ORDER BY 1, 2, 3
