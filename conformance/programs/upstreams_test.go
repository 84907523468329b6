package programs

import (
	"context"
	"testing"

	"github.com/genway/genway/conformance/caller"
	"github.com/genway/genway/conformance/server"
	"github.com/genway/genway/conformance/vendors"
)

// leaversPay lets callers leave before the answer and in its middle.
func leaversPay(t *testing.T, on stores) {
	on.each(t, func(t *testing.T, data string) {
		r := start(t, server.Options{Data: data}, "")
		n := 0
		for _, protocol := range protocols() {
			for _, stream := range []bool{false, true} {
				for _, do := range []string{vendors.LeaveFirst, vendors.LeaveMiddle} {
					for _, policy := range []string{"drain", "cancel"} {
						n++
						ctx, leave := context.WithCancel(t.Context())
						r.vendors.Leave = func(int) { leave() }
						call := caller.Call{Protocol: protocol, Stream: stream, Model: vendors.Model(do, policy+"-own", n), Key: r.Keys[caller.Group(protocol)]}
						seen, _ := r.client.Do(ctx, call) // whose error is the caller's own
						row := r.row(t, n)
						input, output := vendors.Tokens(n)
						switch answered := r.vendors.Answered(n); {
						case answered.Calls != 1 || row.Attempts != 1:
							t.Errorf("%+v: the upstream was asked %d times, the row is %+v", call, answered.Calls, row)
						case policy == "drain" && (!answered.Whole || row.Input != input || row.Output != output):
							t.Errorf("%+v: the upstream was read to its end (%t) for %d and %d tokens; the row is %+v", call, answered.Whole, input, output, row)
						case policy == "cancel" && (answered.Whole || row.Outcome != "cancelled" || row.Input > input || row.Output > output):
							t.Errorf("%+v: seen %+v; the row is %+v", call, seen, row)
						}
					}
				}
			}
		}
		if stayed := r.vendors.Stayed(); len(stayed) > 0 {
			t.Errorf("these were not left: %v", stayed)
		}
	})
}

// fallbackPays has the first upstream break, so that the second answers.
func fallbackPays(t *testing.T, on stores) {
	on.each(t, func(t *testing.T, data string) {
		r := start(t, server.Options{Data: data}, "")
		n := 0
		for _, protocol := range protocols() {
			for _, stream := range []bool{false, true} {
				n++
				seen := r.call(t, caller.Call{Protocol: protocol, Stream: stream, Model: vendors.Model(vendors.BrokenChat, "fallback", n)})
				row := r.row(t, n)
				input, output := vendors.Tokens(n)
				if !seen.Whole || row.Outcome != "ok" || row.Upstream != "drain-messages" || row.Attempts != 3 || // one was a retry
					row.Input != input || row.Output != output || row.Cost != vendors.Cost(input, output) {
					t.Errorf("%s, streamed %t: %+v\n%+v", protocol, stream, seen, row)
				}
			}
		}
	})
}

// createdPays has the upstream answer with 201.
func createdPays(t *testing.T, on stores) {
	on.each(t, func(t *testing.T, data string) {
		r := start(t, server.Options{Data: data}, "")
		n := 0
		for _, protocol := range protocols() {
			for _, stream := range []bool{false, true} {
				n++
				seen := r.call(t, caller.Call{Protocol: protocol, Stream: stream, Model: vendors.Model(vendors.Created, "cancel-own", n)})
				row := r.row(t, n)
				if input, output := vendors.Tokens(n); !seen.Whole || row.Outcome != "ok" || row.Input != input || row.Output != output || row.Attempts != 1 {
					t.Errorf("%s, streamed %t: %+v\n%+v", protocol, stream, seen, row)
				}
			}
		}
	})
}
