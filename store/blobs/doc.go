// Package blobs keeps contents by their digest, and the lists of files that make a tree.
//
// What belongs here: putting, getting, checking and listing bytes. What may not come in:
// what the bytes mean, who needs them, and when they may go.
//
// Contents are verified before a byte of them is returned: what was damaged on disk is
// never served. Two writers of one digest write the same bytes, so the first wins.
//
// To change where a folder keeps them open dir.go; trees are in trees.go, as file
// systems in files.go.
package blobs
