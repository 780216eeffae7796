// Package blobs3 keeps contents by their digest in a bucket of an S3-compatible server.
//
// What belongs here: the address of a bucket, the requests, which of their failures are
// tried again, and what a server's answers mean to package blobs. What may not come in:
// what the bytes mean, a cache (package blobs has it), and reading the environment but
// through Options.
//
// Only the program wires it up (cmd/deft): whoever imports deft as a library does not
// link the client of a server.
//
// The server is not believed: what it returns is compared with its digest before a byte
// of it goes on, and what it says of an object that is there already is not taken for the
// object.
//
//	what an address may say          address.go
//	the requests                     store.go
//	what is tried again, waits       retry.go
package blobs3
