-- Statements of the SQLite store about the ways in and out. Lists come as JSON arrays. Leases go by
-- {now}, what is due by the moment that the caller names.

-- ---------------------------------------------------------------- rows that commit with a fact
-- The first verdict of an event stays; ?10 says that this one revises it.
-- name: verdict_made
INSERT INTO gw_verdicts (source, event_id, verdict, rule, place, speaker, turn, said, at)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)
ON CONFLICT (source, event_id) DO UPDATE SET
  verdict = iif(?10, excluded.verdict, verdict),
  rule = iif(?10, excluded.rule, rule),
  place = iif(?10, coalesce(excluded.place, place), place),
  speaker = iif(?10, coalesce(excluded.speaker, speaker), speaker),
  turn = iif(?10, excluded.turn, turn),
  said = iif(?10, excluded.said, said),
  copies = copies + iif(?10, 0, 1)

-- name: delivery_opened
INSERT INTO gw_deliveries (turn, part, source, target, lane, request, remind_at, at, next_try, state)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?8, 'due')
ON CONFLICT (turn, part) DO UPDATE SET {marked}, next_try = excluded.at

-- name: marked
wanted = wanted + 1, attempts = 0,
state = iif(state IN ('resting', 'done', 'silent'), 'due', state)

-- name: delivery_mark
UPDATE gw_deliveries SET {marked}, next_try = ?2 WHERE turn = ?1

-- name: place_bound
INSERT INTO gw_places (place, agent, session, kind, turn, at) VALUES (?, ?, ?, ?, ?, ?)
ON CONFLICT (place) DO UPDATE SET at = max(at, excluded.at)

-- name: pair_seen
INSERT INTO gw_pairs (pair, n, first_at, last_at) VALUES (?1, 1, ?3, ?3)
ON CONFLICT (pair) DO UPDATE SET
  n = iif(first_at < excluded.last_at - ?2, 1, n + 1),
  first_at = iif(first_at < excluded.last_at - ?2, excluded.last_at, first_at),
  last_at = excluded.last_at

-- A semicolon is the character after the colon.
-- name: pair_reset
DELETE FROM gw_pairs WHERE pair = ?1 OR (pair > ?1 || ':' AND pair < ?1 || ';')

-- name: held
INSERT INTO gw_inbox (source, event_id, kind, body, state, next_try, at)
VALUES (?1, ?2, ?3, ?4, 'due', coalesce(?5, ?6), ?6)
ON CONFLICT (source, event_id) DO NOTHING

