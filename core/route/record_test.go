package route_test

import (
	"reflect"
	"testing"

	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/core/call"
	"github.com/genway/genway/core/route"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/genway/genway/protocol/deferred"
)

// The record of a call names the route, the upstream that served it, and the model it was asked for.
func TestRecord(t *testing.T) {
	busy, good := &stub{name: "busy", err: fault.New(fault.Overloaded, "BUSY", "busy")}, &stub{name: "good"}
	first, second := target(busy, 0), target(good, 0)
	second.Model = "theirs"
	r := route.New([]route.Route{
		{Model: "m*", Targets: []route.Target{first}, Fallback: []route.Target{second}},
		{Model: "plain", Targets: []route.Target{target(good, 0)}},
	})
	for model, want := range map[string]*call.Record{
		"m1":    {Route: "m*", Upstream: "good", TargetModel: "theirs", Calls: 2},
		"plain": {Route: "plain", Upstream: "good", TargetModel: "plain", Calls: 1},
	} {
		record := &call.Record{}
		_, err := r.GenerateText(call.With(t.Context(), record), deferred.New(&genwayv1.GenerateTextRequest{Model: model}))
		got := &call.Record{Route: record.Route, Upstream: record.Upstream, TargetModel: record.TargetModel, Calls: record.Calls}
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v, %v, want %+v", model, got, err, want)
		}
		if calls := int64(len(record.Attempts)); calls != want.Calls || record.Attempts[calls-1].Upstream != want.Upstream {
			t.Errorf("%s: attempts %+v", model, record.Attempts)
		}
	}
}

// The record has what failed attempts used beside what the last did, with the upstream that used
// it: each has its own prices (case P4).
func TestSpent(t *testing.T) {
	failed := func(tokens int64) error {
		f := fault.New(fault.Unavailable, "X", "down")
		f.Usage = &genwayv1.Usage{InputTokens: tokens}
		return f
	}
	for _, streams := range []bool{false, true} {
		first, second, good := &stub{name: "first", err: failed(7)}, &stub{name: "second", err: failed(11)}, &stub{name: "good"}
		renamed := target(second, 0)
		renamed.Model = "theirs"
		r := route.New([]route.Route{{Model: "*", Targets: []route.Target{target(first, 0)}, Fallback: []route.Target{renamed, target(good, 0)}}})
		for range 2 {
			got := &call.Record{}
			err := askBoth(call.With(t.Context(), got), r, streams)
			spent := got.Spent
			if good.err == nil {
				if err != nil || len(spent) != 2 || spent[0].Upstream != "first" || spent[0].Model != "m" || spent[0].Usage.GetInputTokens() != 7 ||
					spent[1].Upstream != "second" || spent[1].Model != "theirs" || spent[1].Usage.GetInputTokens() != 11 {
					t.Errorf("streamed %v: %v, %+v", streams, err, spent)
				}
				good.err = failed(13)
				continue
			}
			// The last attempt's is in its error.
			if fault.From(err).Usage.GetInputTokens() != 13 || len(spent) != 2 || got.Calls != 3 {
				t.Errorf("streamed %v: %v, %+v", streams, err, got)
			}
		}
	}
}
