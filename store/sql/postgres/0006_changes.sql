-- What was changed, for other processes that hold it in memory. Rows go after a day.
-- Numbers may become visible out of order: who reads goes by the writing transactions.
-- Xid is the one of the row; below seen, every transaction had ended when it was written.

-- +goose Up
CREATE TABLE changes (
  seq    BIGINT GENERATED ALWAYS AS IDENTITY,
  tenant TEXT NOT NULL DEFAULT 'local',
  kind   TEXT NOT NULL,
  key    TEXT NOT NULL,
  at     BIGINT NOT NULL,
  xid    XID8 NOT NULL DEFAULT pg_current_xact_id(),
  seen   XID8 NOT NULL DEFAULT pg_snapshot_xmin(pg_current_snapshot()),
  PRIMARY KEY (tenant, seq)
);
CREATE INDEX changes_xid ON changes (tenant, xid);

-- The notice only wakes: it may be lost, the rows are not.
-- +goose StatementBegin
CREATE FUNCTION deft_changed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_notify('deft_changes', NEW.tenant || ':' || NEW.seq || ':' || NEW.kind);
  RETURN NULL;
END $$;
-- +goose StatementEnd
CREATE TRIGGER changed AFTER INSERT ON changes FOR EACH ROW EXECUTE FUNCTION deft_changed();

SELECT deft_isolate();
UPDATE meta SET value = '6' WHERE tenant = 'local' AND key = 'schema';
