//go:build !unix

package route

import "time"

var began = time.Now()

// cpu stands in with the wall clock where processor time cannot be asked for.
func cpu() time.Duration { return time.Since(began) }
