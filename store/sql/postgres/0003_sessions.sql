-- Conversations, and what is said in them. Payloads are TEXT: they come back byte for byte,
-- and crc is of these bytes. Times are microseconds UTC.

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
  risk_ceiling    BIGINT NOT NULL,
  placement       TEXT NOT NULL,
  status          TEXT NOT NULL CHECK (status IN ('open', 'idle', 'closed', 'interrupted')),
  title           TEXT NOT NULL,
  turns           BIGINT NOT NULL,
  last_seq        BIGINT NOT NULL,
  created_at      BIGINT NOT NULL,
  updated_at      BIGINT NOT NULL,
  PRIMARY KEY (tenant, id)
);

CREATE INDEX sessions_updated ON sessions (tenant, updated_at);

CREATE TABLE session_events (
  tenant  TEXT NOT NULL DEFAULT 'local',
  session TEXT NOT NULL,
  seq     BIGINT NOT NULL,
  at      BIGINT NOT NULL,
  turn    BIGINT NOT NULL,
  kind    TEXT NOT NULL,
  payload TEXT NOT NULL,
  crc     BIGINT NOT NULL,
  PRIMARY KEY (tenant, session, seq)
);

UPDATE meta SET value = '3' WHERE tenant = 'local' AND key = 'schema';
SELECT deft_isolate();
