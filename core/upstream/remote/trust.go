package remote

import (
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// kind is what a connection has served: engines that keep connections after unary answers
// close them after streams.
type kind int

const (
	aUnary kind = iota
	aStream

	kinds // how many there are
)

// trust is how sure it is that an upstream keeps connections after answers of a kind. The
// zero value knows nothing.
type trust struct {
	// proofs is how often it was seen to keep one, since it was last seen not to.
	proofs atomic.Int32

	mu sync.Mutex
	// lost is how often in a row it was seen not to, until when it is not trusted, as
	// sinceStart gives it; each time it is for twice as long.
	lost  int
	until atomic.Int64
}

const (
	// proven is how often an upstream must be seen to keep a connection to be trusted.
	proven = 3
	// settles is how long a connection that has just served is watched, or not used,
	// while there is no trust, and young how soon behind an answer a close says something
	// of all answers.
	settles, young = 50 * time.Millisecond, time.Second
	// An upstream that was seen to close a connection behind an answer is not trusted for
	// distrust, up to mostDistrust.
	distrust, mostDistrust = 10 * time.Second, 10 * time.Minute
)

// started is when the program did.
var started = time.Now()

// sinceStart is how many nanoseconds the program runs, which no change of the clock alters. It
// begins late enough for an until of 0 to be long ago.
func sinceStart() int64 { return int64(time.Since(started) + 2*mostDistrust) }

// has reports whether connections are kept, as far as is known.
func (t *trust) has() bool { return t.proofs.Load() >= proven }

// barred reports whether they were lately seen not to be.
func (t *trust) barred() bool { return t.until.Load() > sinceStart() }

// gain notes that a connection was kept.
func (t *trust) gain() {
	if !t.has() && !t.barred() { // else, as nearly always, nothing is written that others read
		t.proofs.Add(1)
	}
}

// lose notes that a connection was not kept.
func (t *trust) lose() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.proofs.Store(0)
	if t.barred() {
		return
	}
	now := sinceStart()
	if now-t.until.Load() > int64(mostDistrust) {
		t.lost = 0
	}
	t.until.Store(now + int64(min(distrust<<min(t.lost, 10), mostDistrust)))
	t.lost++
}

// How long a pooled connection may have been idle to be used again. Servers close them
// after 5 s and more (Node.js, uvicorn, llama-server), load balancers, in front of which TLS
// ends, after 60 s and more.
const idleMostPlain, idleMostTLS = 4 * time.Second, 55 * time.Second

// idleMost gives the bound for a connection whose upstream says that it keeps it for so
// long; 0 when it does not say.
func idleMost(keep time.Duration, encrypted bool) time.Duration {
	switch {
	case keep > 0:
		return keep - min(time.Second, keep/2)
	case encrypted:
		return idleMostTLS
	}
	return idleMostPlain
}

// keepAlive reads for how long an upstream says to keep the connection idle (Keep-Alive:
// timeout=5, max=100; RFC 2068, 19.7.1.1); 0 when it does not say.
func keepAlive(h http.Header) time.Duration {
	for _, value := range h["Keep-Alive"] {
		for parameter := range strings.SplitSeq(value, ",") {
			name, number, _ := strings.Cut(strings.TrimSpace(parameter), "=")
			if seconds, err := strconv.Atoi(number); err == nil && seconds > 0 && seconds < 1<<31 && strings.EqualFold(name, "timeout") {
				return time.Duration(seconds) * time.Second
			}
		}
	}
	return 0
}
