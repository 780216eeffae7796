// Package fold is the only normaliser of names: every comparison of two names that
// people typed goes through it.
//
// What belongs here: Unicode forms (NFC, Key), the typed form of a name (Handle),
// the look-alike form (Skeleton) and the distance of two words (Distance).
// What may not come in: any notion of a skill, a file or a language; words, stems
// and tokens of search and routing live in their own rooms.
//
// To change how names compare open fold.go; to add a look-alike open confusables.go;
// to change what counts as a typo open distance.go.
//
// Everything here is a pure function and safe for concurrent use.
package fold
