// Package store keeps what a person decided, across processes and crashes: switches
// of skills, profiles and which one a project uses, trusted folders and skills whose
// code was granted. It is one SQLite file outside every workspace.
//
// What belongs here: the schema and its migrations, one method a decision, and what
// to do when the file is busy, damaged, read-only or of a newer release.
//
// What may not come in: what a decision means (package registry judges switches,
// package gate judges calls), reading skills, reading the environment, and any room
// but skill. Other rooms get State and its plain values.
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
// To change …, open …:
//
//	what can be configured        options.go
//	a table                       sql/, and the file named after what it keeps:
//	                              states.go, profiles.go, trust.go, locations.go
//	checksums                     table.go
//	connections and pragmas       conn.go
//	transactions, the writer      update.go
//	the schema's next number      migrate.go; add sql/NNNN_name.sql, expand before you
//	                              contract, so that the release before can run beside
//	what the registry takes       load.go
//	doctor                        check.go, aside.go
package store
