// Package skill is the SKILL.md format: bytes of one file and facts of one directory
// in, a parsed skill, located findings, a verdict, digests or another host's form out.
//
// What belongs here: whatever can be said about one skill from its own bytes. The
// package prints nothing, runs nothing, opens no file but through an fs.FS that it is
// given, and touches no network. Every function is a pure function of its arguments
// and safe for concurrent use; a Skill is never changed after Parse has returned it.
//
// What may not come in: roots, precedence, sessions, models, permission, configuration.
// A reader is lenient: Parse loads what can be loaded and attaches diagnostics. A
// verdict is strict: Validate judges the same facts by a host's rules. They share no
// switch, so that a strict verdict never stops a load.
//
// To change …, open …:
//
//	where header and body are, per dialect            split.go
//	how a header is read, and what is refused         header.go, library.go; limits before that: survey.go
//	the reader of plain headers                       fast.go
//	lines that YAML refuses and we take as text       recover.go
//	a key, its spellings, what counts as a typo       keys.go
//	how text becomes a bool, list, enum               build.go
//	a field of the model                              skill.go (its type), model.go (how it is read)
//	blocks below metadata, sidecars, routing facts    blocks.go, json.go
//	hard gates: reading, judging                      conditions.go, unmet.go
//	name, key, handle, title, description             identity.go, body.go
//	arguments and placeholders in a body              substitute.go; what a word is there: words.go
//	what counts as code in a body                     code.go
//	a diagnostic code                                 codes.go, the only table
//	sets of names that conditions ask about           names.go, environment.go
//	a host's rules                                    profile_tables.go, profile_mastra.go, profile_deft.go
//	how a verdict is reached, and its strict reader   profile.go, profile_header.go
//	the directory that a verdict is about             validate_dir.go
//	advice to authors                                 lint.go (the order), lint_text.go, lint_links.go
//	repairs that keep every other byte                fix.go
//	digests of files and directories                  digest.go, tree.go
//	another host's form of a skill                    export.go; what hosts read: export_hosts.go; its YAML: export_yaml.go
//	how deep a body may nest before it is text        code_depth.go
package skill
