-- The same tables as SQLite's; gw_turns there is gw.turns here. They stand in a schema of their own,
-- to which the role that sync tools write under has no right: no statement of a tool reaches them.
-- messages, steps, events and usage carry no foreign keys: a checkpoint writes them while it holds
-- the session's row, and a key check per row would cost more than the row.

CREATE TABLE gw.schema (
  version bigint NOT NULL,
  at bigint NOT NULL
);

CREATE TABLE gw.hosts (
  id text PRIMARY KEY,
  beat timestamptz NOT NULL
) WITH (fillfactor = 50);

CREATE TABLE gw.sessions (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  agent text NOT NULL,
  key text NOT NULL,
  generation bigint NOT NULL DEFAULT 0,
  epoch bigint NOT NULL DEFAULT 0,
  owner text,
  reset_at bigint,
  created_at bigint NOT NULL,
  UNIQUE (agent, key)
) WITH (fillfactor = 70);
CREATE INDEX sessions_reset ON gw.sessions (id) WHERE reset_at IS NOT NULL;

-- Apart from the session: a tool's open transaction holds that row, and must delay no acceptance.
-- version counts the changes to the session, its turns, requests and votes: a decision that was made
-- without a lock is written only if it is the same still.
CREATE TABLE gw.mailboxes (
  session bigint PRIMARY KEY REFERENCES gw.sessions (id),
  version bigint NOT NULL DEFAULT 1,
  next_number bigint NOT NULL DEFAULT 1,
  active_at bigint NOT NULL
) WITH (fillfactor = 70);
CREATE INDEX mailboxes_active ON gw.mailboxes (active_at, session);

-- Saved whole several times a turn, so the opening, which may be long, stands apart.
CREATE TABLE gw.turns (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  session bigint NOT NULL REFERENCES gw.sessions (id),
  turn_id text NOT NULL,
  number bigint NOT NULL,
  generation bigint NOT NULL,
  body text NOT NULL,
  content_hash text NOT NULL,
  source text NOT NULL,
  speaker text,
  queued_at bigint NOT NULL,
  cancel text,
  cancel_at bigint,
  state text NOT NULL,
  surface text,
  edition text,
  opening bigint,
  started_at bigint,
  ended_at bigint,
  attempt_at bigint,
  ran bigint NOT NULL,
  attempts bigint NOT NULL,
  crashes bigint NOT NULL,
  suspect bigint NOT NULL,
  alone boolean NOT NULL,
  request text,
  answer bigint,
  error text,
  UNIQUE (session, turn_id)
) WITH (fillfactor = 80);
-- Two small indexes instead of one: what waits for an attempt is found without walking over a
-- million parked turns.
CREATE UNIQUE INDEX turns_live ON gw.turns (session, number) WHERE state IN ('queued', 'running');
CREATE UNIQUE INDEX turns_parked ON gw.turns (session, number) WHERE state = 'suspended';

CREATE TABLE gw.openings (
  turn bigint PRIMARY KEY,
  content text NOT NULL
);

CREATE TABLE gw.messages (
  session bigint NOT NULL,
  generation bigint NOT NULL,
  idx bigint NOT NULL,
  turn bigint NOT NULL,
  role text NOT NULL,
  body text NOT NULL,
  PRIMARY KEY (session, generation, idx)
);

CREATE TABLE gw.steps (
  turn bigint NOT NULL,
  step text NOT NULL,
  done boolean NOT NULL,
  attempt bigint NOT NULL,
  message bigint,
  body text,
  at bigint NOT NULL,
  PRIMARY KEY (turn, step)
) WITH (fillfactor = 90);

CREATE TABLE gw.events (
  turn bigint NOT NULL,
  seq bigint NOT NULL,
  at bigint NOT NULL,
  type text NOT NULL,
  ref bigint,
  body text,
  PRIMARY KEY (turn, seq)
);

CREATE TABLE gw.usage (
  turn bigint NOT NULL,
  step bigint NOT NULL,
  at bigint NOT NULL,
  model text NOT NULL,
  input bigint NOT NULL,
  output bigint NOT NULL,
  cache_read bigint NOT NULL,
  cache_write bigint NOT NULL,
  cost text,
  prices text,
  raw text,
  estimated boolean NOT NULL,
  PRIMARY KEY (turn, step)
);

