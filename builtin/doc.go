// Package builtin holds the skills that ship in the binary: one folder each, read
// from memory, and written to disk only where a host asks for it (Seed).
//
// What belongs here: skills that are useful on a machine that has no others, written
// for this product, valid under the open standard's strict profile, short; which host
// is offered which of them (Gate); and seeding them to a folder. What may not come in:
// other code, scripts, skills that need a service.
//
// To change a skill open its SKILL.md; detail belongs in its references folder. To
// add one make its folder, name it in the embed directive of builtin.go and give it
// a request in builtin_test.go; go test -update writes the fingerprints anew. Which
// tools a skill needs stands in gates.json, what a build leaves out in excluded.json.
package builtin
