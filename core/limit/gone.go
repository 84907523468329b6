package limit

import "errors"

// ErrGone is a request that nobody can admit: the store that the cores share does not
// answer.
var ErrGone = errors.New("limit: the shared store does not answer")
