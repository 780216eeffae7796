-- What a person decided about skills and folders. Every row has a sum over its other
-- columns (table.go); meta holds the total. Times are microseconds UTC.

-- +goose Up
CREATE TABLE meta (
  tenant TEXT NOT NULL DEFAULT 'local',
  key    TEXT NOT NULL,
  value  TEXT NOT NULL,
  PRIMARY KEY (tenant, key)
);

CREATE TABLE skill_state (
  tenant      TEXT NOT NULL DEFAULT 'local',
  key         TEXT NOT NULL,
  name        TEXT NOT NULL,
  source_id   TEXT NOT NULL,
  switch      TEXT NOT NULL CHECK (switch IN ('on', 'off', 'deny')),
  tree_digest TEXT NOT NULL,
  reason      TEXT NOT NULL,
  updated_at  BIGINT,
  updated_by  TEXT NOT NULL,
  sum         BIGINT NOT NULL,
  PRIMARY KEY (tenant, key)
);

CREATE TABLE profiles (
  tenant     TEXT NOT NULL DEFAULT 'local',
  name       TEXT NOT NULL,
  title      TEXT NOT NULL,
  extends    TEXT NOT NULL,
  include    JSONB NOT NULL,
  exclude    JSONB NOT NULL,
  created_at BIGINT,
  updated_at BIGINT,
  updated_by TEXT NOT NULL,
  sum        BIGINT NOT NULL,
  PRIMARY KEY (tenant, name)
);

CREATE TABLE profile_choices (
  tenant     TEXT NOT NULL DEFAULT 'local',
  root       TEXT NOT NULL,
  profile    TEXT NOT NULL,
  updated_at BIGINT,
  updated_by TEXT NOT NULL,
  sum        BIGINT NOT NULL,
  PRIMARY KEY (tenant, root)
);

-- Withdrawn rows stay, with revoked_at, as the history of a decision.
CREATE TABLE trust (
  tenant        TEXT NOT NULL DEFAULT 'local',
  id            TEXT NOT NULL,
  kind          TEXT NOT NULL CHECK (kind IN ('skill', 'folder', 'refused')),
  name          TEXT NOT NULL,
  source        TEXT NOT NULL,
  root          TEXT NOT NULL,
  tree_digest   TEXT NOT NULL,
  allowed_tools JSONB NOT NULL,
  hooks_digest  TEXT NOT NULL,
  inline_digest TEXT NOT NULL,
  granted_by    TEXT NOT NULL,
  granted_at    BIGINT,
  revoked_by    TEXT NOT NULL,
  revoked_at    BIGINT,
  note          TEXT NOT NULL,
  sum           BIGINT NOT NULL,
  PRIMARY KEY (tenant, id)
);

CREATE UNIQUE INDEX trust_root ON trust (tenant, root) WHERE kind <> 'skill' AND revoked_at IS NULL;
CREATE UNIQUE INDEX trust_tree ON trust (tenant, tree_digest, name, source) WHERE kind = 'skill' AND revoked_at IS NULL;

-- deft_isolate puts the wall between tenants around every table that has none yet: a
-- session sees and writes only rows of its own deft.tenant, the owner's session too.
-- Every later migration that makes a table ends with a call of it.
-- +goose StatementBegin
CREATE FUNCTION deft_isolate() RETURNS void LANGUAGE plpgsql AS $$
DECLARE t regclass;
BEGIN
  FOR t IN
    SELECT c.oid::regclass FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
    WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind IN ('r', 'p')
      AND a.attname = 'tenant' AND NOT a.attisdropped AND NOT c.relrowsecurity
  LOOP
    EXECUTE format('ALTER TABLE %s ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY', t);
    EXECUTE format('CREATE POLICY own_tenant ON %s USING (tenant = current_setting(''deft.tenant'', true))', t);
  END LOOP;
END $$;
-- +goose StatementEnd
SELECT deft_isolate();

-- The schema's number is of the whole database: every tenant may read it.
CREATE POLICY schema_number ON meta FOR SELECT USING (tenant = 'local' AND key IN ('schema', 'compat_floor'));

INSERT INTO meta (key, value) VALUES ('schema', '1'), ('compat_floor', '1');
