-- The ways in and out: verdicts, the inbox, places, deliveries and their parts, installations.
-- Nothing ever wrote verdicts or deliveries before, so they are made anew.

ALTER TABLE gw_turns ADD COLUMN delivers INTEGER NOT NULL DEFAULT 0;

DROP TABLE gw_verdicts;
DROP TABLE gw_deliveries;

CREATE INDEX gw_claims_end ON gw_claims (expires_at);

CREATE TABLE gw_verdicts (
  id INTEGER PRIMARY KEY,
  source TEXT NOT NULL,
  event_id TEXT NOT NULL,
  verdict TEXT NOT NULL,
  rule TEXT NOT NULL,
  place TEXT,
  speaker TEXT,
  turn INTEGER,
  said TEXT,
  copies INTEGER NOT NULL DEFAULT 1,
  at INTEGER NOT NULL,
  UNIQUE (source, event_id)
);
CREATE INDEX gw_verdicts_place ON gw_verdicts (place) WHERE place IS NOT NULL;
CREATE INDEX gw_verdicts_turn ON gw_verdicts (turn) WHERE turn IS NOT NULL;
CREATE INDEX gw_verdicts_at ON gw_verdicts (at);

-- state: due, taken, done, dead. The body goes once the event is done.
CREATE TABLE gw_inbox (
  id INTEGER PRIMARY KEY,
  source TEXT NOT NULL,
  event_id TEXT NOT NULL,
  kind TEXT NOT NULL,
  state TEXT NOT NULL,
  attempts INTEGER NOT NULL DEFAULT 0,
  next_try INTEGER NOT NULL,
  owner TEXT,
  lease INTEGER,
  token INTEGER NOT NULL DEFAULT 0,
  error TEXT,
  at INTEGER NOT NULL,
  body TEXT NOT NULL,
  UNIQUE (source, event_id)
);
CREATE INDEX gw_inbox_due ON gw_inbox (next_try) WHERE state IN ('due', 'taken');
CREATE INDEX gw_inbox_end ON gw_inbox (at) WHERE state IN ('done', 'dead');

CREATE TABLE gw_places (
  place TEXT PRIMARY KEY,
  agent TEXT NOT NULL,
  session TEXT NOT NULL,
  kind TEXT NOT NULL,
  turn INTEGER,
  at INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX gw_places_at ON gw_places (at);

CREATE TABLE gw_pairs (
  pair TEXT PRIMARY KEY,
  n INTEGER NOT NULL,
  first_at INTEGER NOT NULL,
  last_at INTEGER NOT NULL
) WITHOUT ROWID;

-- state: due, sending, resting, done, dead, silent. Two of them hold the row's lane, and only those
-- are looked through for work.
CREATE TABLE gw_deliveries (
  id INTEGER PRIMARY KEY,
  turn INTEGER NOT NULL,
  part TEXT NOT NULL,
  source TEXT NOT NULL,
  target TEXT NOT NULL,
  lane TEXT NOT NULL,
  request TEXT,
  state TEXT NOT NULL,
  wanted INTEGER NOT NULL DEFAULT 1,
  shown INTEGER NOT NULL DEFAULT 0,
  hash TEXT,
  seq INTEGER NOT NULL DEFAULT 0,
  ref TEXT,
  attempts INTEGER NOT NULL DEFAULT 0,
  next_try INTEGER NOT NULL,
  error TEXT,
  revive_on TEXT,
  remind_at INTEGER,
  owner TEXT,
  lease INTEGER,
  token INTEGER NOT NULL DEFAULT 0,
  at INTEGER NOT NULL,
  UNIQUE (turn, part)
);
CREATE INDEX gw_deliveries_lane ON gw_deliveries (lane, id) WHERE state IN ('due', 'sending');
CREATE INDEX gw_deliveries_due ON gw_deliveries (next_try) WHERE state IN ('due', 'sending');
CREATE INDEX gw_deliveries_remind ON gw_deliveries (remind_at) WHERE remind_at IS NOT NULL;
CREATE INDEX gw_deliveries_dead ON gw_deliveries (id) WHERE state = 'dead';
CREATE INDEX gw_deliveries_end ON gw_deliveries (next_try) WHERE state IN ('done', 'dead', 'silent');
CREATE INDEX gw_deliveries_ref ON gw_deliveries (source, ref) WHERE ref IS NOT NULL;

CREATE TABLE gw_parts (
  delivery INTEGER NOT NULL,
  n INTEGER NOT NULL,
  kind TEXT NOT NULL,
  state TEXT NOT NULL,
  ref TEXT,
  nonce TEXT NOT NULL,
  start INTEGER NOT NULL,
  "end" INTEGER NOT NULL,
  acked INTEGER NOT NULL,
  hash TEXT NOT NULL,
  attempt INTEGER NOT NULL,
  opened_at INTEGER NOT NULL,
  started_at INTEGER,
  extra TEXT,
  PRIMARY KEY (delivery, n)
) WITHOUT ROWID;
CREATE INDEX gw_parts_ref ON gw_parts (ref) WHERE ref IS NOT NULL;

CREATE TABLE gw_installations (
  key TEXT PRIMARY KEY,
  app TEXT NOT NULL,
  team TEXT,
  enterprise TEXT,
  org INTEGER NOT NULL,
  bot_user TEXT,
  bot_id TEXT,
  scopes TEXT,
  state TEXT NOT NULL,
  expires_at INTEGER,
  sealed BLOB NOT NULL,
  version INTEGER NOT NULL,
  at INTEGER NOT NULL
);

CREATE TABLE gw_leases (
  name TEXT PRIMARY KEY,
  owner TEXT NOT NULL,
  until INTEGER NOT NULL
) WITHOUT ROWID;

CREATE TABLE gw_files (
  id TEXT PRIMARY KEY,
  name TEXT NOT NULL,
  media_type TEXT NOT NULL,
  size INTEGER NOT NULL,
  hash TEXT NOT NULL,
  turn INTEGER,
  at INTEGER NOT NULL,
  body BLOB NOT NULL
);
CREATE INDEX gw_files_at ON gw_files (at);
