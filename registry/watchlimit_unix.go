//go:build unix

package registry

import (
	"errors"
	"fmt"
	"syscall"
)

// errFull says that the system has no more watches to give.
var errFull = errors.New("the system's limit of watches is reached")

// full marks the errors after which further watches fail too.
func full(err error) error {
	for _, e := range [...]error{syscall.ENOSPC, syscall.EMFILE, syscall.ENFILE, syscall.ENOMEM} {
		if errors.Is(err, e) {
			return fmt.Errorf("%w: %w", errFull, err)
		}
	}
	return err
}
