// Package jobs keeps what starts turns without a person, and sees that each event starts
// one turn: definitions, schedules, and a durable queue on the database of package store,
// in SQLite or PostgreSQL.
//
// What belongs here: definitions and their bounds, when a schedule is due, what makes two
// events one, and who runs a firing. What may not come in: what a turn is (Options.Prepare
// gives one), reading signals, HTTP, the environment.
//
// Promises, each held by a test:
//
//   - A firing and its place in the queue are written in one transaction. What Insert
//     returned without an error survives the process.
//   - A firing is begun by one process: it goes from queued to running by compare-and-set
//     before the turn begins, and never runs again unless a person retries it or its job
//     is idempotent.
//   - A turn whose process died is interrupted, in the list, within two leases. A process
//     that cannot renew its lease ends its turn before another may sweep it.
//   - A time of a schedule runs once, however many processes plan it.
//   - What could not be begun three times is failed, in the list, and never dropped.
//
// The queue library (river) hands firings out, in their order, to processes; whether one
// runs is decided by its row in workflow_instances alone.
//
// To change …, open …:
//
//	what a definition says       job.go; its rows: definitions.go
//	when a schedule is due       schedule.go; who plans it: keep.go
//	what is one event            insert.go
//	taking, leases, drain        work.go; what dead processes left: keep.go
//	the list, retries, depth     list.go
//	the two databases            db.go, queue.go; tables: store/sql/*/0004_queue.sql
package jobs
