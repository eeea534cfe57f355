-- Statements of the PostgreSQL store about the ways in and out. Leases go by the server's clock, what
-- is due by the moment that the caller names. Many rows come as one array per column.

-- ---------------------------------------------------------------- rows that commit with a fact
-- Pieces of one write, as in queries.sql. <held> is where they stand: g if the write goes through the
-- mailbox, so that the mailbox is locked before them, else f.

-- A write without a session.
-- name: f_loose
f AS (SELECT NULL::bigint AS id)

-- By who took an event from the inbox, while it is still theirs.
-- name: f_inbox
f AS (
  UPDATE gw.inbox
  SET state = :state::text, body = CASE WHEN :state = 'done' THEN '' ELSE body END,
    next_try = coalesce(:next_try::bigint, next_try), error = :error::text, owner = NULL,
    lease = NULL
  WHERE id = :row::bigint AND token = :token::bigint AND state = 'taken' RETURNING id
)

-- name: write_verdicts
verdicts_ AS (
  INSERT INTO gw.verdicts AS v (<columns>) SELECT <cells> FROM <held>, <rows>
  ON CONFLICT (source, event_id) DO UPDATE SET copies = v.copies + excluded.copies
)

-- A verdict that revises the one before it. It counts as one when it is the first.
-- name: write_revised
revised_ AS (
  INSERT INTO gw.verdicts AS v (<columns>) SELECT <cells> FROM <held>, <rows>
  ON CONFLICT (source, event_id) DO UPDATE
  SET verdict = excluded.verdict, rule = excluded.rule,
    place = coalesce(excluded.place, v.place), speaker = coalesce(excluded.speaker, v.speaker),
    turn = excluded.turn, said = excluded.said, copies = v.copies + excluded.copies - 1
)

-- name: write_deliveries
deliveries_ AS (
  INSERT INTO gw.deliveries AS d (<columns>, state) SELECT <cells>, 'due'
  FROM <held>, <rows> <standing>
  ON CONFLICT (turn, part) DO UPDATE
  SET wanted = d.wanted + excluded.wanted, attempts = 0, next_try = excluded.next_try,
    state = CASE WHEN d.state IN ('resting', 'done', 'silent') THEN 'due' ELSE d.state END
  RETURNING d.id
)

-- Without a session's lock the turn is held, or a mark of it (gw.mark) could pass this row unseen.
-- name: standing
CROSS JOIN LATERAL (SELECT FROM gw.turns t WHERE t.id = u.turn FOR SHARE) t

-- name: write_places
places_ AS (
  INSERT INTO gw.places AS b (<columns>) SELECT <cells> FROM <held>, <rows>
  ON CONFLICT (place) DO UPDATE SET at = greatest(b.at, excluded.at)
)

-- name: write_inbox
inbox_ AS (
  INSERT INTO gw.inbox (<columns>, state) SELECT <cells>, 'due' FROM <held>, <rows>
  ON CONFLICT (source, event_id) DO NOTHING
)

-- name: write_marks
marks_ (<columns>) AS (SELECT <cells> FROM <held>, <rows>)

-- After the views that this write opens: what a function has changed, its statement can't any more.
-- name: written_marks
, (SELECT count(gw.mark(m.turn, m.at)) FROM marks_ m <after>)

-- name: after_opening
WHERE (SELECT count(*) FROM deliveries_) >= 0

-- name: write_pairs
pairs_ (<columns>) AS (SELECT <cells> FROM <held>, <rows>)

-- name: written_pairs
, (SELECT count(gw.see_pair(p.pair, p.reset, p.span, p.at)) FROM pairs_ p)

-- name: write_occurrences
ticks_ (<columns>) AS (SELECT <cells> FROM <held>, <rows>),
occurrences_ AS (
  INSERT INTO gw.occurrences (<columns>) SELECT <columns> FROM ticks_
  ON CONFLICT (agent, schedule, due) DO NOTHING RETURNING agent, schedule, due
)

