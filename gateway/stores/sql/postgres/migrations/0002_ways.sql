-- The ways in and out: verdicts, the inbox, places, deliveries and their parts, installations: the same
-- tables as SQLite's. Leases are moments of the server's clock, which all hosts share.
-- Nothing ever wrote verdicts or deliveries before, so they are made anew.

ALTER TABLE gw.turns ADD COLUMN delivers boolean NOT NULL DEFAULT false;

DROP TABLE gw.verdicts;
DROP TABLE gw.deliveries;

CREATE INDEX claims_end ON gw.claims (expires_at);

CREATE TABLE gw.verdicts (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  source text NOT NULL,
  event_id text NOT NULL,
  verdict text NOT NULL,
  rule text NOT NULL,
  place text,
  speaker text,
  turn bigint,
  said text,
  copies bigint NOT NULL DEFAULT 1,
  at bigint NOT NULL,
  UNIQUE (source, event_id)
);
CREATE INDEX verdicts_place ON gw.verdicts (place) WHERE place IS NOT NULL;
CREATE INDEX verdicts_turn ON gw.verdicts (turn) WHERE turn IS NOT NULL;
CREATE INDEX verdicts_at ON gw.verdicts (at);

-- state: due, taken, done, dead. The body goes once the event is done.
CREATE TABLE gw.inbox (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  source text NOT NULL,
  event_id text NOT NULL,
  kind text NOT NULL,
  state text NOT NULL,
  attempts bigint NOT NULL DEFAULT 0,
  next_try bigint NOT NULL,
  owner text,
  lease timestamptz,
  token bigint NOT NULL DEFAULT 0,
  error text,
  at bigint NOT NULL,
  body text NOT NULL,
  UNIQUE (source, event_id)
);
CREATE INDEX inbox_due ON gw.inbox (next_try) WHERE state IN ('due', 'taken');
CREATE INDEX inbox_end ON gw.inbox (at) WHERE state IN ('done', 'dead');

CREATE TABLE gw.places (
  place text PRIMARY KEY,
  agent text NOT NULL,
  session text NOT NULL,
  kind text NOT NULL,
  turn bigint,
  at bigint NOT NULL
);
CREATE INDEX places_at ON gw.places (at);

-- Threads are found by how their pairs begin, byte by byte.
CREATE TABLE gw.pairs (
  pair text COLLATE "C" PRIMARY KEY,
  n bigint NOT NULL,
  first_at bigint NOT NULL,
  last_at bigint NOT NULL
);

-- state: due, sending, resting, done, dead, silent. Two of them hold the row's lane, and only those
-- are looked through for work.
CREATE TABLE gw.deliveries (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  turn bigint NOT NULL,
  part text NOT NULL,
  source text NOT NULL,
  target text NOT NULL,
  lane text NOT NULL,
  request text,
  state text NOT NULL,
  wanted bigint NOT NULL DEFAULT 1,
  shown bigint NOT NULL DEFAULT 0,
  hash text,
  seq bigint NOT NULL DEFAULT 0,
  ref text,
  attempts bigint NOT NULL DEFAULT 0,
  next_try bigint NOT NULL,
  error text,
  revive_on text,
  remind_at bigint,
  owner text,
  lease timestamptz,
  token bigint NOT NULL DEFAULT 0,
  at bigint NOT NULL,
  UNIQUE (turn, part)
) WITH (fillfactor = 70);
CREATE INDEX deliveries_lane ON gw.deliveries (lane, id) WHERE state IN ('due', 'sending');
-- Two hosts that see different heads of one lane at the same moment: one of them gets it.
CREATE UNIQUE INDEX deliveries_sender ON gw.deliveries (lane) WHERE state = 'sending';
CREATE INDEX deliveries_due ON gw.deliveries (next_try) WHERE state IN ('due', 'sending');
CREATE INDEX deliveries_remind ON gw.deliveries (remind_at) WHERE remind_at IS NOT NULL;
CREATE INDEX deliveries_dead ON gw.deliveries (id) WHERE state = 'dead';
CREATE INDEX deliveries_end ON gw.deliveries (next_try) WHERE state IN ('done', 'dead', 'silent');
CREATE INDEX deliveries_ref ON gw.deliveries (source, ref) WHERE ref IS NOT NULL;

