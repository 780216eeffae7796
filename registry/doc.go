// Package registry decides which definition of a skill wins, and says why.
//
// What belongs here: precedence, trust of folders, the Snapshot with its losers and
// reasons, the one rule of how a name finds a skill, and explain.
//
// What may not come in: opening a skill's file (package source does, explain is handed a
// Looker), ranking for a request (route, search), rendering (catalog), and grants of
// code (gate).
//
// A Snapshot is a pure function of listings, trust, environment and policy: equal
// input gives equal Dump. Nothing is dropped: what loses, is withheld or cannot be
// read stays in Snapshot.All with its reasons, the primary one first. A skill of a
// folder that nobody has trusted never wins a name and is never shown to a model.
//
// To change …, open …:
//
//	who wins                      policies.json, policy.go
//	what a dialect does besides   dialects.go: losers that stay, ambiguity, its ways of lookup
//	what hides a winner           filters.go
//	the JSON form of minimax      shape.go
//	states, groups, trust guard   arbitrate.go
//	how a name finds a skill      lookup.go; close names: suggest.go
//	prefixes and bare names       plugins.go
//	the reasons of explain        explain.go
//	refresh, last good versions   refresh.go
//	what is reported, how often   report.go
//	who hears of changes          subscribe.go
//	the pace of watching          watch.go
//	which folders are watched     watchset.go
//	sources that come and go      arrivals.go
//	the index on disk             index.go
//	folder trust of one run       trust.go
//	views, which of them are kept view.go
//	what a request may say        request.go
//	touched packages              touch.go
//	aliases, single changes       edit.go
//	saved folder trust            trust_folders.go
//	what persons decided          decisions.go
//	switches and their order      switches.go
//	names that look alike         lookalikes.go
//	what equal Snapshots mean     dump.go
package registry
