// Package s3test gives tests buckets on real servers, behind a proxy that can fail.
//
// What belongs here: the server in the test's process, finding and starting the gateway,
// buckets, what a proxy does to requests. What may not come in: a room; anything that is
// not for tests.
//
// The server in process answers in memory. The gateway is the program versitygw over a
// folder: that of DEFT_TEST_VERSITYGW, or the one in PATH, started once for the test
// binary on a Unix socket; it ends with the test binary, however that ends. Without the
// program a test is skipped and says how to get it. DEFT_TEST_S3, an address as --blobs
// takes it whose credentials stand in AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, adds a
// bucket that exists; what a test puts there it deletes.
//
//	a bucket on each server      s3test.go: Each
//	what a proxy does            proxy.go
//	the gateway                  gateway.go
package s3test
