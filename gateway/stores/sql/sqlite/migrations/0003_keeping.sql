-- Documents that the host keeps, and what came of the ticks of schedules.

CREATE TABLE gw_documents (
  kind TEXT NOT NULL,
  key TEXT NOT NULL,
  version INTEGER NOT NULL,
  body TEXT NOT NULL,
  expires INTEGER,
  PRIMARY KEY (kind, key)
) WITHOUT ROWID;
CREATE INDEX gw_documents_end ON gw_documents (expires) WHERE expires IS NOT NULL;

CREATE TABLE gw_occurrences (
  agent TEXT NOT NULL,
  schedule TEXT NOT NULL,
  due INTEGER NOT NULL,
  outcome TEXT NOT NULL,
  turn INTEGER,
  "by" TEXT NOT NULL,
  why TEXT NOT NULL,
  at INTEGER NOT NULL,
  PRIMARY KEY (agent, schedule, due)
) WITHOUT ROWID;
CREATE INDEX gw_occurrences_due ON gw_occurrences (agent, due);
CREATE INDEX gw_occurrences_at ON gw_occurrences (at);
