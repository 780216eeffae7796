package gate

import "errors"

var (
	// ErrUnavailable means that a decision could not be recorded or a nonce not drawn.
	// The call was refused; trying again later may succeed.
	ErrUnavailable = errors.New("gate unavailable")
	// ErrGrantUnusable is what GrantStore.Use returns for a grant that is used up, revoked,
	// over, not yet begun, damaged or gone: nothing was counted and no row was written.
	ErrGrantUnusable = errors.New("grant cannot be used")
	// ErrNotOpen is what ConfirmStore.Resolve returns for a confirmation that another
	// answer, a drop or its time has ended, or that never was: nothing was written.
	ErrNotOpen = errors.New("confirmation is not open")
)
