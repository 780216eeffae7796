// Package storetest is the one suite of tests that every kind of database passes.
//
// What belongs here: what package store promises whatever keeps it. A part is a file
// with a function that takes *Suite and a line in parts.
//
// What may not come in: what is true of one kind of database only (files, locks, a
// server that goes away); that is tested in package store itself.
package storetest
