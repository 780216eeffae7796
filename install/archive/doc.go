// Package archive reads zip and tar archives whole, in memory, and refuses those that
// could do harm where they are unpacked.
//
// What belongs here: what an entry may be and be called, and how much an archive may
// hold. What may not come in: writing files, and deciding which of them are a skill.
// Nothing is ever unpacked at a target: contents come out as bytes.
//
// One bad entry refuses the whole archive, by its name. To change what is bad open
// paths.go; what a zip must agree with itself on, zip.go.
package archive