-- A tick has one outcome: the write falls with a second one.
-- name: written_occurrences
, (SELECT gw.refuse_claim(concat_ws(':', 'tick', k.agent, k.schedule, k.due))
  FROM ticks_ k LEFT JOIN occurrences_ o USING (agent, schedule, due)
  WHERE (SELECT count(*) FROM ticks_) <> (SELECT count(*) FROM occurrences_)
  ORDER BY o.due NULLS FIRST LIMIT 1)

-- ---------------------------------------------------------------------------------- the way in
-- name: verdict_columns
v.source, v.event_id, v.verdict, v.rule, v.place, v.speaker, s.agent, s.key, t.turn_id, v.said,
v.copies, v.at

-- name: verdict_rows
gw.verdicts v LEFT JOIN gw.turns t ON t.id = v.turn LEFT JOIN gw.sessions s ON s.id = t.session

-- name: verdict_of_event
SELECT {verdict_columns} FROM {verdict_rows}
WHERE v.source = $1 AND v.event_id = $2
  AND ($3::text IS NULL OR v.place = $3) AND ($4::text IS NULL OR t.turn_id = $4)
  AND ($6::text IS NULL OR v.verdict = $6)
LIMIT $5

-- name: verdicts
SELECT {verdict_columns} FROM {verdict_rows}
WHERE ($1::text IS NULL OR v.source = $1) AND ($2::text IS NULL OR v.event_id = $2)
  AND ($3::text IS NULL OR v.place = $3) AND ($4::text IS NULL OR t.turn_id = $4)
  AND ($6::text IS NULL OR v.verdict = $6)
ORDER BY v.id DESC LIMIT $5

-- name: verdicts_at_place
SELECT {verdict_columns} FROM {verdict_rows}
WHERE v.place = $3 AND ($1::text IS NULL OR v.source = $1)
  AND ($2::text IS NULL OR v.event_id = $2) AND ($4::text IS NULL OR t.turn_id = $4)
  AND ($6::text IS NULL OR v.verdict = $6)
ORDER BY v.id DESC LIMIT $5

-- name: verdicts_of_turn
SELECT {verdict_columns} FROM gw.turns t JOIN gw.verdicts v ON v.turn = t.id
JOIN gw.sessions s ON s.id = t.session
WHERE t.turn_id = $4 AND ($1::text IS NULL OR v.source = $1)
  AND ($2::text IS NULL OR v.event_id = $2) AND ($3::text IS NULL OR v.place = $3)
  AND ($6::text IS NULL OR v.verdict = $6)
ORDER BY v.id DESC LIMIT $5

-- name: known
SELECT
  (SELECT row({verdict_columns}) FROM {verdict_rows} WHERE v.source = $1 AND v.event_id = $2),
  ARRAY(
    SELECT row(b.place, b.agent, b.session, b.turn, b.kind, b.at)
    FROM unnest($3::text[]) WITH ORDINALITY a (place, n) JOIN gw.places b ON b.place = a.place
    ORDER BY a.n
  ),
  ARRAY(
    SELECT row(c.key, c.turn, s.agent, s.key, t.turn_id, c.expires_at)
    FROM unnest($4::text[]) WITH ORDINALITY a (key, n) JOIN gw.claims c ON c.key = a.key
    LEFT JOIN gw.turns t ON t.id = c.turn LEFT JOIN gw.sessions s ON s.id = t.session
    ORDER BY a.n
  ),
  ARRAY(
    SELECT row(p.pair, p.n, p.first_at, p.last_at)
    FROM unnest($5::text[]) WITH ORDINALITY a (pair, n) JOIN gw.pairs p ON p.pair = a.pair
    ORDER BY a.n
  )