CREATE TABLE gw.parts (
  delivery bigint NOT NULL,
  n bigint NOT NULL,
  kind text NOT NULL,
  state text NOT NULL,
  ref text,
  nonce text NOT NULL,
  start bigint NOT NULL,
  "end" bigint NOT NULL,
  acked bigint NOT NULL,
  hash text NOT NULL,
  attempt bigint NOT NULL,
  opened_at bigint NOT NULL,
  started_at bigint,
  extra text,
  PRIMARY KEY (delivery, n)
) WITH (fillfactor = 70);
CREATE INDEX parts_ref ON gw.parts (ref) WHERE ref IS NOT NULL;

CREATE TABLE gw.installations (
  key text PRIMARY KEY,
  app text NOT NULL,
  team text,
  enterprise text,
  org boolean NOT NULL,
  bot_user text,
  bot_id text,
  scopes text,
  state text NOT NULL,
  expires_at bigint,
  sealed bytea NOT NULL,
  version bigint NOT NULL,
  at bigint NOT NULL
);

CREATE TABLE gw.leases (
  name text PRIMARY KEY,
  owner text NOT NULL,
  until timestamptz NOT NULL
);

CREATE TABLE gw.files (
  id text PRIMARY KEY,
  name text NOT NULL,
  media_type text NOT NULL,
  size bigint NOT NULL,
  hash text NOT NULL,
  turn bigint,
  at bigint NOT NULL,
  body bytea NOT NULL
);
CREATE INDEX files_at ON gw.files (at);

-- Every view of a turn wants another look. A function, because the statement it stands in doesn't see
-- what it waited for, and a view that was opened meanwhile must be raised too. Who opens one without
-- the session's locks shares the turn's row.
CREATE FUNCTION gw.mark(turn bigint, at bigint) RETURNS bigint
  LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
  PERFORM FROM gw.turns t WHERE t.id = mark.turn FOR NO KEY UPDATE;
  -- In one order everywhere, so that two transactions never wait for each other.
  PERFORM FROM gw.deliveries d WHERE d.turn = mark.turn ORDER BY d.id FOR NO KEY UPDATE;
  UPDATE gw.deliveries d
  SET wanted = d.wanted + 1, attempts = 0, next_try = mark.at,
    state = CASE WHEN d.state IN ('resting', 'done', 'silent') THEN 'due' ELSE d.state END
  WHERE d.turn = mark.turn;
  RETURN turn;
END
$$;

-- A bot spoke once more, or a person did and the pairs start from nothing. A function, because a
-- write may carry several of them, each after the one before. A semicolon follows the colon.
CREATE FUNCTION gw.see_pair(pair text, reset boolean, span bigint, at bigint) RETURNS bigint
  LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
  IF reset THEN
    DELETE FROM gw.pairs p WHERE p.pair = see_pair.pair
      OR (p.pair > see_pair.pair || ':' AND p.pair < see_pair.pair || ';');
  ELSE
    INSERT INTO gw.pairs AS p (pair, n, first_at, last_at)
    VALUES (see_pair.pair, 1, see_pair.at, see_pair.at)
    ON CONFLICT ON CONSTRAINT pairs_pkey DO UPDATE
    SET n = CASE WHEN p.first_at < excluded.last_at - span THEN 1 ELSE p.n + 1 END,
      first_at = CASE WHEN p.first_at < excluded.last_at - span
        THEN excluded.last_at ELSE p.first_at END,
      last_at = excluded.last_at;
  END IF;
  RETURN see_pair.at;
END
$$;
