// Package gate gives the verdict on every tool call: it is the one door between
// what a model, a script or a hook wants and what runs.
//
// What belongs here: tiers and what may raise them, the decision table, the check
// of arguments, questions to a person and what is remembered of the answers, path
// rules for file tools, and the record of every decision. What may not come in:
// running anything, reading skills or prompts, talking to a person, any other room
// than skill. The gate gets plain values and keeps no global state.
//
// Three promises hold whatever is configured: a turn behind which no person stands
// runs nothing above READ_ONLY; a name that is not registered never runs; when the
// record cannot be written the call is refused.
//
// Which file to open:
//
//   - gate.go: the shapes other rooms use; codes.go: every code a Decision can have
//   - table.go: the decision table, one row a check, first match wins
//   - engine.go: New, Check, Explain; confirm.go: questions, answers, what is remembered
//   - grant.go, constraint.go: consent given in advance; granted.go: what it covers, and the
//     answers that make some; confirmation.go: a question as it is kept; memory.go: the store
//     of both where there is no database
//   - rules.go: rules and tiers of the layers of configuration; judge.go: what rules and
//     active skills say of one call
//   - shell_rules.go: a shell command under rules; shell_tier.go: its tier; shell_named.go:
//     under a restricting list; shell_views.go, shell_options.go: wrappers, options;
//     shell_table.go: tables of commands with the verdict that is due
//   - dialects.go: what a dialect does its own way
//   - tools.go: the table of registered tools; args.go and canonical.go: their arguments
//   - paths.go, protected.go: which files a file tool may touch and at what tier
//   - record.go: rows, and what keeps them
//   - chain.go: how rows hang together; redact.go, redact.txt: what no record may hold
package gate
