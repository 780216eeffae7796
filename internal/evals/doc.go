// Package evals measures how well skills are found: the logic of `deft eval`.
//
// What belongs here: reading cases and corpora, running them through search and
// route, counting. What may not come in: printing, flags, exit codes, thresholds of
// a release.
//
// Which file to open:
//
//	routing.go   what is asked and reported: RoutingOptions, Report
//	run.go       one measurement from its inputs to its figures
//	triggers.go, triggercases.go   whether the right skill fires: cases, outcomes, figures
//	baseline.go  what an earlier run found; junit.go: the report for CI systems
//	metrics.go   Hit, MRR, recall, AUROC
//	cases.go     query, trigger and equivalence files, and their bad lines
//	grow.go      a corpus made larger, to measure what a crowd costs
//	corpus.go    archives and directories of skills in memory
package evals