-- What another host takes at this moment is passed over.
-- name: take_inbox
WITH due AS (
  SELECT i.id FROM gw.inbox i
  WHERE i.state IN ('due', 'taken') AND i.next_try <= $1::bigint
    AND (i.state = 'due' OR i.lease <= clock_timestamp())
  ORDER BY i.next_try, i.id LIMIT $2 FOR NO KEY UPDATE SKIP LOCKED
), taken AS (
  UPDATE gw.inbox i
  SET state = 'taken', owner = $3, token = i.token + 1, attempts = i.attempts + 1,
    lease = clock_timestamp() + $4::bigint * interval '1 millisecond'
  FROM due WHERE i.id = due.id
  RETURNING i.id, i.source, i.event_id, i.kind, i.body, i.attempts, i.token, i.at, i.next_try
)
SELECT id, source, event_id, kind, body, attempts, token, at FROM taken ORDER BY next_try, id

-- --------------------------------------------------------------------------------- the way out
-- name: delivery_columns
d.id, s.agent, s.key, d.turn, t.turn_id, d.part, d.source, d.target, d.lane, d.request, d.state,
d.wanted, d.shown, d.hash, d.seq, d.ref, d.attempts, d.next_try, d.error, d.revive_on, d.remind_at,
d.token, d.at

-- name: part_columns
p.delivery, p.n, p.kind, p.state, p.ref, p.nonce, p.start, p."end", p.acked, p.hash, p.attempt,
p.opened_at, p.started_at, p.extra

-- name: delivery_answer
SELECT {delivery_columns},
  ARRAY(SELECT row({part_columns}) FROM gw.parts p WHERE p.delivery = d.id ORDER BY p.n)

-- name: delivery_rows
JOIN gw.turns t ON t.id = d.turn JOIN gw.sessions s ON s.id = t.session

-- name: deliveries
{delivery_answer} FROM gw.deliveries d {delivery_rows}
WHERE $1::text IS NULL OR d.state = $1 ORDER BY d.id DESC LIMIT $2

-- name: dead_deliveries
{delivery_answer} FROM gw.deliveries d {delivery_rows}
WHERE d.state = 'dead' ORDER BY d.id DESC LIMIT $1

-- name: deliveries_of_turn
{delivery_answer} FROM gw.deliveries d {delivery_rows}
WHERE t.turn_id = $3 AND ($1::text IS NULL OR d.state = $1) ORDER BY d.id DESC LIMIT $2

-- name: deliveries_by_id
{delivery_answer} FROM unnest($1::bigint[]) u (id) JOIN gw.deliveries d ON d.id = u.id {delivery_rows}

-- name: shown_at
{delivery_answer} FROM gw.deliveries d {delivery_rows}
WHERE d.id = (
  SELECT max(f.id) FROM (
    SELECT o.id FROM gw.deliveries o WHERE o.source = $1 AND o.ref = $2
    UNION ALL
    SELECT o.id FROM gw.parts q JOIN gw.deliveries o ON o.id = q.delivery
      WHERE q.ref = $2 AND o.source = $1) f)

-- Each multiple update locks its rows by number, so that two of them never wait for each other.
-- name: wake_reminded
UPDATE gw.deliveries d SET state = 'due', wanted = d.wanted + 1, next_try = $1
FROM (
  SELECT w.id FROM gw.deliveries w
  WHERE w.remind_at <= $1::bigint AND w.state = 'resting' AND w.source = ANY ($2::text[])
  ORDER BY w.id FOR NO KEY UPDATE SKIP LOCKED
) w WHERE d.id = w.id RETURNING d.id

-- Whether a row heads its lane: it has the lane's sender, or nobody has and no older one is open.
-- name: heads_lane
(d.state = 'sending' OR NOT EXISTS (SELECT FROM gw.deliveries o
  WHERE o.lane = d.lane AND o.state IN ('due', 'sending')
    AND (o.id < d.id OR o.state = 'sending')))

