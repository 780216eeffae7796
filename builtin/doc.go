// Package builtin holds the skills that ship in the binary: one folder each, read
// from memory, never written to disk.
//
// What belongs here: skills that are useful on a machine that has no others, written
// for this product, valid under the open standard's strict profile, short. What may
// not come in: code beyond the accessor, scripts, skills that need a service.
//
// To change a skill open its SKILL.md; detail belongs in its references folder. To
// add one make its folder, name it in the embed directive of builtin.go and give it
// a request in builtin_test.go.
package builtin
