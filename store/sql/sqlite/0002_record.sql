-- What the gate keeps (consent given in advance, questions, decisions) and what became of
-- turns, skills and tool calls. Rows of the record are added, never changed; grants have a
-- sum over their other columns (table.go). Times are microseconds UTC.

-- +goose Up
CREATE TABLE grants (
  tenant       TEXT NOT NULL DEFAULT 'local',
  id           TEXT NOT NULL,
  format       INTEGER NOT NULL,
  principal    TEXT NOT NULL,
  tool         TEXT NOT NULL,
  toolset      TEXT NOT NULL,
  rule         TEXT NOT NULL,
  constraints  TEXT NOT NULL CHECK (json_valid(constraints)),
  other_args   TEXT NOT NULL,
  workspace    TEXT NOT NULL,
  skill_digest TEXT NOT NULL,
  max_uses     INTEGER NOT NULL CHECK (max_uses >= 0), -- 0 = no bound
  used         INTEGER NOT NULL CHECK (used >= 0 AND (max_uses = 0 OR used <= max_uses)),
  not_before   INTEGER,
  expires_at   INTEGER NOT NULL,
  created_by   TEXT NOT NULL,
  created_at   INTEGER,
  reason       TEXT NOT NULL,
  revoked_at   INTEGER,
  revoked_by   TEXT NOT NULL,
  sum          INTEGER NOT NULL,
  PRIMARY KEY (tenant, id)
) STRICT, WITHOUT ROWID;

CREATE INDEX grants_principal ON grants (tenant, principal, expires_at);

-- The nonce that proves an answer is kept nowhere: after a restart a call is asked again.
CREATE TABLE confirmations (
  tenant      TEXT NOT NULL DEFAULT 'local',
  id          TEXT NOT NULL,
  session     TEXT NOT NULL,
  turn        TEXT NOT NULL,
  tool        TEXT NOT NULL,
  tier        INTEGER NOT NULL,
  call_hash   TEXT NOT NULL,
  nonce_hash  TEXT NOT NULL,
  shown       TEXT NOT NULL CHECK (json_valid(shown)),
  state       TEXT NOT NULL CHECK (state IN ('open', 'allowed', 'denied', 'expired', 'dropped')),
  answer      TEXT NOT NULL,
  opened_at   INTEGER NOT NULL,
  expires_at  INTEGER NOT NULL,
  resolved_at INTEGER,
  resolved_by TEXT NOT NULL,
  PRIMARY KEY (tenant, id)
) STRICT, WITHOUT ROWID;

CREATE INDEX confirmations_open ON confirmations (tenant, session) WHERE state = 'open';
CREATE INDEX confirmations_time ON confirmations (tenant, expires_at);

-- One row a decision. Seq counts within the chain.
CREATE TABLE tier_events (
  tenant        TEXT NOT NULL DEFAULT 'local',
  chain         TEXT NOT NULL,
  seq           INTEGER NOT NULL,
  ts            INTEGER NOT NULL,
  trace_id      TEXT NOT NULL,
  session       TEXT NOT NULL,
  turn          TEXT NOT NULL,
  call_id       TEXT NOT NULL,
  origin        TEXT NOT NULL,
  principal     TEXT NOT NULL,
  tool          TEXT NOT NULL,
  via           TEXT NOT NULL,
  tier          INTEGER NOT NULL,
  stages        TEXT NOT NULL CHECK (json_valid(stages)),
  ceiling       INTEGER NOT NULL,
  verdict       TEXT NOT NULL,
  code          TEXT NOT NULL,
  rule          TEXT NOT NULL,
  grant_id      TEXT NOT NULL,
  confirm_id    TEXT NOT NULL,
  call_hash     TEXT NOT NULL,
  skills        TEXT NOT NULL CHECK (json_valid(skills)),
  bypassed_by   TEXT NOT NULL,
  tier_override TEXT NOT NULL,
  prev          TEXT NOT NULL,
  hash          TEXT NOT NULL,
  PRIMARY KEY (tenant, chain, seq)
) STRICT, WITHOUT ROWID;

CREATE INDEX tier_events_trace ON tier_events (tenant, trace_id, ts);
CREATE INDEX tier_events_time ON tier_events (tenant, ts);

-- The end of each chain, and the end that it had when its rows were removed.
CREATE TABLE audit_heads (
  tenant   TEXT NOT NULL DEFAULT 'local',
  chain    TEXT NOT NULL,
  seq      INTEGER NOT NULL,
  hash     TEXT NOT NULL,
  cut_seq  INTEGER NOT NULL,
  cut_hash TEXT NOT NULL,
  cut_at   INTEGER,
  PRIMARY KEY (tenant, chain)
) STRICT, WITHOUT ROWID;

CREATE TABLE skill_audit (
  seq          INTEGER PRIMARY KEY AUTOINCREMENT,
  tenant       TEXT NOT NULL DEFAULT 'local',
  ts           INTEGER NOT NULL,
  trace_id     TEXT NOT NULL,
  session      TEXT NOT NULL,
  turn         TEXT NOT NULL,
  origin       TEXT NOT NULL,
  signal_id    TEXT NOT NULL,
  action       TEXT NOT NULL,
  actor        TEXT NOT NULL,
  ids_before   TEXT NOT NULL CHECK (json_valid(ids_before)),
  ids_after    TEXT NOT NULL CHECK (json_valid(ids_after)),
  catalog_hash TEXT NOT NULL,
  top          TEXT NOT NULL CHECK (json_valid(top)),
  versions     TEXT NOT NULL CHECK (json_valid(versions)),
  stages       TEXT NOT NULL CHECK (json_valid(stages)),
  fit          TEXT NOT NULL,
  detail       TEXT NOT NULL CHECK (json_valid(detail))
) STRICT;

