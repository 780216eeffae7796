// Package store keeps what a person decided, across processes and crashes: switches
// of skills, profiles and which one a project uses, trusted folders and skills whose
// code was granted; and the records that go with it. It is one SQLite file outside every
// workspace, or a database of a PostgreSQL server for several machines.
//
// What belongs here: the schema and its migrations, one method a decision, and what
// to do when the file is busy, damaged, read-only or of a newer release.
//
// What may not come in: what a decision means (package registry judges switches,
// package gate judges calls), reading skills, reading the environment, and any room
// but skill, gate (whose interfaces are implemented here in gate's own types) and
// store/blobs. Other rooms get plain values.
//
// Promises, each held by a test:
//
//   - Looking at state that does not exist creates nothing and is empty state.
//   - A write is there as a whole or not at all, whatever kills the process. Two
//     processes that write at once lose no update.
//   - Every row carries a checksum and the whole a total, so that a flipped bit is
//     never read as another decision. They find damage, not an attacker: who can
//     write the file can also write the sums.
//   - Nothing is written over a damaged file. Reading one trusts nothing, and keeps
//     the switches whose rows are sound, so that a denied skill stays denied.
//   - Folder trust is found by the exact resolved root, never by a folder above it.
//   - State that others may write is refused.
//
// The state (switches, profiles, trust) is small, read as a whole and summed up as a
// whole. Records (what happened, what waits) are rows that only their own methods read:
// their integrity is theirs to keep.
//
// A table of records in five steps:
//
//  1. sql/sqlite/NNNN_name.sql and sql/postgres/NNNN_name.sql, one number. Tenant is the
//     first column of every key. Types: TEXT; BIGINT (PostgreSQL) or INTEGER (SQLite) for
//     microseconds UTC, counts and flags 0 and 1; JSONB or TEXT CHECK (json_valid(x)) for
//     JSON. JSONB gives other bytes back: what is hashed as text is TEXT in both. Both
//     raise meta's "schema", SQLite user_version too; PostgreSQL ends with
//     SELECT deft_isolate().
//  2. A file here named after what it keeps, with a method for each thing that is done.
//     s.read(ctx, func(q querier) error) for one consistent look, s.write(ctx, point,
//     func(tx *tx) error) for one transaction; tx.insert for many rows, tx.forUpdate()
//     at the end of a SELECT whose rows the transaction changes, tx.now for its time.
//     One SQL text for both: ? for values, tenant = :tenant in every WHERE.
//  3. Nothing is read when nothing was ever written: f is not called. On PostgreSQL f may
//     run again after a conflict: it touches nothing outside tx that this would spoil.
//     What a caller learns by an error wraps a sentinel of errors.go; a key that is there
//     already is ErrExists by itself.
//  4. The point's name goes into fault.Names.
//  5. storetest: a file with the part's tests, and the part's name in parts.
//
// To change …, open …:
//
//	what can be configured        options.go
//	one text for two databases    dialect.go
//	PostgreSQL                    postgres.go
//	what others changed           changes.go
//	a table                       sql/, and the file named after what it keeps:
//	                              states.go, profiles.go, trust.go, locations.go
//	what the gate keeps           consent.go (grants, questions), chain.go (decisions)
//	what became of turns, tools   history.go; how long it is kept: retain.go
//	conversations                 sessions.go (rows), events.go (what was said)
//	checksums, kinds of columns   table.go, columns.go
//	SQLite's connections          conn.go
//	transactions, the writer      update.go
//	how far a database is         schema.go
//	the schema's next number      migrate.go; add sql/*/NNNN_name.sql, expand before you
//	                              contract, so that the release before can run beside
//	notes, kinds of agents        memories.go, agents.go
//	what the scanner said         scans.go
//	how skills are used           usage.go
//	files given as values, types  filenode.go, mediatype.go; as Mastra keeps them: mastratree.go
//	published skills              versions.go (reading), version_write.go (publishing, states),
//	                              channels.go (channels, which version is used), trees.go; what nobody
//	                              needs any more: garbage.go
//	what the registry takes       load.go
//	doctor                        check.go, aside.go
package store
