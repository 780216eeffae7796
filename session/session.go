package session

// Turn is one user request or signal, from routing to the last tool result.
type Turn struct{}
