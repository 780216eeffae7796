-- What was changed, for other processes that hold it in memory. Rows go after a day.

-- +goose Up
CREATE TABLE changes (
  seq    INTEGER PRIMARY KEY AUTOINCREMENT,
  tenant TEXT NOT NULL DEFAULT 'local',
  kind   TEXT NOT NULL,
  key    TEXT NOT NULL,
  at     INTEGER NOT NULL
) STRICT;
CREATE INDEX changes_tenant ON changes (tenant, seq);

UPDATE meta SET value = '6' WHERE tenant = 'local' AND key = 'schema';
PRAGMA user_version = 6;
