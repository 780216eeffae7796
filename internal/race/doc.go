// Package race tells tests whether the race detector watches them. It makes computing ten
// times slower: a test that computes much in one goroutine does less of the same then,
// since the ordinary run has done all of it.
//
// [Enabled] belongs here and nothing else; only tests may import it.
package race
