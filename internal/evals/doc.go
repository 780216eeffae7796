// Package evals measures how well skills are found: the logic of `deft eval`.
//
// What belongs here: reading cases and corpora, running them through search and
// route, counting. What may not come in: printing, flags, exit codes, thresholds of
// a release.
package evals
