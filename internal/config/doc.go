// Package config reads deft's settings: where its directories are, what the user's
// config.yaml and a project's .deft/config.yaml say, and where each value came from.
//
// What belongs here: the table of keys (keys.go), reading and checking YAML with
// places (load.go), the directories of each system (dirs.go). What may not come in:
// flags (package cli lays them over the result), any decision about skills, and any
// look at the process: environment, home, system and files are arguments.
//
// To add a setting, open keys.go; to move a directory, dirs.go.
//
// The rule that holds here: a project's file may only tighten. It is not read at
// all before a person trusts the folder, and even then it can never change who is
// trusted.
package config
