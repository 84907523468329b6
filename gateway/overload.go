package gateway

import (
	"context"
	"crypto/sha256"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/internal/overload"
	"google.golang.org/grpc/metadata"
)

// admit refuses a request before its body is read, when this process is overloaded, when the
// budget of bodies is nearly used up, or when the core refuses requests.
func (e *Edge) admit(ctx context.Context, x *exchange) error {
	gate := e.config.Gate
	x.priority = e.batch.priorityOf(x)
	if err := gate.Admit(ctx, x.priority); err != nil {
		return err
	}
	if x.priority == overload.Batch && e.bodies.crowded() {
		return gate.Refuse(overload.Bodies, x.priority)
	}
	if !e.throttle.admit(x.priority) {
		return gate.Refuse(overload.Core, x.priority)
	}
	return nil
}

// shed answers with a refusal. It keeps the connection open if the body is small, since a new
// connection costs both sides more than a refusal. With a larger body it closes it. The gate
// holds the answer back while refusals take too much of the processor.
func (x *exchange) shed(r *http.Request, gate *overload.Gate, err error) {
	x.refused = true
	if !x.w.bodyRead && readsBeforeKey(r) {
		x.w.readDeadline(unreadBody)
		if n, _ := io.Copy(io.Discard, io.LimitReader(r.Body, freeBody)); n == r.ContentLength {
			x.w.bodyRead = true
			x.w.readDeadline(0)
		}
	}
	gate.Hold(r.Context(), x.start)
	x.fail(err)
}

// settle reports the result of a forwarded request to the throttle. The result says whether
// the edge or the core refused the request because of an overload. Such requests do not get
// a log line each.
func (e *Edge) settle(x *exchange) (refused bool) {
	if x.refused {
		return true
	}
	if x.fault == nil || x.fault.Kind != fault.Overloaded {
		return false
	}
	switch x.fault.Reason {
	case fault.ReasonUpstreamBusy:
		return true
	case fault.ReasonOverloaded:
		e.throttle.refuse(x.priority)
		return true
	}
	return false
}

// priorityKey is metadata in both directions. A core sends an edge a key's priority unless it
// is the default. An edge sends it back to a core in the same process once it knows it.
const priorityKey = "genway-priority"

// batchKeys remembers the keys with batch priority, whose requests are refused first. An edge
// has no keys and learns their priorities from the core's answers.
type batchKeys struct {
	count atomic.Int64 // of until; while it is 0 no key is looked up
	mu    sync.Mutex
	until map[[sha256.Size]byte]time.Time
}

const batchFor = time.Minute

func (b *batchKeys) priorityOf(x *exchange) overload.Priority {
	if b.count.Load() == 0 {
		return overload.Interactive
	}
	who := accessKeyOf(x)
	b.mu.Lock()
	defer b.mu.Unlock()
	if time.Now().Before(b.until[who]) {
		return overload.Batch
	}
	return overload.Interactive
}

// learn stores the priority that the core has sent for the key of a request.
func (b *batchKeys) learn(x *exchange, md metadata.MD) {
	sent := md[priorityKey]
	isBatch := len(sent) > 0 && sent[0] == overload.Batch.String()
	if !isBatch && (b.count.Load() == 0 || len(md[keyKey]) == 0) {
		return
	}
	who := accessKeyOf(x)
	b.mu.Lock()
	defer b.mu.Unlock()
	if isBatch {
		if b.until == nil || len(b.until) >= mostAccepted {
			b.until = map[[sha256.Size]byte]time.Time{}
		}
		b.until[who] = time.Now().Add(batchFor)
	} else {
		delete(b.until, who)
	}
	b.count.Store(int64(len(b.until)))
}
