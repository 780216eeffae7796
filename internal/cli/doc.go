// Package cli is the command line: one verb a file, one table of exit codes, one
// way to print.
//
// Manners, which scripts rely on:
//
//   - Results go to standard output; progress, warnings, hints and questions to
//     standard error. With --json there is one document on standard output, exact
//     strings, no colour; errors too: {error:{code, message, hint}}.
//   - Messages are lower case, noun then cause, without a final stop. A hint is a
//     second line that begins with "hint:". An unknown name gets the closest three.
//   - A question without a terminal and without --yes is a refusal.
//   - Each verb declares what it does beside its definition (reads, writes, network,
//     runs-code), and run.go gives it nothing else: a verb that does not declare
//     writes has no way to write.
//   - Nothing is printed but through safetext.Printer.
//
// What belongs here: reading flags, calling package deft, showing what it answers.
// What may not come in: decisions about skills, tools or trust.
//
//	verbs.go     the list of verbs and groups; add a verb here and in a file of its name
//	             (catalog, route, search and config stand in cataloging.go, routing.go,
//	             searching.go and show_config.go)
//	verb.go      what a verb is; flags that all verbs share are in globals.go
//	run.go       one run from arguments to exit code; main.go ties it to the process
//	exit.go      the exit codes
//	errors.go    errors with code, hint and exit code
//	effects.go   the doors through which a verb writes
//	settings.go  files, environment and flags laid over each other
//	engine.go    from settings to the engine of package deft
//	models.go    from a choice to a model's adapter
//	record.go    a skill as JSON, finding one by name
//	ask_online.go, confirm.go  a turn as it happens, and the gate's questions
//	chat.go      a conversation, and what changes beside it
//	watch.go     the progress of long work
//	text/        every word that exists in two languages
//	schema/      the shape of each verb's --json
package cli