-- What another host claims at this moment is passed over. The parts are read afterwards: who held a
-- lapsed lease may write some until this commits.
-- name: claim
WITH due AS (
  SELECT d.id, d.state FROM gw.deliveries d
  WHERE d.state IN ('due', 'sending') AND d.next_try <= $1::bigint
    AND (d.state = 'due' OR d.lease <= clock_timestamp())
    AND d.source = ANY ($2::text[]) AND {heads_lane}
  ORDER BY d.next_try, d.id LIMIT $3 FOR NO KEY UPDATE OF d SKIP LOCKED
), taken AS (
  UPDATE gw.deliveries d
  SET state = 'sending', owner = $4, token = d.token + 1, attempts = d.attempts + 1,
    lease = clock_timestamp() + $5::bigint * interval '1 millisecond'
  FROM due WHERE d.id = due.id
  RETURNING d.id, d.token, due.state = 'sending' AS recovered, d.next_try
)
SELECT id, token, recovered FROM taken ORDER BY next_try, id

-- name: renew
WITH ours AS (
  SELECT d.id FROM gw.deliveries d JOIN unnest($1::bigint[], $2::bigint[]) u (id, token)
    ON d.id = u.id AND d.token = u.token
  WHERE d.state = 'sending' ORDER BY d.id FOR NO KEY UPDATE OF d
)
UPDATE gw.deliveries d SET lease = clock_timestamp() + $3::bigint * interval '1 millisecond'
FROM ours WHERE d.id = ours.id RETURNING d.id

-- name: journal
WITH held AS (
  SELECT id, wanted FROM gw.deliveries
  WHERE id = $1 AND token = $2 AND state = 'sending' FOR NO KEY UPDATE
), saved AS (
  INSERT INTO gw.parts AS p (
    delivery, n, kind, state, ref, nonce, start, "end", acked, hash, attempt, opened_at,
    started_at, extra)
  SELECT held.id, u.* FROM held, unnest(
    $3::bigint[], $4::text[], $5::text[], $6::text[], $7::text[], $8::bigint[], $9::bigint[],
    $10::bigint[], $11::text[], $12::bigint[], $13::bigint[], $14::bigint[], $15::text[]) u
  ON CONFLICT (delivery, n) DO UPDATE
  SET kind = excluded.kind, state = excluded.state, ref = excluded.ref, nonce = excluded.nonce,
    start = excluded.start, "end" = excluded."end", acked = excluded.acked, hash = excluded.hash,
    attempt = excluded.attempt, opened_at = excluded.opened_at, started_at = excluded.started_at,
    extra = excluded.extra
)
SELECT wanted FROM held

-- name: settle
WITH d AS (
  UPDATE gw.deliveries SET
    state = CASE WHEN $4::text IN ('resting', 'done', 'silent') AND wanted > $3 THEN 'due'
      ELSE $4 END,
    shown = greatest(shown, $3::bigint),
    seq = $5,
    hash = coalesce($6, hash),
    ref = coalesce($7, ref),
    lane = coalesce($8, lane),
    next_try = CASE WHEN $4 = 'due' THEN coalesce($9::bigint, next_try) ELSE next_try END,
    error = $10,
    revive_on = $11,
    remind_at = $12,
    attempts = CASE WHEN $4 IN ('resting', 'done', 'silent') THEN 0 ELSE attempts END,
    owner = NULL,
    lease = NULL
  WHERE id = $1 AND token = $2 AND state = 'sending' RETURNING *
), places_ AS (
  INSERT INTO gw.places AS b (place, agent, session, kind, turn, at)
  SELECT u.* FROM d, unnest(
    $13::text[], $14::text[], $15::text[], $16::text[], $17::bigint[], $18::bigint[]) u
  ON CONFLICT (place) DO UPDATE SET at = greatest(b.at, excluded.at)
)
{delivery_answer} FROM d {delivery_rows}

-- name: next_due
SELECT min(n.at) FROM (
  (SELECT d.next_try AS at FROM gw.deliveries d
    WHERE d.state IN ('due', 'sending') AND d.state = 'due' AND d.source = ANY ($1::text[])
      AND {heads_lane}
    ORDER BY d.next_try LIMIT 1)
  UNION ALL
  (SELECT d.remind_at FROM gw.deliveries d
    WHERE d.remind_at IS NOT NULL AND d.state = 'resting' AND d.source = ANY ($1)
    ORDER BY d.remind_at LIMIT 1)
) n

