-- Notes of models, by who they work for and where; and kinds of agents that a host keeps.
-- Times are microseconds UTC.

-- +goose Up
CREATE TABLE memories (
  tenant     TEXT NOT NULL DEFAULT 'local',
  workspace  TEXT NOT NULL,
  principal  TEXT NOT NULL,
  name       TEXT NOT NULL,
  body       TEXT NOT NULL,
  updated_at BIGINT NOT NULL,
  PRIMARY KEY (tenant, workspace, principal, name)
);

-- body is the text of a definition, as it stands in a file.
CREATE TABLE agent_definitions (
  tenant     TEXT NOT NULL DEFAULT 'local',
  id         TEXT NOT NULL,
  version    BIGINT NOT NULL,
  body       TEXT NOT NULL,
  created_at BIGINT NOT NULL,
  updated_at BIGINT NOT NULL,
  updated_by TEXT NOT NULL,
  PRIMARY KEY (tenant, id)
);

SELECT deft_isolate();

UPDATE meta SET value = '5' WHERE tenant = 'local' AND key = 'schema';
