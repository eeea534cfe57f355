-- Documents that the host keeps, and what came of the ticks of schedules: the same tables as SQLite's.

CREATE TABLE gw.documents (
  kind text NOT NULL,
  key text COLLATE "C" NOT NULL,
  version bigint NOT NULL,
  body text NOT NULL,
  expires bigint,
  PRIMARY KEY (kind, key)
) WITH (fillfactor = 70);
CREATE INDEX documents_end ON gw.documents (expires) WHERE expires IS NOT NULL;

CREATE TABLE gw.occurrences (
  agent text NOT NULL,
  schedule text COLLATE "C" NOT NULL,
  due bigint NOT NULL,
  outcome text NOT NULL,
  turn bigint,
  "by" text NOT NULL,
  why text NOT NULL,
  at bigint NOT NULL,
  PRIMARY KEY (agent, schedule, due)
);
CREATE INDEX occurrences_due ON gw.occurrences (agent, due);
CREATE INDEX occurrences_at ON gw.occurrences (at);
