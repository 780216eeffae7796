// Package command is about what a skill wants to have run: inline commands of its body,
// scripts, hooks. It finds them, decides by policy whether they may run at all, and puts
// what they print into the text.
//
// What belongs here: where commands stand in a text, what the shell field says, the
// intersection of all policies, arguments inside commands, the order of checks before
// anything runs, hooks. What may not come in: registry and sessions (bodies, policies and
// skills arrive as plain values), verdicts on calls (the gate, behind [Gate]), how a run
// is confined (sandbox). The package prints nothing and reads no environment.
//
// One rule stands over all: nothing runs that did not pass policy, gate and sandbox, in
// this order, and what cannot be confined as asked does not run.
//
// Which file to open:
//
//	where a command stands in a body                scan.go
//	what a dialect does otherwise                   dialect.go, the only table
//	the shell field of a header                     shell.go
//	what of host, source and skill is left          policy.go
//	commands held to a list of prefixes             list.go
//	arguments inside a command                      insert.go; programs that read them as text: insert_table.go
//	the order of checks of one load                 expand.go; how its commands run: perform.go
//	what stands in place of a command               perform.go (output), expand.go (failures), place.go
//	a run: its directory, environment, bounds        runner.go; scripts of a skill: script.go
//	the hooks of a header: forms, events, pairs     hook.go
//	which hooks are in force; how they run          hooks.go, fire.go
//	what the command of a hook says                 hook_output.go
//	values that what is printed must not show       hide.go
//	what gate and runner are asked                  request.go; why there is no output: reason.go
package command
