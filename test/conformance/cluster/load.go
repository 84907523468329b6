package cluster

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/genway/genway/test/conformance/caller"
	"github.com/genway/genway/test/conformance/vendors"
)

// asked is one request, and what its caller saw.
type asked struct {
	n            int
	protocol     string
	drip         bool // a stream that lasts
	budget       int  // the phase whose budget pays for it, counted from 1; 0 for none
	begun, ended time.Time
	kind         string
	detail       string // of a failure
}

// load makes requests at a rate, and keeps a number of streams open.
type load struct {
	client  *caller.Client
	keys    map[string]string // by group
	rate    int
	streams int

	next    atomic.Int64
	open    atomic.Int64 // streams
	running sync.WaitGroup
	mu      sync.Mutex
	asked   []asked
}

// answerWithin is how long a caller waits.
const answerWithin = time.Minute

// begin makes requests until ctx ends, when nothing new is begun.
func (l *load) begin(ctx context.Context) {
	l.running.Go(func() {
		l.paced(ctx, float64(l.rate), func(n int) {
			protocol := caller.Text()[n%len(caller.Text())]
			l.do(ctx, caller.Call{Protocol: protocol, Stream: n/len(caller.Text())%2 == 1, Key: l.keys[caller.Group(protocol)], Model: vendors.Model(vendors.Answer, "cancel-own", n)}, asked{n: n})
		})
	})
	for range l.streams {
		l.running.Go(func() {
			for ctx.Err() == nil {
				n := int(l.next.Add(1))
				protocol := caller.Text()[n%len(caller.Text())]
				l.open.Add(1)
				l.do(ctx, caller.Call{Protocol: protocol, Stream: true, Key: l.keys[caller.Group(protocol)], Model: vendors.Model(vendors.Drip, "cancel-own", n)}, asked{n: n, drip: true})
				l.open.Add(-1)
			}
		})
	}
}

// paced begins something at a rate until ctx ends, whatever becomes of it, and waits for all.
func (l *load) paced(ctx context.Context, rate float64, do func(n int)) {
	var running sync.WaitGroup
	defer running.Wait()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for begun, done := time.Now(), 0; ; {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		for due := int(time.Since(begun).Seconds() * rate); done < due; done++ {
			running.Go(func() { do(int(l.next.Add(1))) })
		}
	}
}

// budgetedAs is how the vendors answer the calls that budgets pay for.
const budgetedAs = "cancel-own"

// budgeted is the call that a budget pays for. It may cost reserved at most.
func budgeted(key string, n int) caller.Call {
	return caller.Call{Protocol: "chat", Key: key, Model: vendors.Model(vendors.Answer, budgetedAs, n), MaxTokens: 128}
}

// do makes a request and notes what came of it.
func (l *load) do(ctx context.Context, call caller.Call, a asked) caller.Seen {
	// What was begun is ended, also when nothing new is begun any more.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), answerWithin)
	defer cancel()
	a.protocol, a.begun = call.Protocol, time.Now()
	seen, err := l.client.Do(ctx, call)
	a.ended, a.kind = time.Now(), judge(call, seen, err)
	if a.kind != whole {
		a.detail = seen.Header.Get("X-Request-ID") + " " + seen.Body[max(0, len(seen.Body)-300):]
		if err != nil {
			a.detail = err.Error()
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.asked = append(l.asked, a)
	return seen
}

// all are the requests so far.
func (l *load) all() []asked {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]asked(nil), l.asked...)
}
