package credential

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"
)

const (
	// fetchTimeout bounds one fetch, whichever requests wait for it.
	fetchTimeout = 10 * time.Second
	// ahead is how long before its expiry a credential is fetched again, at most; it is a
	// quarter of the credential's life if that is less. Google's metadata server returns the
	// same token until about 5 minutes before its expiry, so that what is left of a token is
	// a life of its own: the next fetch then comes when three quarters of the rest are over.
	ahead = 10 * time.Minute
	// margin is how long before its expiry a credential is not sent any more, at most, since
	// a request takes time on its way and clocks differ; it is a tenth of the life if that is
	// less.
	margin = 10 * time.Second
	// recheck is how old a credential becomes that names no expiry.
	recheck = 5 * time.Minute
	// minLife is how long a credential must be valid that is fetched.
	minLife = 2 * time.Second
	// A fetch that failed is tried again after minPause, which doubles up to maxPause.
	minPause, maxPause = time.Second, 15 * time.Second
	// discardEvery is how often a credential that an upstream refuses is discarded: an
	// upstream that refuses every credential must not become a flood at the issuer.
	discardEvery = 10 * time.Second
)

// fetcher obtains a value and the time until which it is valid; the zero time is one that is
// not known to end. Its error has no secrets.
type fetcher[T any] func(ctx context.Context) (T, time.Time, error)

// lease is a value and how long it may be used.
type lease[T any] struct {
	value T
	// expires is when it is not sent any more; zero is never. renew is when it is to be
	// fetched again.
	expires, renew time.Time
}

// valid reports whether the value may be sent.
func (l *lease[T]) valid(now time.Time) bool {
	return l != nil && (l.expires.IsZero() || now.Before(l.expires))
}

// cache keeps a value that expires. One fetch is in flight at a time.
type cache[T any] struct {
	name    string
	fetch   fetcher[T]
	secrets func(T) []string
	now     func() time.Time
	ctx     context.Context //nolint:containedctx // of the fetches, which outlive the requests that wait for them
	cancel  context.CancelFunc
	flights sync.WaitGroup

	mu      sync.Mutex
	current *lease[T]
	flight  chan struct{} // closed when the fetch in flight ends; nil without one
	// failed is why the last fetch failed, and retry when there may be another.
	failed error
	pause  time.Duration
	retry  time.Time
	// refused is the lease that an upstream has refused, and discarded when it was.
	refused   *lease[T]
	discarded time.Time
	// seen are the secrets of the value, and of the one before.
	seen, before []string
}

func newCache[T any](name string, fetch fetcher[T], secrets func(T) []string) *cache[T] {
	c := &cache[T]{name: name, fetch: fetch, secrets: secrets, now: time.Now}
	c.ctx, c.cancel = context.WithCancel(context.Background()) //nolint:gosec // close calls it
	return c
}

// get returns a valid value. It waits, until ctx ends, only if there is none, or an upstream has
// refused the one there is. A refused one remains in use until the issuer returns another.
func (c *cache[T]) get(ctx context.Context) (*lease[T], error) {
	for {
		c.mu.Lock()
		now := c.now()
		valid := c.current.valid(now)
		sure := valid && c.current != c.refused
		if (!sure || now.After(c.current.renew)) && c.flight == nil && !now.Before(c.retry) {
			c.begin() //nolint:contextcheck // the fetch outlives the requests that wait for it
		}
		current, flight, failed := c.current, c.flight, c.failed
		c.mu.Unlock()
		switch {
		case sure, valid && flight == nil:
			return current, nil
		case flight == nil:
			return nil, &Error{Name: c.name, Cause: failed}
		}
		select {
		case <-flight:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

var errClosed = errors.New("the configuration that names it was replaced")

// begin starts a fetch. The lock is held.
func (c *cache[T]) begin() {
	if c.ctx.Err() != nil {
		c.failed = errClosed
		return
	}
	ended := make(chan struct{})
	c.flight = ended
	c.flights.Go(func() {
		ctx, stop := context.WithTimeout(c.ctx, fetchTimeout)
		defer stop()
		value, expires, err := c.fetch(ctx)
		if err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded) {
			err = errors.New("the issuer did not answer within " + fetchTimeout.String())
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		defer close(ended)
		c.flight = nil
		c.end(value, expires, err)
	})
}

// end takes what a fetch has come to. The lock is held.
func (c *cache[T]) end(value T, expires time.Time, err error) {
	now := c.now()
	if err == nil && !expires.IsZero() && expires.Sub(now) < minLife {
		err = errors.New("the issuer gave a credential that has expired already, or is about to; compare the clocks")
	}
	if err != nil {
		c.pause = min(max(2*c.pause, minPause), maxPause)
		c.failed, c.retry = err, now.Add(c.pause)
		return
	}
	next := &lease[T]{value: value, renew: now.Add(recheck)}
	if !expires.IsZero() {
		life := expires.Sub(now)
		next.expires = expires.Add(-min(margin, life/10))
		next.renew = expires.Add(-min(ahead, life/4))
	}
	if secrets := c.secrets(value); !slices.Equal(secrets, c.seen) {
		c.before, c.seen = c.seen, secrets
	}
	c.current, c.refused, c.failed, c.pause, c.retry = next, nil, nil, 0, time.Time{}
}

// discard drops a value that an upstream has refused, so that the next request fetches another. It reports whether there is,
// or may be, another one.
func (c *cache[T]) discard(refused *lease[T]) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.current != refused {
		return true
	}
	now := c.now()
	if now.Sub(c.discarded) < discardEvery {
		return false
	}
	c.discarded, c.refused = now, refused
	return true
}

// known are the secrets of the value, and of the one before.
func (c *cache[T]) known() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Concat(c.seen, c.before)
}

// close ends the fetch in flight.
func (c *cache[T]) close() error {
	c.cancel()
	c.flights.Wait()
	return nil
}
