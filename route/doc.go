// Package route says which skills matter for this turn.
//
// What belongs here: the pure function from a Snapshot, options and the facts of a
// turn to an order of skills with points and reasons. Equal input gives equal bytes.
// What may not come in: a file, a clock, the environment, randomness, a float in a
// score, a decision to load anything; the rooms search and catalog (search results
// arrive as plain numbers).
//
// Which file to open:
//
//	context.go      what a turn is: stages, assets, preloads, retrieved hits
//	signal.go       the event behind a turn without a person, and how it is read
//	scenario.go     situations that a person wrote down, found by their words; how they are
//	                read: scenario_read.go
//	result.go       what comes out: the order, hidden skills, fit, the clear winner
//	options.go      what can be chosen; the dialects are dialects.json
//	compile.go      Compile: what is prepared once for a Snapshot
//	router.go       Route: the order of the work on one turn
//	conditions.go   what this environment hides, remembered by environment
//	points.go       what each signal is worth, and the reasons that say so
//	thresholds.go   when the evidence is enough, with the measured figures
//	normalise.go    how text and keywords are made alike, and what a word's edge is
//	automaton.go    finding all keywords in one pass
//	triggers.go     stage words; the tables are triggers/*.json, by dialect below
//	explain.go      why a skill stands where it stands
//	README.md       measured figures and how to measure them again
package route