-- A tick has one outcome: no row is changed by a second one.
-- name: occurrence_kept
INSERT INTO gw_occurrences (agent, schedule, due, outcome, turn, "by", why, at)
VALUES (?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (agent, schedule, due) DO NOTHING

-- ---------------------------------------------------------------------------------- the way in
-- name: verdict_columns
v.source, v.event_id, v.verdict, v.rule, v.place, v.speaker, s.agent, s.key, t.turn_id, v.said,
v.copies, v.at

-- name: verdict_rows
gw_verdicts v LEFT JOIN gw_turns t ON t.id = v.turn LEFT JOIN gw_sessions s ON s.id = t.session

-- name: verdict_of_event
SELECT {verdict_columns} FROM {verdict_rows}
WHERE v.source = ?1 AND v.event_id = ?2
  AND (?3 IS NULL OR v.place = ?3) AND (?4 IS NULL OR t.turn_id = ?4)
  AND (?6 IS NULL OR v.verdict = ?6)
LIMIT ?5

-- name: verdicts
SELECT {verdict_columns} FROM {verdict_rows}
WHERE (?1 IS NULL OR v.source = ?1) AND (?2 IS NULL OR v.event_id = ?2)
  AND (?3 IS NULL OR v.place = ?3) AND (?4 IS NULL OR t.turn_id = ?4)
  AND (?6 IS NULL OR v.verdict = ?6)
ORDER BY v.id DESC LIMIT ?5

-- name: verdicts_at_place
SELECT {verdict_columns} FROM {verdict_rows}
WHERE v.place = ?3 AND (?1 IS NULL OR v.source = ?1) AND (?2 IS NULL OR v.event_id = ?2)
  AND (?4 IS NULL OR t.turn_id = ?4) AND (?6 IS NULL OR v.verdict = ?6)
ORDER BY v.id DESC LIMIT ?5

-- name: verdicts_of_turn
SELECT {verdict_columns} FROM gw_turns t JOIN gw_verdicts v ON v.turn = t.id
JOIN gw_sessions s ON s.id = t.session
WHERE t.turn_id = ?4 AND (?1 IS NULL OR v.source = ?1) AND (?2 IS NULL OR v.event_id = ?2)
  AND (?3 IS NULL OR v.place = ?3) AND (?6 IS NULL OR v.verdict = ?6)
ORDER BY v.id DESC LIMIT ?5

-- Four answers in one: which it is, its place among what was asked, its columns.
-- name: known
SELECT 'verdict', 0, {verdict_columns} FROM {verdict_rows} WHERE v.source = ?1 AND v.event_id = ?2
UNION ALL
SELECT 'binding', a.key, b.place, b.agent, b.session, b.turn, b.kind, b.at,
  NULL, NULL, NULL, NULL, NULL, NULL
FROM json_each(?3) a JOIN gw_places b ON b.place = a.value
UNION ALL
SELECT 'claim', a.key, c.key, c.turn, s.agent, s.key, t.turn_id, c.expires_at,
  NULL, NULL, NULL, NULL, NULL, NULL
FROM json_each(?4) a JOIN gw_claims c ON c.key = a.value
LEFT JOIN gw_turns t ON t.id = c.turn LEFT JOIN gw_sessions s ON s.id = t.session
UNION ALL
SELECT 'pair', a.key, p.pair, p.n, p.first_at, p.last_at,
  NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL
FROM json_each(?5) a JOIN gw_pairs p ON p.pair = a.value
ORDER BY 1, 2

-- name: inbox_due
SELECT id FROM gw_inbox
WHERE state IN ('due', 'taken') AND next_try <= ?1 AND (state = 'due' OR lease <= {now})
ORDER BY next_try, id LIMIT ?2

-- name: inbox_take
UPDATE gw_inbox SET state = 'taken', owner = ?2, lease = {now} + ?3, token = token + 1,
  attempts = attempts + 1
WHERE id = ?1
RETURNING id, source, event_id, kind, body, attempts, token, at

-- name: inbox_settle
UPDATE gw_inbox SET state = ?3, body = iif(?3 = 'done', '', body),
  next_try = coalesce(?4, next_try), error = ?5, owner = NULL, lease = NULL
WHERE id = ?1 AND token = ?2 AND state = 'taken'

-- --------------------------------------------------------------------------------- the way out
-- name: delivery_columns
d.id, s.agent, s.key, d.turn, t.turn_id, d.part, d.source, d.target, d.lane, d.request, d.state,
d.wanted, d.shown, d.hash, d.seq, d.ref, d.attempts, d.next_try, d.error, d.revive_on, d.remind_at,
d.token, d.at

-- name: part_columns
p.delivery, p.n, p.kind, p.state, p.ref, p.nonce, p.start, p."end", p.acked, p.hash, p.attempt,
p.opened_at, p.started_at, p.extra

-- name: delivery_rows
JOIN gw_turns t ON t.id = d.turn JOIN gw_sessions s ON s.id = t.session
LEFT JOIN gw_parts p ON p.delivery = d.id ORDER BY d.id DESC, p.n

-- name: deliveries
SELECT {delivery_columns}, {part_columns} FROM (
  SELECT * FROM gw_deliveries WHERE (?1 IS NULL OR state = ?1) ORDER BY id DESC LIMIT ?2
) d {delivery_rows}

-- name: deliveries_of_turn
SELECT {delivery_columns}, {part_columns} FROM (
  SELECT e.* FROM gw_turns f JOIN gw_deliveries e ON e.turn = f.id
  WHERE f.turn_id = ?3 AND (?1 IS NULL OR e.state = ?1) ORDER BY e.id DESC LIMIT ?2
) d {delivery_rows}

-- name: dead_deliveries
SELECT {delivery_columns}, {part_columns} FROM (
  SELECT * FROM gw_deliveries WHERE state = 'dead' ORDER BY id DESC LIMIT ?2
) d {delivery_rows}

-- name: deliveries_by_id
SELECT {delivery_columns}, {part_columns} FROM (
  SELECT * FROM gw_deliveries WHERE id IN (SELECT value FROM json_each(?))
) d {delivery_rows}

-- name: shown_at
SELECT {delivery_columns}, {part_columns} FROM (
  SELECT * FROM gw_deliveries WHERE id = (
    SELECT max(id) FROM (
      SELECT o.id FROM gw_deliveries o WHERE o.source = ?1 AND o.ref = ?2
      UNION ALL
      SELECT o.id FROM gw_parts q JOIN gw_deliveries o ON o.id = q.delivery
        WHERE q.ref = ?2 AND o.source = ?1))
) d {delivery_rows}

-- name: wake_reminded
UPDATE gw_deliveries SET state = 'due', wanted = wanted + 1, next_try = ?1
WHERE remind_at <= ?1 AND state = 'resting' AND source IN (SELECT value FROM json_each(?2))

-- Whether a row may have its lane: nobody sends there, and no older one waits. A row that was being
-- sent holds the lane still, also before an older one that was woken meanwhile.
-- name: heads_lane
(d.state = 'sending' OR NOT EXISTS (SELECT 1 FROM gw_deliveries o
  WHERE o.lane = d.lane AND o.state IN ('due', 'sending')
    AND (o.state = 'sending' OR o.id < d.id)))

-- name: claimable
SELECT d.id, d.state = 'sending' FROM gw_deliveries d
WHERE d.state IN ('due', 'sending') AND d.next_try <= ?1
  AND (d.state = 'due' OR d.lease <= {now})
  AND d.source IN (SELECT value FROM json_each(?2)) AND {heads_lane}
ORDER BY d.next_try, d.id LIMIT ?3

-- name: claim_delivery
UPDATE gw_deliveries SET state = 'sending', owner = ?2, lease = {now} + ?3, token = token + 1,
  attempts = attempts + 1
WHERE id = ?1

-- name: renew_delivery
UPDATE gw_deliveries SET lease = {now} + ?3 WHERE id = ?1 AND token = ?2 AND state = 'sending'

-- name: held_delivery
SELECT wanted FROM gw_deliveries WHERE id = ? AND token = ? AND state = 'sending'

-- name: save_part
INSERT OR REPLACE INTO gw_parts (
  delivery, n, kind, state, ref, nonce, start, "end", acked, hash, attempt, opened_at, started_at,
  extra
) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)

