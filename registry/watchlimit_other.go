//go:build !unix

package registry

import "errors"

// errFull says that the system has no more watches to give.
var errFull = errors.New("the system's limit of watches is reached")

// full marks the errors after which further watches fail too: here none are known.
func full(err error) error {
	return err
}
