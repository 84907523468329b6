package core

import (
	"time"

	"github.com/genway/genway/core/call"
	"github.com/genway/genway/core/ledger"
)

// recount adds to the ledger's result what the request went through, and what it lost.
func recount(record *call.Record, r *ledger.Result) {
	attempts := record.Attempts
	if n := len(attempts); n > 0 {
		r.UpstreamProtocol = attempts[n-1].Protocol
	}
	r.Losses = lostMembers(record)
	since := func(at time.Time) time.Duration {
		if at.IsZero() {
			return 0
		}
		return max(at.Sub(record.Start), time.Microsecond)
	}
	var few [2]ledger.Attempt // on the stack
	t := ledger.Timeline{
		Admitted: record.AdmittedAfter, Settled: time.Since(record.Start), Attempts: few[:0],
		Limits: ledger.Stage(record.Limits), Route: ledger.Stage(record.Routing),
	}
	for i := range attempts[:min(len(attempts), ledger.MaxAttempts)] {
		a := &attempts[i]
		t.Attempts = append(t.Attempts, ledger.Attempt{
			Upstream: a.Upstream, Protocol: a.Protocol, Model: a.Model,
			Begin: since(a.Begin), Connected: since(a.Connected), Headers: since(a.Headers), FirstEvent: since(a.First), Released: since(a.Released), End: since(a.End),
			Calls: a.Calls, Status: a.Status, Kind: a.Kind, Reason: a.Reason,
		})
	}
	var room [256]byte
	r.Timeline = string(ledger.AppendTimeline(room[:0], &t, &ledger.Request{Model: record.AskedModel}, r))
}