-- name: settle_delivery
UPDATE gw_deliveries SET
  state = iif(?4 IN ('resting', 'done', 'silent') AND wanted > ?3, 'due', ?4),
  shown = max(shown, ?3),
  seq = ?5,
  hash = coalesce(?6, hash),
  ref = coalesce(?7, ref),
  lane = coalesce(?8, lane),
  next_try = iif(?4 = 'due', coalesce(?9, next_try), next_try),
  error = ?10,
  revive_on = ?11,
  remind_at = ?12,
  attempts = iif(?4 IN ('resting', 'done', 'silent'), 0, attempts),
  owner = NULL,
  lease = NULL
WHERE id = ?1 AND token = ?2 AND state = 'sending'

-- name: next_due
SELECT min(at) FROM (
  SELECT * FROM (
    SELECT d.next_try AS at FROM gw_deliveries d
    WHERE d.state IN ('due', 'sending') AND d.state = 'due'
      AND d.source IN (SELECT value FROM json_each(?1)) AND {heads_lane}
    ORDER BY d.next_try LIMIT 1)
  UNION ALL
  SELECT * FROM (
    SELECT remind_at FROM gw_deliveries
    WHERE remind_at IS NOT NULL AND state = 'resting'
      AND source IN (SELECT value FROM json_each(?1))
    ORDER BY remind_at LIMIT 1))

-- name: retry_deliveries
UPDATE gw_deliveries SET state = 'due', wanted = wanted + 1, attempts = 0, next_try = ?3,
  revive_on = NULL
WHERE state = 'dead' AND (?1 IS NULL OR id = ?1) AND (?2 IS NULL OR revive_on = ?2)

-- name: delivery_state
SELECT state FROM gw_deliveries WHERE id = ?1

-- name: fail_delivery
UPDATE gw_deliveries SET state = 'dead', error = ?2, remind_at = NULL
WHERE id = ?1 AND state IN ('resting', 'done', 'silent')

-- name: lose_part
UPDATE gw_parts SET state = 'gone' WHERE delivery = ?1 AND n = ?2

-- -------------------------------------------------------------------------------------- shared
-- name: hold_lease
INSERT INTO gw_leases (name, owner, until) VALUES (?1, ?2, {now} + ?3)
ON CONFLICT (name) DO UPDATE SET owner = excluded.owner, until = excluded.until
WHERE gw_leases.owner = excluded.owner OR gw_leases.until <= {now}

-- name: drop_lease
DELETE FROM gw_leases WHERE name = ? AND owner = ?

-- name: installation_columns
key, app, team, enterprise, org, bot_user, bot_id, scopes, state, expires_at, sealed, version

-- name: installation
SELECT {installation_columns} FROM gw_installations WHERE key = ?

-- name: installations
SELECT {installation_columns} FROM gw_installations WHERE app = ? ORDER BY key

-- name: insert_installation
INSERT INTO gw_installations ({installation_columns}, at) VALUES
(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, {now})
ON CONFLICT (key) DO NOTHING