CREATE TABLE gw.requests (
  row bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  id text NOT NULL UNIQUE,
  turn bigint NOT NULL REFERENCES gw.turns (id),
  key text NOT NULL,
  position bigint NOT NULL,
  call_id text NOT NULL,
  name text NOT NULL,
  tool text NOT NULL,
  digest text NOT NULL,
  body text NOT NULL,
  created_at bigint NOT NULL,
  expires_at bigint,
  outcome text,
  value text,
  reason text,
  by text,
  decided_at bigint,
  UNIQUE (turn, key)
);
CREATE INDEX requests_open ON gw.requests (created_at) WHERE outcome IS NULL;
CREATE INDEX requests_due ON gw.requests (expires_at)
  WHERE outcome IS NULL AND expires_at IS NOT NULL;

CREATE TABLE gw.votes (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  request text NOT NULL,
  by text NOT NULL,
  value text NOT NULL,
  reason text,
  at bigint NOT NULL
);
CREATE INDEX votes_request ON gw.votes (request, id);

CREATE TABLE gw.editions (
  hash text PRIMARY KEY,
  body text NOT NULL
);

CREATE TABLE gw.claims (
  key text PRIMARY KEY,
  turn bigint,
  at bigint NOT NULL,
  expires_at bigint NOT NULL
);

CREATE TABLE gw.verdicts (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  event_id text NOT NULL,
  source text NOT NULL,
  verdict text NOT NULL,
  rule text NOT NULL,
  turn bigint,
  at bigint NOT NULL
);

CREATE TABLE gw.deliveries (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  turn bigint NOT NULL,
  part text NOT NULL,
  target text NOT NULL,
  state text NOT NULL,
  at bigint NOT NULL
);

CREATE TABLE gw.audit (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  at bigint NOT NULL,
  kind text NOT NULL,
  agent text NOT NULL,
  session text NOT NULL,
  turn_id text NOT NULL,
  subject text NOT NULL,
  by text,
  digest text,
  outcome text NOT NULL
);

CREATE TABLE gw.reservations (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  turn bigint NOT NULL,
  scope text NOT NULL,
  amount text NOT NULL,
  expires_at bigint NOT NULL
);

-- Lock a session and its mailbox, and answer its id if they are as a decision saw them. A volatile
-- function reads anew in each of its statements, so it sees what it waited for; the statement it
-- stands in does not.
CREATE FUNCTION gw.take(
  session bigint, version bigint, next_index bigint, last_seqs bigint,
  turn bigint, steps bigint, done bigint
) RETURNS bigint
  LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  generation_ bigint;
  found_steps bigint;
  found_done bigint;
BEGIN
  SELECT s.generation INTO generation_ FROM gw.sessions s
    WHERE s.id = take.session FOR NO KEY UPDATE;
  PERFORM FROM gw.mailboxes b
    WHERE b.session = take.session AND b.version = take.version FOR NO KEY UPDATE;
  IF NOT FOUND THEN
    RETURN NULL;
  END IF;
  IF next_index <> (SELECT coalesce(max(m.idx) + 1, 0) FROM gw.messages m
      WHERE m.session = take.session AND m.generation = generation_) THEN
    RETURN NULL;
  END IF;
  IF last_seqs <> (SELECT coalesce(sum((SELECT max(e.seq) FROM gw.events e WHERE e.turn = o.id)), 0)
      FROM (
        SELECT t.id FROM gw.turns t
          WHERE t.session = take.session AND t.state IN ('queued', 'running')
        UNION ALL
        SELECT t.id FROM gw.turns t WHERE t.session = take.session AND t.state = 'suspended'
      ) o) THEN
    RETURN NULL;
  END IF;
  IF turn IS NOT NULL THEN
    SELECT count(*), count(*) FILTER (WHERE p.done) INTO found_steps, found_done
      FROM gw.steps p WHERE p.turn = take.turn;
    IF steps <> found_steps OR done <> found_done THEN
      RETURN NULL;
    END IF;
  END IF;
  RETURN session;
END
$$;

-- A taken claim must undo the whole statement it stands in, and only an error does that.
CREATE FUNCTION gw.refuse_claim(key text) RETURNS bigint
  LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
  RAISE EXCEPTION USING ERRCODE = 'GW001', MESSAGE = 'claimed', DETAIL = key;
END
$$;

-- The same for a row that a statement should have found.
CREATE FUNCTION gw.refuse_missing(what text) RETURNS bigint
  LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
  RAISE EXCEPTION USING ERRCODE = 'GW002', MESSAGE = what;
END
$$;
