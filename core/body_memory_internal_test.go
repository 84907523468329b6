package core

import (
	"errors"
	"testing"

	"github.com/genway/genway/core/call"
	"github.com/genway/genway/core/capture"
	"github.com/genway/genway/internal/arena"
)

// The memory of a body is given back where all who have seen the body are done with it, and nowhere else.
func TestReleaseBody(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*call.Record)
		err    error
		given  bool
	}{
		"all is sent":                  {given: true},
		"after a retry":                {change: func(r *call.Record) { r.Calls, r.BodySent = 3, 3 }, given: true},
		"the call failed":              {err: errors.New("no")},
		"the body is decoded":          {change: func(r *call.Record) { r.BodyUnreferenced = false }},
		"the body is captured":         {change: func(r *call.Record) { r.Capture = new(capture.Capture) }},
		"the caller has left":          {change: func(r *call.Record) { r.CallerLeft = true }},
		"a retry may still be sent":    {change: func(r *call.Record) { r.Calls = 2 }},
		"an adapter that says not":     {change: func(r *call.Record) { r.BodySent = 0 }},
		"no upstream was called":       {change: func(r *call.Record) { r.Calls, r.BodySent = 0, 0 }},
		"the memory is another call's": {change: func(r *call.Record) { r.Body = nil }},
	} {
		memory := arena.NewBody()
		memory.Make(arena.Least)
		record := &call.Record{Body: memory, BodyUnreferenced: true, Calls: 1, BodySent: 1}
		if c.change != nil {
			c.change(record)
		}
		if releaseBody(record, c.err); memory.Used() == c.given {
			t.Errorf("%s: given back: %v", name, !c.given)
		}
	}
}
