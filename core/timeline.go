package core

import (
	"strings"
	"time"

	"github.com/genway/genway/core/ledger"
)

// traceID gives the identifier of the call's trace; empty for none.
func (o *outcome) traceID() string {
	if o.trace == "" && o.span.IsValid() {
		o.trace = o.span.TraceID().String()
	}
	return o.trace
}

// lostMembers gives the members that were lost, separated by commas.
func (o *outcome) lostMembers() string { return strings.Join(o.losses, ",") }

// recount adds to the ledger's result what the request went through, and what it lost.
func (o *outcome) recount(model string, r *ledger.Result) {
	attempts := o.served.Attempts
	if n := len(attempts); n > 0 {
		r.UpstreamProtocol = attempts[n-1].Protocol
	}
	r.Losses = o.lostMembers()
	since := func(at time.Time) time.Duration {
		if at.IsZero() {
			return 0
		}
		return max(at.Sub(o.start), time.Microsecond)
	}
	var few [2]ledger.Attempt // on the stack
	t := ledger.Timeline{Admitted: o.admitted, Settled: time.Since(o.start), Attempts: few[:0]}
	for i := range attempts[:min(len(attempts), ledger.MaxAttempts)] {
		a := &attempts[i]
		t.Attempts = append(t.Attempts, ledger.Attempt{
			Upstream: a.Upstream, Protocol: a.Protocol, Model: a.Model,
			Begin: since(a.Begin), Connected: since(a.Connected), Headers: since(a.Headers), FirstEvent: since(a.First), Released: since(a.Released), End: since(a.End),
			Calls: a.Calls, Status: a.Status, Kind: a.Kind, Reason: a.Reason,
		})
	}
	var room [256]byte
	r.Timeline = string(ledger.AppendTimeline(room[:0], &t, &ledger.Request{Model: model}, r))
}
