// Package licence decides under which licence a skill may be kept, from the files that
// came with it.
//
// What belongs here: finding the text that counts, telling which licence it is, and what
// follows from that. What may not come in: asking a person, settings, reading anything
// outside the tree that was given.
//
// To change which licences pass open verdicts.tsv; where a text is looked for, find.go;
// how an expression is read, expression.go; what refuses by its words, markers.go.
package licence
