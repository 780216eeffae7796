// Package bench measures deft beside other Go libraries that do the same job, on the
// same files in the same run. It is a module of its own, so that their weight is not
// deft's. The figures stand in BENCHMARKS.md as ratios.
package bench
