-- What starts turns without a person: definitions, and what the queue keeps of each
-- firing beside its row in workflow_instances. The queue library's own tables, river_*,
-- are made by its own migrations (package jobs). Times are microseconds UTC, 0 = none.

-- +goose Up
CREATE TABLE jobs (
  tenant         TEXT NOT NULL DEFAULT 'local',
  id             TEXT NOT NULL,
  kind           TEXT NOT NULL CHECK (kind IN ('cron', 'webhook', 'event')),
  schedule       TEXT NOT NULL,
  tz             TEXT NOT NULL,
  body           TEXT NOT NULL,
  prompt         TEXT NOT NULL,
  agent          TEXT NOT NULL,
  principal      TEXT NOT NULL,
  preload_skills TEXT NOT NULL CHECK (json_valid(preload_skills)),
  allow_preload  TEXT NOT NULL CHECK (json_valid(allow_preload)),
  stages         TEXT NOT NULL CHECK (json_valid(stages)),
  risk_tier_max  INTEGER NOT NULL CHECK (risk_tier_max BETWEEN 1 AND 3),
  placement      TEXT NOT NULL,
  dedupe_window  INTEGER NOT NULL CHECK (dedupe_window > 0),
  timeout        INTEGER NOT NULL CHECK (timeout > 0),
  idempotent     INTEGER NOT NULL,
  catch_up       TEXT NOT NULL CHECK (catch_up IN ('one', 'none')),
  paused         INTEGER NOT NULL,
  owner          TEXT NOT NULL,
  secret         TEXT NOT NULL,
  created_at     INTEGER NOT NULL,
  updated_at     INTEGER NOT NULL,
  planned_at     INTEGER NOT NULL,
  PRIMARY KEY (tenant, id)
) STRICT, WITHOUT ROWID;

-- queued_as is the row of river_job that hands the firing out.
CREATE TABLE firings (
  tenant       TEXT NOT NULL DEFAULT 'local',
  id           TEXT NOT NULL,
  job          TEXT NOT NULL,
  signal       TEXT NOT NULL CHECK (json_valid(signal)),
  priority     INTEGER NOT NULL,
  scheduled_at INTEGER NOT NULL,
  queued_at    INTEGER NOT NULL,
  queued_as    INTEGER NOT NULL,
  tries        INTEGER NOT NULL,
  PRIMARY KEY (tenant, id)
) STRICT, WITHOUT ROWID;

CREATE INDEX firings_queued_at ON firings (tenant, queued_at);

-- Signed requests that were taken, until their signature is too old to be sent again.
CREATE TABLE hook_nonces (
  tenant     TEXT NOT NULL DEFAULT 'local',
  nonce      TEXT NOT NULL,
  firing     TEXT NOT NULL,
  trace_id   TEXT NOT NULL,
  expires_at INTEGER NOT NULL,
  PRIMARY KEY (tenant, nonce)
) STRICT, WITHOUT ROWID;

UPDATE meta SET value = '4' WHERE tenant = 'local' AND key = 'schema';
PRAGMA user_version = 4;
