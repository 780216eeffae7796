-- What the scanner said of a tree, by the rules that said it; and how skills are used, by
-- day. Times are microseconds UTC, days are UTC.

-- +goose Up
CREATE TABLE scans (
  tenant        TEXT NOT NULL DEFAULT 'local',
  id            TEXT NOT NULL,
  tree_digest   TEXT NOT NULL,
  rules_version TEXT NOT NULL,
  complete      BIGINT NOT NULL,
  files_read    BIGINT NOT NULL,
  files_skipped BIGINT NOT NULL,
  findings      JSONB NOT NULL,
  blocking      BIGINT NOT NULL,
  at            BIGINT NOT NULL,
  PRIMARY KEY (tenant, id)
);
CREATE UNIQUE INDEX scans_tree ON scans (tenant, tree_digest, rules_version);

CREATE TABLE usage_daily (
  tenant         TEXT NOT NULL DEFAULT 'local',
  day            TEXT NOT NULL,
  skill          TEXT NOT NULL,
  source_id      TEXT NOT NULL,
  digest         TEXT NOT NULL,
  agent          TEXT NOT NULL,
  client         TEXT NOT NULL,
  shown          BIGINT NOT NULL,
  loaded         BIGINT NOT NULL,
  user_started   BIGINT NOT NULL,
  model_started  BIGINT NOT NULL,
  preloaded      BIGINT NOT NULL,
  resource_reads BIGINT NOT NULL,
  tool_calls     BIGINT NOT NULL,
  tool_errors    BIGINT NOT NULL,
  denied         BIGINT NOT NULL,
  catalog_tokens BIGINT NOT NULL,
  body_tokens    BIGINT NOT NULL,
  ms_total       BIGINT NOT NULL,
  last_at        BIGINT NOT NULL,
  PRIMARY KEY (tenant, day, skill, source_id, digest, agent, client)
);

SELECT deft_isolate();

UPDATE meta SET value = '8' WHERE tenant = 'local' AND key = 'schema';
