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

// trust records whether an upstream keeps its connections open after answers of one kind. The zero
// value has no observations.
type trust struct {
	// proofs counts the connections that it kept, since it last closed one.
	proofs atomic.Int32

	mu sync.Mutex
	// lost counts the connections in a row that it closed. It is not trusted before until, a time of
	// sinceStart, which is twice as far in the future with each of them.
	lost  int
	until atomic.Int64
}

const (
	// proven is the number of proofs from which on an upstream is trusted.
	proven = 3
	// settles is how long after an answer a connection is watched before it is used again, or is not
	// used, while there is no trust. young is the time after an answer within which a close counts
	// against the trust.
	settles, young = 50 * time.Millisecond, time.Second
	// An upstream that closed a connection after an answer is not trusted for distrust at first, and
	// for maxDistrust at most.
	distrust, maxDistrust = 10 * time.Second, 10 * time.Minute
)

// started is the time at which the program started.
var started = time.Now()

// sinceStart gives the monotonic time since the start of the program in nanoseconds. It begins at
// twice maxDistrust, so that an until of 0 is long past.
func sinceStart() int64 { return int64(time.Since(started) + 2*maxDistrust) }

// has reports whether the upstream is trusted to keep connections.
func (t *trust) has() bool { return t.proofs.Load() >= proven }

// barred reports whether it has lately closed one.
func (t *trust) barred() bool { return t.until.Load() > sinceStart() }

// gain notes that a connection was kept.
func (t *trust) gain() {
	if !t.has() && !t.barred() { // mostly nothing is written, which other processors would have to read again
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
	if now-t.until.Load() > int64(maxDistrust) {
		t.lost = 0
	}
	t.until.Store(now + int64(min(distrust<<min(t.lost, 10), maxDistrust)))
	t.lost++
}

// The longest time that a pooled connection may have been idle to be used again. Servers close idle
// connections after 5 s and more (Node.js, uvicorn, llama-server), load balancers that terminate TLS
// after 60 s and more.
const maxIdlePlain, maxIdleTLS = 4 * time.Second, 55 * time.Second

// maxIdle gives that time for a connection. keep is the time that the upstream has announced; 0 if it
// has not.
func maxIdle(keep time.Duration, encrypted bool) time.Duration {
	switch {
	case keep > 0:
		return keep - min(time.Second, keep/2)
	case encrypted:
		return maxIdleTLS
	}
	return maxIdlePlain
}

// keepAlive reads how long an upstream keeps an idle connection (Keep-Alive: timeout=5, max=100;
// RFC 2068, 19.7.1.1); 0 if it does not say.
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
