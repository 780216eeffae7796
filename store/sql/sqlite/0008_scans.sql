-- What the scanner said of a tree, by the rules that said it; and how skills are used, by
-- day. Times are microseconds UTC, days are UTC.

-- +goose Up
CREATE TABLE scans (
  tenant        TEXT NOT NULL DEFAULT 'local',
  id            TEXT NOT NULL,
  tree_digest   TEXT NOT NULL,
  rules_version TEXT NOT NULL,
  complete      INTEGER NOT NULL,
  files_read    INTEGER NOT NULL,
  files_skipped INTEGER NOT NULL,
  findings      TEXT NOT NULL CHECK (json_valid(findings)),
  blocking      INTEGER NOT NULL,
  at            INTEGER NOT NULL,
  PRIMARY KEY (tenant, id)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX scans_tree ON scans (tenant, tree_digest, rules_version);

CREATE TABLE usage_daily (
  tenant         TEXT NOT NULL DEFAULT 'local',
  day            TEXT NOT NULL,
  skill          TEXT NOT NULL,
  source_id      TEXT NOT NULL,
  digest         TEXT NOT NULL,
  agent          TEXT NOT NULL,
  client         TEXT NOT NULL,
  shown          INTEGER NOT NULL,
  loaded         INTEGER NOT NULL,
  user_started   INTEGER NOT NULL,
  model_started  INTEGER NOT NULL,
  preloaded      INTEGER NOT NULL,
  resource_reads INTEGER NOT NULL,
  tool_calls     INTEGER NOT NULL,
  tool_errors    INTEGER NOT NULL,
  denied         INTEGER NOT NULL,
  catalog_tokens INTEGER NOT NULL,
  body_tokens    INTEGER NOT NULL,
  ms_total       INTEGER NOT NULL,
  last_at        INTEGER NOT NULL,
  PRIMARY KEY (tenant, day, skill, source_id, digest, agent, client)
) STRICT, WITHOUT ROWID;

UPDATE meta SET value = '8' WHERE tenant = 'local' AND key = 'schema';
PRAGMA user_version = 8;
