package overload

import "time"

// rounds tells when the process has room for another request.
type rounds interface {
	// round returns when a processor has found nothing to run, and goroutines that became runnable
	// meanwhile have run. took is how long these took: with many that do not wait for anything it is
	// long, although a processor was found. It is false after close.
	round() (took time.Duration, ok bool)
	close()
}