CREATE INDEX skill_audit_trace ON skill_audit (tenant, trace_id, ts);
CREATE INDEX skill_audit_time ON skill_audit (tenant, ts);
CREATE INDEX skill_audit_signal ON skill_audit (tenant, signal_id, ts) WHERE signal_id <> '';

-- One row a tool call, after it. Args are without secrets.
CREATE TABLE tool_events (
  seq           INTEGER PRIMARY KEY AUTOINCREMENT,
  tenant        TEXT NOT NULL DEFAULT 'local',
  ts            INTEGER NOT NULL,
  call_id       TEXT NOT NULL,
  trace_id      TEXT NOT NULL,
  session       TEXT NOT NULL,
  turn          TEXT NOT NULL,
  step          INTEGER NOT NULL,
  tool          TEXT NOT NULL,
  call_hash     TEXT NOT NULL,
  args          TEXT NOT NULL CHECK (json_valid(args)),
  started_at    INTEGER,
  status        TEXT NOT NULL CHECK (status IN ('ok', 'error', 'timeout', 'denied', 'cancelled', 'unknown')),
  error_code    TEXT NOT NULL,
  duration_us   INTEGER NOT NULL,
  bytes_in      INTEGER NOT NULL,
  bytes_out     INTEGER NOT NULL,
  output_digest TEXT NOT NULL,
  sandbox_level TEXT NOT NULL,
  exit_code     INTEGER
) STRICT;

CREATE INDEX tool_events_trace ON tool_events (tenant, trace_id, ts);
CREATE INDEX tool_events_time ON tool_events (tenant, ts);

-- One row a turn, and before it begins where a queue starts it.
CREATE TABLE workflow_instances (
  tenant            TEXT NOT NULL DEFAULT 'local',
  id                TEXT NOT NULL,
  definition        TEXT NOT NULL,
  definition_digest TEXT NOT NULL,
  trigger_kind      TEXT NOT NULL CHECK (trigger_kind IN ('cron', 'webhook', 'event', 'manual')),
  signal_id         TEXT NOT NULL,
  dedupe_key        TEXT,
  trace_id          TEXT NOT NULL,
  parent_trace_id   TEXT NOT NULL,
  status            TEXT NOT NULL CHECK (status IN ('queued', 'running', 'done', 'failed', 'cancelled', 'interrupted')),
  attempt           INTEGER NOT NULL,
  replica           TEXT NOT NULL,
  lease_until       INTEGER,
  session           TEXT NOT NULL,
  started           INTEGER,
  ended             INTEGER,
  stop              TEXT NOT NULL,
  error             TEXT NOT NULL,
  PRIMARY KEY (tenant, id),
  UNIQUE (tenant, dedupe_key)
) STRICT, WITHOUT ROWID;

CREATE INDEX workflow_instances_trace ON workflow_instances (tenant, trace_id);
CREATE INDEX workflow_instances_signal ON workflow_instances (tenant, signal_id, started) WHERE signal_id <> '';

-- What happened, by time: ORDER BY ts, ord, seq. Fields holds the rest of each row.
CREATE VIEW trace_timeline AS
  SELECT tenant, trace_id, session, coalesce(started, 0) AS ts, 0 AS ord, 0 AS seq, 'workflow' AS kind, definition AS what,
    status AS verdict, trigger_kind AS detail,
    json_object('id', id, 'signal_id', signal_id, 'parent_trace_id', parent_trace_id, 'attempt', attempt, 'replica', replica,
      'ended', ended, 'stop', stop, 'error', error) AS fields
  FROM workflow_instances
  UNION ALL SELECT tenant, trace_id, session, ts, 1, seq, 'skill', action, actor, ids_after,
    json_object('turn', turn, 'origin', origin, 'signal_id', signal_id, 'ids_before', json(ids_before), 'ids_after', json(ids_after),
      'catalog_hash', catalog_hash, 'top', json(top), 'versions', json(versions), 'stages', json(stages), 'fit', fit, 'detail', json(detail))
  FROM skill_audit
  UNION ALL SELECT tenant, trace_id, session, ts, 2, seq, 'gate', tool, verdict, code,
    json_object('chain', chain, 'seq', seq, 'turn', turn, 'call', call_id, 'origin', origin, 'principal', principal, 'via', via,
      'tier', tier, 'stages', json(stages), 'ceiling', ceiling, 'rule', rule, 'grant_id', grant_id, 'confirm_id', confirm_id,
      'call_hash', call_hash, 'skills', json(skills), 'bypassed_by', bypassed_by, 'tier_override', tier_override)
  FROM tier_events
  UNION ALL SELECT tenant, trace_id, session, ts, 3, seq, 'tool', tool, status, output_digest,
    json_object('turn', turn, 'step', step, 'call', call_id, 'call_hash', call_hash, 'args', json(args), 'started', started_at,
      'error_code', error_code, 'duration_us', duration_us, 'bytes_in', bytes_in, 'bytes_out', bytes_out,
      'sandbox_level', sandbox_level, 'exit_code', exit_code)
  FROM tool_events;

UPDATE meta SET value = '2' WHERE tenant = 'local' AND key = 'schema';
PRAGMA user_version = 2;
