-- What a person decided about skills and folders. Every row has a sum over its other
-- columns (table.go); meta holds the total. Times are microseconds UTC.

-- +goose Up
CREATE TABLE meta (
  tenant TEXT NOT NULL DEFAULT 'local',
  key    TEXT NOT NULL,
  value  TEXT NOT NULL,
  PRIMARY KEY (tenant, key)
) STRICT, WITHOUT ROWID;

CREATE TABLE skill_state (
  tenant      TEXT NOT NULL DEFAULT 'local',
  key         TEXT NOT NULL,
  name        TEXT NOT NULL,
  source_id   TEXT NOT NULL,
  switch      TEXT NOT NULL CHECK (switch IN ('on', 'off', 'deny')),
  tree_digest TEXT NOT NULL,
  reason      TEXT NOT NULL,
  updated_at  INTEGER,
  updated_by  TEXT NOT NULL,
  sum         INTEGER NOT NULL,
  PRIMARY KEY (tenant, key)
) STRICT, WITHOUT ROWID;

CREATE TABLE profiles (
  tenant     TEXT NOT NULL DEFAULT 'local',
  name       TEXT NOT NULL,
  title      TEXT NOT NULL,
  extends    TEXT NOT NULL,
  include    TEXT NOT NULL CHECK (json_valid(include)),
  exclude    TEXT NOT NULL CHECK (json_valid(exclude)),
  created_at INTEGER,
  updated_at INTEGER,
  updated_by TEXT NOT NULL,
  sum        INTEGER NOT NULL,
  PRIMARY KEY (tenant, name)
) STRICT, WITHOUT ROWID;

CREATE TABLE profile_choices (
  tenant     TEXT NOT NULL DEFAULT 'local',
  root       TEXT NOT NULL,
  profile    TEXT NOT NULL,
  updated_at INTEGER,
  updated_by TEXT NOT NULL,
  sum        INTEGER NOT NULL,
  PRIMARY KEY (tenant, root)
) STRICT, WITHOUT ROWID;

-- Withdrawn rows stay, with revoked_at, as the history of a decision.
CREATE TABLE trust (
  tenant        TEXT NOT NULL DEFAULT 'local',
  id            TEXT NOT NULL,
  kind          TEXT NOT NULL CHECK (kind IN ('skill', 'folder', 'refused')),
  name          TEXT NOT NULL,
  source        TEXT NOT NULL,
  root          TEXT NOT NULL,
  tree_digest   TEXT NOT NULL,
  allowed_tools TEXT NOT NULL CHECK (json_valid(allowed_tools)),
  hooks_digest  TEXT NOT NULL,
  inline_digest TEXT NOT NULL,
  granted_by    TEXT NOT NULL,
  granted_at    INTEGER,
  revoked_by    TEXT NOT NULL,
  revoked_at    INTEGER,
  note          TEXT NOT NULL,
  sum           INTEGER NOT NULL,
  PRIMARY KEY (tenant, id)
) STRICT, WITHOUT ROWID;

CREATE UNIQUE INDEX trust_root ON trust (tenant, root) WHERE kind <> 'skill' AND revoked_at IS NULL;
CREATE UNIQUE INDEX trust_tree ON trust (tenant, tree_digest, name, source) WHERE kind = 'skill' AND revoked_at IS NULL;

INSERT INTO meta (key, value) VALUES ('schema', '1'), ('compat_floor', '1');
PRAGMA user_version = 1;
