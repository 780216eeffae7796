package search

import "errors"

// Errors that a caller can act on. Everything else a search meets is a diagnostic
// beside its result.
var (
	// ErrBadQuery (code search_bad_query): TopK is out of range, or a field or a
	// mode is unknown. Mend the query.
	ErrBadQuery = errors.New("search_bad_query")
	// ErrModeUnavailable (code search_mode_unavailable): vector or hybrid was asked
	// for, and the index has no embedder. Ask for bm25 or auto.
	ErrModeUnavailable = errors.New("search_mode_unavailable")
	// ErrBadVector (code embedder_bad_vector): the embedder gave a wrong number of
	// vectors, or one that cannot be compared; the text names the input. Look at the
	// embedder's settings.
	ErrBadVector = errors.New("embedder_bad_vector")
	// ErrClosed (code search_closed): the index was closed. Open another.
	ErrClosed = errors.New("search_closed")
)
