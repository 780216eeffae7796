-- Conversations. What is said in one stands in a log of its own, sessions/ID.jsonl beside
-- this file; the row is what a list shows. Times are microseconds UTC.

-- +goose Up
CREATE TABLE sessions (
  tenant          TEXT NOT NULL DEFAULT 'local',
  id              TEXT NOT NULL,
  workspace       TEXT NOT NULL,
  dialect         TEXT NOT NULL,
  profile         TEXT NOT NULL,
  origin          TEXT NOT NULL,
  surface         TEXT NOT NULL,
  principal       TEXT NOT NULL,
  model           TEXT NOT NULL,
  snapshot_digest TEXT NOT NULL,
  risk_ceiling    INTEGER NOT NULL,
  placement       TEXT NOT NULL,
  status          TEXT NOT NULL CHECK (status IN ('open', 'idle', 'closed', 'interrupted')),
  title           TEXT NOT NULL,
  turns           INTEGER NOT NULL,
  last_seq        INTEGER NOT NULL,
  created_at      INTEGER NOT NULL,
  updated_at      INTEGER NOT NULL,
  PRIMARY KEY (tenant, id)
) STRICT, WITHOUT ROWID;

CREATE INDEX sessions_updated ON sessions (tenant, updated_at);

UPDATE meta SET value = '3' WHERE tenant = 'local' AND key = 'schema';
PRAGMA user_version = 3;
