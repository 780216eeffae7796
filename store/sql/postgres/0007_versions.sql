-- Published skills, their versions, the trees of files that these are made of, and what
-- keeps a blob. Times are microseconds UTC.

-- +goose Up
-- A tree says itself whether it is whole: entries give its digest.
CREATE TABLE trees (
  tenant     TEXT NOT NULL DEFAULT 'local',
  digest     TEXT NOT NULL,
  entries    JSONB NOT NULL,
  files      BIGINT NOT NULL CHECK (files > 0),
  bytes      BIGINT NOT NULL CHECK (bytes >= 0),
  created_at BIGINT NOT NULL,
  PRIMARY KEY (tenant, digest)
);

-- Key is the name as names are compared, latest_version the greatest number so far. A
-- published skill has a version that is offered, and it is one of its own.
CREATE TABLE skills (
  tenant         TEXT NOT NULL DEFAULT 'local',
  id             TEXT NOT NULL,
  key            TEXT NOT NULL,
  name           TEXT NOT NULL,
  status         TEXT NOT NULL CHECK (status IN ('draft', 'published', 'archived')),
  active_version TEXT,
  latest_version BIGINT NOT NULL,
  title          TEXT NOT NULL,
  description    TEXT NOT NULL,
  tags           JSONB NOT NULL,
  owner          TEXT NOT NULL,
  created_at     BIGINT NOT NULL,
  updated_at     BIGINT NOT NULL,
  PRIMARY KEY (tenant, id),
  UNIQUE (tenant, key),
  CHECK (status <> 'published' OR active_version IS NOT NULL)
);

-- A version that was never published is a draft.
CREATE TABLE skill_versions (
  tenant       TEXT NOT NULL DEFAULT 'local',
  id           TEXT NOT NULL,
  skill_id     TEXT NOT NULL,
  number       BIGINT NOT NULL CHECK (number > 0),
  label        TEXT,
  tree_digest  TEXT NOT NULL,
  snapshot     JSONB NOT NULL,
  note         TEXT NOT NULL,
  licence      JSONB NOT NULL,
  scan_id      TEXT NOT NULL,
  created_by   TEXT NOT NULL,
  created_at   BIGINT NOT NULL,
  published_at BIGINT,
  archived_at  BIGINT CHECK (archived_at IS NULL OR published_at IS NOT NULL),
  PRIMARY KEY (tenant, id),
  UNIQUE (tenant, skill_id, id),
  UNIQUE (tenant, skill_id, number),
  UNIQUE (tenant, skill_id, label),
  FOREIGN KEY (tenant, skill_id) REFERENCES skills (tenant, id),
  FOREIGN KEY (tenant, tree_digest) REFERENCES trees (tenant, digest)
);
ALTER TABLE skills ADD FOREIGN KEY (tenant, id, active_version) REFERENCES skill_versions (tenant, skill_id, id) DEFERRABLE INITIALLY DEFERRED;
CREATE INDEX skill_versions_tree ON skill_versions (tenant, tree_digest);

CREATE TABLE channels (
  tenant     TEXT NOT NULL DEFAULT 'local',
  skill_id   TEXT NOT NULL,
  channel    TEXT NOT NULL CHECK (length(channel) BETWEEN 1 AND 32),
  version_id TEXT NOT NULL,
  moved_at   BIGINT NOT NULL,
  moved_by   TEXT NOT NULL,
  PRIMARY KEY (tenant, skill_id, channel),
  FOREIGN KEY (tenant, skill_id, version_id) REFERENCES skill_versions (tenant, skill_id, id)
);

-- Which version of a skill is used; without a row, the one that is offered. Value is the id
-- of a version (pin) or the name of a channel.
CREATE TABLE version_choices (
  tenant     TEXT NOT NULL DEFAULT 'local',
  skill_id   TEXT NOT NULL,
  strategy   TEXT NOT NULL CHECK (strategy IN ('latest', 'pin', 'channel', 'live')),
  value      TEXT NOT NULL,
  chosen_at  BIGINT NOT NULL,
  chosen_by  TEXT NOT NULL,
  PRIMARY KEY (tenant, skill_id),
  FOREIGN KEY (tenant, skill_id) REFERENCES skills (tenant, id)
);

-- What keeps a blob: owner_kind 'tree' with the digest of a tree, or what others add.
CREATE TABLE blob_refs (
  tenant     TEXT NOT NULL DEFAULT 'local',
  blob       TEXT NOT NULL,
  owner_kind TEXT NOT NULL,
  owner_id   TEXT NOT NULL,
  PRIMARY KEY (tenant, blob, owner_kind, owner_id)
);
CREATE INDEX blob_refs_owner ON blob_refs (tenant, owner_kind, owner_id);

-- Blobs that nothing kept when the garbage collection looked.
CREATE TABLE blob_gc (
  tenant    TEXT NOT NULL DEFAULT 'local',
  blob      TEXT NOT NULL,
  marked_at BIGINT NOT NULL,
  PRIMARY KEY (tenant, blob)
);

SELECT deft_isolate();
UPDATE meta SET value = '7' WHERE tenant = 'local' AND key = 'schema';