-- name: retry
WITH gone AS (
  SELECT d.id FROM gw.deliveries d
  WHERE d.state = 'dead' AND ($1::bigint IS NULL OR d.id = $1)
    AND ($2::text IS NULL OR d.revive_on = $2)
  ORDER BY d.id FOR NO KEY UPDATE
), revived AS (
  UPDATE gw.deliveries d
  SET state = 'due', wanted = d.wanted + 1, attempts = 0, next_try = $3, revive_on = NULL
  FROM gone WHERE d.id = gone.id RETURNING d.id
)
SELECT count(*) FROM revived

-- name: fail
WITH held AS (
  SELECT d.id, d.state FROM gw.deliveries d WHERE d.id = $1 FOR NO KEY UPDATE
), dead AS (
  UPDATE gw.deliveries d SET state = 'dead', error = $3, remind_at = NULL
  FROM held WHERE d.id = held.id AND held.state IN ('resting', 'done', 'silent') RETURNING d.id
), lost AS (
  UPDATE gw.parts p SET state = 'gone' FROM dead WHERE p.delivery = dead.id AND p.n = $2
)
SELECT state FROM held

-- -------------------------------------------------------------------------------------- shared
-- name: hold
INSERT INTO gw.leases AS l (name, owner, until)
VALUES ($1, $2, clock_timestamp() + $3::bigint * interval '1 millisecond')
ON CONFLICT (name) DO UPDATE SET owner = excluded.owner, until = excluded.until
WHERE l.owner = excluded.owner OR l.until <= clock_timestamp() RETURNING l.name

-- name: let_go
DELETE FROM gw.leases WHERE name = $1 AND owner = $2

-- name: installation_columns
key, app, team, enterprise, org, bot_user, bot_id, scopes, state, expires_at, sealed, version

-- name: installation
SELECT {installation_columns} FROM gw.installations WHERE key = $1

-- name: installations
SELECT {installation_columns} FROM gw.installations WHERE app = $1 ORDER BY key COLLATE "C"

-- name: insert_installation
INSERT INTO gw.installations ({installation_columns}, at)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, {now})
ON CONFLICT (key) DO NOTHING RETURNING version

-- name: save_installation
UPDATE gw.installations
SET app = $2, team = $3, enterprise = $4, org = $5, bot_user = $6, bot_id = $7, scopes = $8,
  state = $9, expires_at = $10, sealed = $11, version = $12, at = {now}
WHERE key = $1 AND version = $12 - 1 RETURNING version

-- name: keep_file
INSERT INTO gw.files (id, name, media_type, size, hash, turn, at, body)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT (id) DO NOTHING

-- name: file
SELECT body FROM gw.files WHERE id = $1

-- name: document_columns
kind, key, version, body, expires

-- name: unexpired
(expires IS NULL OR expires > {now})

-- name: document
SELECT {document_columns} FROM gw.documents WHERE kind = $1 AND key = $2 AND {unexpired}

-- name: documents
SELECT {document_columns} FROM gw.documents WHERE kind = $1 AND {unexpired} ORDER BY key LIMIT $2

-- One that has expired is as good as none.
-- name: insert_document
INSERT INTO gw.documents AS d ({document_columns}) VALUES ($1, $2, $3, $4, $5)
ON CONFLICT (kind, key) DO UPDATE
SET version = excluded.version, body = excluded.body, expires = excluded.expires
WHERE d.expires <= {now} RETURNING version

-- name: save_document
UPDATE gw.documents SET version = $3, body = $4, expires = $5
WHERE kind = $1 AND key = $2 AND version = $3 - 1 AND {unexpired} RETURNING version

-- name: drop_document
DELETE FROM gw.documents
WHERE kind = $1 AND key = $2 AND ($3::bigint IS NULL OR version = $3) AND {unexpired}
RETURNING version

