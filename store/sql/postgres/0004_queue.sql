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
  preload_skills TEXT NOT NULL,
  allow_preload  TEXT NOT NULL,
  stages         TEXT NOT NULL,
  risk_tier_max  INTEGER NOT NULL CHECK (risk_tier_max BETWEEN 1 AND 3),
  placement      TEXT NOT NULL,
  dedupe_window  BIGINT NOT NULL CHECK (dedupe_window > 0),
  timeout        BIGINT NOT NULL CHECK (timeout > 0),
  idempotent     INTEGER NOT NULL,
  catch_up       TEXT NOT NULL CHECK (catch_up IN ('one', 'none')),
  paused         INTEGER NOT NULL,
  owner          TEXT NOT NULL,
  secret         TEXT NOT NULL,
  created_at     BIGINT NOT NULL,
  updated_at     BIGINT NOT NULL,
  planned_at     BIGINT NOT NULL,
  PRIMARY KEY (tenant, id)
);

-- queued_as is the row of river_job that hands the firing out.
CREATE TABLE firings (
  tenant       TEXT NOT NULL DEFAULT 'local',
  id           TEXT NOT NULL,
  job          TEXT NOT NULL,
  signal       TEXT NOT NULL,
  priority     INTEGER NOT NULL,
  scheduled_at BIGINT NOT NULL,
  queued_at    BIGINT NOT NULL,
  queued_as    BIGINT NOT NULL,
  tries        INTEGER NOT NULL,
  PRIMARY KEY (tenant, id)
);

CREATE INDEX firings_queued_at ON firings (tenant, queued_at);

-- Signed requests that were taken, until their signature is too old to be sent again.
CREATE TABLE hook_nonces (
  tenant     TEXT NOT NULL DEFAULT 'local',
  nonce      TEXT NOT NULL,
  firing     TEXT NOT NULL,
  trace_id   TEXT NOT NULL,
  expires_at BIGINT NOT NULL,
  PRIMARY KEY (tenant, nonce)
);

SELECT deft_isolate();
UPDATE meta SET value = '4' WHERE tenant = 'local' AND key = 'schema';
