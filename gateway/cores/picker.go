package cores

import (
	"sync/atomic"

	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// choice is a core that is ready.
type choice struct {
	connection balancer.Picker
	core       *core
}

// picker chooses among the cores that are ready.
type picker struct {
	ready []choice
	turn  atomic.Uint32
	all   announcer
}

// takeDeferred reports whether all ready cores have announced that they take deferred bodies.
func (p *picker) takeDeferred() bool {
	for _, c := range p.ready {
		if one, ok := c.connection.(*connection); !ok || !one.takesDeferred.Load() {
			return false
		}
	}
	return true
}

// errNoOther is why a refused call is not sent to another core.
var errNoOther = status.Error(codes.Unavailable, "cores: no other core is ready")

// Pick chooses the core with the fewest calls in flight; of several such the next one in turn.
// Ejected cores are left out, unless more than half of those that are ready are ejected: then
// the failure is not theirs, and the rest would get too many calls.
func (p *picker) Pick(info balancer.PickInfo) (balancer.PickResult, error) {
	note(info.Ctx, &p.all)
	call := callOf(info.Ctx)
	n := len(p.ready)
	var best, bestOfAll *choice
	kept, start := 0, int(p.turn.Add(1))
	for i := range n {
		c := &p.ready[(start+i)%n]
		takes := c.core.takesCalls()
		if takes {
			kept++
		}
		if call.refusedBy(c.core) {
			continue
		}
		if bestOfAll == nil || c.core.inFlight.Load() < bestOfAll.core.inFlight.Load() {
			bestOfAll = c
		}
		if takes && (best == nil || c.core.inFlight.Load() < best.core.inFlight.Load()) {
			best = c
		}
	}
	if best == nil || 2*kept < n {
		best = bestOfAll
	}
	if best == nil {
		return balancer.PickResult{}, errNoOther
	}
	result, err := best.connection.Pick(info)
	if err != nil {
		return result, err
	}
	chosen, then := best.core, result.Done
	chosen.inFlight.Add(1)
	call.sentTo(chosen)
	result.Done = func(info balancer.DoneInfo) {
		chosen.inFlight.Add(-1)
		refusal := refusalOf(info.Trailer)
		call.ended(refusal)
		chosen.judge(verdictOf(info, refusal), info.Err)
		if then != nil {
			then(info)
		}
	}
	return result, nil
}

// verdictOf says what the end of a call says of its core. An error with details is the
// core's own answer, about the request or an upstream; one without comes from gRPC or from
// through any proxy between. Only the edge sets deadlines, for short calls. A call that never
// got a connection says nothing: gRPC knows about connections.
func verdictOf(info balancer.DoneInfo, refused refusal) verdict {
	switch {
	case refused == refusedUnavailable:
		return bad
	case info.Err == nil || refused != notRefused:
		return good
	}
	st := status.Convert(info.Err)
	if len(st.Proto().GetDetails()) > 0 {
		return good
	}
	switch st.Code() { //nolint:exhaustive // the caller left, or the message is at fault
	case codes.Unavailable, codes.Internal, codes.Unknown:
		if info.BytesSent {
			return bad
		}
	case codes.DeadlineExceeded:
		if !info.BytesReceived {
			return bad
		}
	}
	return unknown
}