-- name: occurrence_answer
SELECT o.agent, o.schedule, o.due, o.outcome, o.turn, t.turn_id, s.key, o."by", o.why, o.at
FROM gw.occurrences o LEFT JOIN gw.turns t ON t.id = o.turn LEFT JOIN gw.sessions s ON s.id = t.session

-- name: occurrences
{occurrence_answer} WHERE o.agent = $1 ORDER BY o.due DESC, o.schedule LIMIT $2

-- name: occurrences_of
{occurrence_answer} WHERE o.agent = $1 AND o.schedule = $2 ORDER BY o.due DESC LIMIT $3

-- ------------------------------------------------------------------------------------ retention
-- What is in use at this moment is not old.
-- name: forget_claims
WITH old AS (
  SELECT key FROM gw.claims WHERE expires_at <= $1 LIMIT $2 FOR UPDATE SKIP LOCKED
), gone AS (DELETE FROM gw.claims c USING old WHERE c.key = old.key RETURNING 1)
SELECT count(*) FROM gone

-- name: forget_verdicts
WITH old AS (
  SELECT id FROM gw.verdicts WHERE at < $1 LIMIT $2 FOR UPDATE SKIP LOCKED
), gone AS (DELETE FROM gw.verdicts v USING old WHERE v.id = old.id RETURNING 1)
SELECT count(*) FROM gone

-- name: forget_inbox
WITH old AS (
  SELECT id FROM gw.inbox WHERE state IN ('done', 'dead') AND at < $1
  LIMIT $2 FOR UPDATE SKIP LOCKED
), gone AS (DELETE FROM gw.inbox i USING old WHERE i.id = old.id RETURNING 1)
SELECT count(*) FROM gone

-- name: forget_places
WITH old AS (
  SELECT place FROM gw.places WHERE at < $1 LIMIT $2 FOR UPDATE SKIP LOCKED
), gone AS (DELETE FROM gw.places b USING old WHERE b.place = old.place RETURNING 1)
SELECT count(*) FROM gone

-- name: forget_pairs
WITH old AS (
  SELECT pair FROM gw.pairs WHERE last_at < $1 LIMIT $2 FOR UPDATE SKIP LOCKED
), gone AS (DELETE FROM gw.pairs p USING old WHERE p.pair = old.pair RETURNING 1)
SELECT count(*) FROM gone

-- name: forget_files
WITH old AS (
  SELECT id FROM gw.files WHERE at < $1 LIMIT $2 FOR UPDATE SKIP LOCKED
), gone AS (DELETE FROM gw.files f USING old WHERE f.id = old.id RETURNING 1)
SELECT count(*) FROM gone

-- name: forget_deliveries
WITH old AS (
  SELECT id FROM gw.deliveries WHERE state IN ('done', 'dead', 'silent') AND next_try < $1
  LIMIT $2 FOR UPDATE SKIP LOCKED
), gone AS (DELETE FROM gw.deliveries d USING old WHERE d.id = old.id RETURNING d.id),
parts_ AS (DELETE FROM gw.parts p USING gone WHERE p.delivery = gone.id)
SELECT count(*) FROM gone

-- name: forget_documents
WITH old AS (
  SELECT kind, key FROM gw.documents WHERE expires <= $1 LIMIT $2 FOR UPDATE SKIP LOCKED
), gone AS (
  DELETE FROM gw.documents d USING old WHERE d.kind = old.kind AND d.key = old.key RETURNING 1
)
SELECT count(*) FROM gone

-- name: forget_occurrences
WITH old AS (
  SELECT agent, schedule, due FROM gw.occurrences WHERE at < $1 LIMIT $2 FOR UPDATE SKIP LOCKED
), gone AS (
  DELETE FROM gw.occurrences o USING old
  WHERE (o.agent, o.schedule, o.due) = (old.agent, old.schedule, old.due) RETURNING 1
)
SELECT count(*) FROM gone