-- name: save_installation
UPDATE gw_installations SET
  app = ?2, team = ?3, enterprise = ?4, org = ?5, bot_user = ?6, bot_id = ?7, scopes = ?8,
  state = ?9, expires_at = ?10, sealed = ?11, version = ?12, at = {now}
WHERE key = ?1 AND version = ?12 - 1

-- name: keep_file
INSERT INTO gw_files (id, name, media_type, size, hash, turn, at, body)
VALUES (?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (id) DO NOTHING

-- name: file
SELECT body FROM gw_files WHERE id = ?

-- name: document_columns
kind, key, version, body, expires

-- name: unexpired
(expires IS NULL OR expires > {now})

-- name: document
SELECT {document_columns} FROM gw_documents WHERE kind = ? AND key = ? AND {unexpired}

-- name: documents
SELECT {document_columns} FROM gw_documents WHERE kind = ? AND {unexpired} ORDER BY key LIMIT ?

-- One that has expired is as good as none.
-- name: insert_document
INSERT INTO gw_documents AS d ({document_columns}) VALUES (?, ?, ?, ?, ?)
ON CONFLICT (kind, key) DO UPDATE
SET version = excluded.version, body = excluded.body, expires = excluded.expires
WHERE d.expires <= {now}

-- name: save_document
UPDATE gw_documents SET version = ?3, body = ?4, expires = ?5
WHERE kind = ?1 AND key = ?2 AND version = ?3 - 1 AND {unexpired}

-- name: drop_document
DELETE FROM gw_documents
WHERE kind = ?1 AND key = ?2 AND (?3 IS NULL OR version = ?3) AND {unexpired}

-- name: occurrence_answer
SELECT o.agent, o.schedule, o.due, o.outcome, o.turn, t.turn_id, s.key, o."by", o.why, o.at
FROM gw_occurrences o LEFT JOIN gw_turns t ON t.id = o.turn LEFT JOIN gw_sessions s ON s.id = t.session

-- name: occurrences
{occurrence_answer} WHERE o.agent = ? ORDER BY o.due DESC, o.schedule LIMIT ?

-- name: occurrences_of
{occurrence_answer} WHERE o.agent = ? AND o.schedule = ? ORDER BY o.due DESC LIMIT ?

-- Who held them is gone: the lock file says so. Rows that had a sender stay with a lapsed lease, so
-- that whoever takes them knows that they were cut off.
-- name: void_deliveries
UPDATE gw_deliveries SET lease = 0 WHERE state IN ('due', 'sending') AND state = 'sending'

-- name: void_inbox
UPDATE gw_inbox SET lease = 0 WHERE state IN ('due', 'taken') AND state = 'taken'

-- name: void_leases
DELETE FROM gw_leases

-- ------------------------------------------------------------------------------------ retention
-- name: forget_claims
DELETE FROM gw_claims WHERE key IN (
  SELECT key FROM gw_claims WHERE expires_at <= ?1 LIMIT ?2)

-- name: forget_verdicts
DELETE FROM gw_verdicts WHERE id IN (SELECT id FROM gw_verdicts WHERE at < ?1 LIMIT ?2)

-- name: forget_inbox
DELETE FROM gw_inbox WHERE id IN (
  SELECT id FROM gw_inbox WHERE state IN ('done', 'dead') AND at < ?1 LIMIT ?2)

-- name: old_deliveries
SELECT id FROM gw_deliveries WHERE state IN ('done', 'dead', 'silent') AND next_try < ?1
  LIMIT ?2

-- name: drop_delivery
DELETE FROM gw_deliveries WHERE id = ?

-- name: drop_parts
DELETE FROM gw_parts WHERE delivery = ?

-- name: forget_places
DELETE FROM gw_places WHERE place IN (SELECT place FROM gw_places WHERE at < ?1 LIMIT ?2)

-- name: forget_pairs
DELETE FROM gw_pairs WHERE pair IN (SELECT pair FROM gw_pairs WHERE last_at < ?1 LIMIT ?2)

-- name: forget_files
DELETE FROM gw_files WHERE id IN (SELECT id FROM gw_files WHERE at < ?1 LIMIT ?2)

-- name: forget_documents
DELETE FROM gw_documents WHERE (kind, key) IN (
  SELECT kind, key FROM gw_documents WHERE expires <= ?1 LIMIT ?2)

-- name: forget_occurrences
DELETE FROM gw_occurrences WHERE (agent, schedule, due) IN (
  SELECT agent, schedule, due FROM gw_occurrences WHERE at < ?1 LIMIT ?2)
