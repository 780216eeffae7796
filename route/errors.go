package route

import "errors"

// ErrContextInvalid says that a TurnRoutingContext names something that does not
// exist, such as an unknown stage in a signal. The host that built it must mend it.
var ErrContextInvalid = errors.New("route_context_invalid")
