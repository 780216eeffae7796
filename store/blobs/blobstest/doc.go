// Package blobstest is the contract of blobs.Store as tests, run on every implementation.
//
// What belongs here: what holds of each of them. What may not come in: what only one
// promises, such as where a folder puts damaged files.
//
// An implementation calls Run with a function that makes an empty store for a test.
package blobstest
