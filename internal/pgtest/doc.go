// Package pgtest gives tests a real PostgreSQL server, one for the test binary, and each
// test a database of its own on it.
//
// What belongs here: finding the programs, starting and stopping servers, databases from
// templates, and taking a server away from under a test.
//
// What may not come in: a room; anything that is not for tests.
//
// The server is that of DEFT_TEST_POSTGRES, an address whose role may create databases
// and roles, or one that is started in a folder of its own from initdb and postgres in
// PATH or where packages put them. It listens on a Unix socket only, does not wait for
// the disk, and ends with the test binary, however that ends. Without the programs a
// test is skipped and says how to get them.
//
//	a database                       pgtest.go: URL, From
//	a server that a test may stop    pgtest.go: New
//	programs, folders, the watchdog  cluster.go
package pgtest
