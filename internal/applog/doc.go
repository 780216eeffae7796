// Package applog keeps an append-only log in files: one record a line, with its length
// and its checksum, so that what a crash leaves is told from what was written.
//
// A line is eight hex digits of the length, a blank, eight of the CRC-32C, a blank, the
// record, a newline. The first record of a file says format, kind and id. A file that
// grows over a bound becomes NAME.1.jsonl, the next NAME.2.jsonl, and so on; NAME.jsonl is
// the one that is written.
//
// What a crash leaves: a process that dies loses nothing that Append has written; a
// machine that dies loses at most what came after the last Sync. A tail that is not whole
// is cut when the log is opened for writing, and its bytes are saved aside. A bad record
// with good ones behind it is damage: everything before it is served, nothing after it,
// and nothing is written any more.
//
// What belongs here: the lines, the parts, the lock of the one writer. What may not come
// in: what records mean.
//
// Which file to open: log.go for writing, read.go for reading and for what is wrong with
// a file, disk.go for what is done to the disk.
package applog
