-- Every table of the engine starts with gw_: sync tools may use any other name in the same file.
-- Ids are small integers because they repeat in every row and index; long text stands in rowid
-- tables because a WITHOUT ROWID tree holds whole rows in its inner pages.

CREATE TABLE gw_schema (
  version INTEGER NOT NULL,
  at INTEGER NOT NULL
);

CREATE TABLE gw_hosts (
  id TEXT PRIMARY KEY,
  beat INTEGER NOT NULL
) WITHOUT ROWID;

CREATE TABLE gw_sessions (
  id INTEGER PRIMARY KEY,
  agent TEXT NOT NULL,
  key TEXT NOT NULL,
  generation INTEGER NOT NULL DEFAULT 0,
  epoch INTEGER NOT NULL DEFAULT 0,
  owner TEXT,
  next_number INTEGER NOT NULL DEFAULT 1,
  reset_at INTEGER,
  created_at INTEGER NOT NULL,
  active_at INTEGER NOT NULL,
  UNIQUE (agent, key)
);
CREATE INDEX gw_sessions_reset ON gw_sessions (id) WHERE reset_at IS NOT NULL;

-- Saved whole several times a turn, so the opening, which may be long, stands apart.
CREATE TABLE gw_turns (
  id INTEGER PRIMARY KEY,
  session INTEGER NOT NULL,
  turn_id TEXT NOT NULL,
  number INTEGER NOT NULL,
  generation INTEGER NOT NULL,
  body TEXT NOT NULL,
  content_hash TEXT NOT NULL,
  source TEXT NOT NULL,
  speaker TEXT,
  queued_at INTEGER NOT NULL,
  cancel TEXT,
  cancel_at INTEGER,
  state TEXT NOT NULL,
  surface TEXT,
  edition TEXT,
  opening INTEGER,
  started_at INTEGER,
  ended_at INTEGER,
  attempt_at INTEGER,
  ran INTEGER NOT NULL,
  attempts INTEGER NOT NULL,
  crashes INTEGER NOT NULL,
  suspect INTEGER NOT NULL,
  alone INTEGER NOT NULL,
  request TEXT,
  answer INTEGER,
  error TEXT,
  UNIQUE (session, turn_id)
);
-- Two small indexes instead of one: what waits for an attempt is found without walking over a
-- million parked turns.
CREATE INDEX gw_turns_live ON gw_turns (session, number) WHERE state IN ('queued', 'running');
CREATE INDEX gw_turns_parked ON gw_turns (session, number) WHERE state = 'suspended';

CREATE TABLE gw_openings (
  turn INTEGER PRIMARY KEY,
  content TEXT NOT NULL
);

CREATE TABLE gw_messages (
  id INTEGER PRIMARY KEY,
  session INTEGER NOT NULL,
  generation INTEGER NOT NULL,
  idx INTEGER NOT NULL,
  turn INTEGER NOT NULL,
  role TEXT NOT NULL,
  body TEXT NOT NULL,
  UNIQUE (session, generation, idx)
);

CREATE TABLE gw_steps (
  turn INTEGER NOT NULL,
  step TEXT NOT NULL,
  done INTEGER NOT NULL,
  attempt INTEGER NOT NULL,
  message INTEGER,
  body TEXT,
  at INTEGER NOT NULL,
  PRIMARY KEY (turn, step)
) WITHOUT ROWID;

CREATE TABLE gw_events (
  turn INTEGER NOT NULL,
  seq INTEGER NOT NULL,
  at INTEGER NOT NULL,
  type TEXT NOT NULL,
  ref INTEGER,
  body TEXT,
  PRIMARY KEY (turn, seq)
) WITHOUT ROWID;

CREATE TABLE gw_usage (
  turn INTEGER NOT NULL,
  step INTEGER NOT NULL,
  at INTEGER NOT NULL,
  model TEXT NOT NULL,
  input INTEGER NOT NULL,
  output INTEGER NOT NULL,
  cache_read INTEGER NOT NULL,
  cache_write INTEGER NOT NULL,
  cost TEXT,
  prices TEXT,
  raw TEXT,
  estimated INTEGER NOT NULL,
  PRIMARY KEY (turn, step)
) WITHOUT ROWID;

CREATE TABLE gw_requests (
  row INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  turn INTEGER NOT NULL,
  key TEXT NOT NULL,
  position INTEGER NOT NULL,
  call_id TEXT NOT NULL,
  name TEXT NOT NULL,
  tool TEXT NOT NULL,
  digest TEXT NOT NULL,
  body TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  expires_at INTEGER,
  outcome TEXT,
  value TEXT,
  reason TEXT,
  by TEXT,
  decided_at INTEGER,
  UNIQUE (turn, key)
);
CREATE INDEX gw_requests_open ON gw_requests (created_at) WHERE outcome IS NULL;
CREATE INDEX gw_requests_due ON gw_requests (expires_at) WHERE outcome IS NULL;

CREATE TABLE gw_votes (
  id INTEGER PRIMARY KEY,
  request TEXT NOT NULL,
  by TEXT NOT NULL,
  value TEXT NOT NULL,
  reason TEXT,
  at INTEGER NOT NULL
);
CREATE INDEX gw_votes_request ON gw_votes (request);

CREATE TABLE gw_editions (
  id INTEGER PRIMARY KEY,
  hash TEXT NOT NULL UNIQUE,
  body TEXT NOT NULL
);

CREATE TABLE gw_claims (
  key TEXT PRIMARY KEY,
  turn INTEGER,
  at INTEGER NOT NULL,
  expires_at INTEGER NOT NULL
) WITHOUT ROWID;

CREATE TABLE gw_verdicts (
  id INTEGER PRIMARY KEY,
  event_id TEXT NOT NULL,
  source TEXT NOT NULL,
  verdict TEXT NOT NULL,
  rule TEXT NOT NULL,
  turn INTEGER,
  at INTEGER NOT NULL
);

CREATE TABLE gw_deliveries (
  id INTEGER PRIMARY KEY,
  turn INTEGER NOT NULL,
  part TEXT NOT NULL,
  target TEXT NOT NULL,
  state TEXT NOT NULL,
  at INTEGER NOT NULL
);

CREATE TABLE gw_audit (
  id INTEGER PRIMARY KEY,
  at INTEGER NOT NULL,
  kind TEXT NOT NULL,
  agent TEXT NOT NULL,
  session TEXT NOT NULL,
  turn_id TEXT NOT NULL,
  subject TEXT NOT NULL,
  by TEXT,
  digest TEXT,
  outcome TEXT NOT NULL
);

CREATE TABLE gw_reservations (
  id INTEGER PRIMARY KEY,
  turn INTEGER NOT NULL,
  scope TEXT NOT NULL,
  amount TEXT NOT NULL,
  expires_at INTEGER NOT NULL
);
