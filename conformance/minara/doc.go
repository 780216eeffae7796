// Package minara proves that dialect minara reads, hides, ranks and stages skills as
// Minara Agent's skills are.
//
// What belongs here: one test for each line of the suite, named TestMinara, the line's
// id and its behaviour, against the public API only; TestEveryLineIsATest holds the
// list. What may not come in: code that another room imports, and behaviour of deft's own
// dialect; README.md says where that differs.
//
//	suite_test.go       the list of lines, and what the tests share
//	schema_test.go      SC: reading and loading
//	advice_test.go      SC: what lint says
//	conditions_test.go  CO: conditions
//	scoring_test.go     RT: points, co-activation, reasons
//	order_test.go       RT: order, options, what the catalog shows
//	keywords_test.go    KW: when a keyword hits
//	stages_test.go      ST: inference, signals, what the gate makes of stages
//	tiers_test.go       TG: tiers, grants, answers, previews
//	signals_test.go     SG: signals, preloads, placement
//	blocks_test.go      PT: the blocks of a prompt over many turns
//	records_test.go     TR: what is kept of a turn
//	agents_test.go      AG: definitions of agents
//	scenarios_test.go   SN: scenarios
//	pages_test.go       CD: the pages of a catalog
//	store_test.go       both kinds of database, and replicas of the queue; alarm_test.go: a scripted turn
//	external_test.go    EX: packages that are added, their licences and records
//	engine_test.go      the whole program, for lines that need it; prompt_test.go: a prompt
package minara
