package limit

import "errors"

// ErrUnavailable says that a request can be neither admitted nor refused: the store that the
// cores share does not answer.
var ErrUnavailable = errors.New("limit: the shared store does not answer")
