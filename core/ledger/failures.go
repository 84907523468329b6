package ledger

import "time"

// FailureCount counts failed requests of an upstream by the kind of their fault.
type FailureCount struct {
	// Upstream is the one that failed last; empty for requests that no upstream saw.
	Upstream, Kind string
	Requests       int64
}

// Failures are counts of failed requests.
type Failures struct {
	// Counts are by upstream; those of one upstream are the most frequent kind first.
	Counts []FailureCount
	// From is the start of the earliest request that was counted, where not all were; zero otherwise.
	From time.Time
}
