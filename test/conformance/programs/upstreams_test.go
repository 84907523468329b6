package programs

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/genway/genway/test/conformance/caller"
	"github.com/genway/genway/test/conformance/server"
	"github.com/genway/genway/test/conformance/vendors"
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
						case policy == "cancel" && (answered.Whole || row.Outcome != "cancelled" || row.Source == "" && (row.Input > input || row.Output > output) || row.Input == 0):
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

// brokenOffPays has streams break off, and looks how much of a budget is left then, and after a restart.
func brokenOffPays(t *testing.T, on stores) {
	on.each(t, func(t *testing.T, data string) {
		more, cores := "", 1
		if strings.HasPrefix(data, "postgres://") {
			more, cores = "limits: {store: \""+server.StartRedis(t).URL(t)+"\", timeout: 10s}\n", 2
		}
		const budget = 20_000_000
		poor := map[string]string{}
		for _, group := range server.Groups() {
			key, err := server.CreateKey(data, group, "poor", "--owner", "poor-"+group, "--budget-day", dollars(budget), "--budget-month", dollars(2*budget))
			if err != nil {
				t.Fatal(err)
			}
			poor[group] = key
		}
		spent := map[string]int64{}
		n, keys := 0, map[string]string(nil)
		for range 2 {
			var all []*rig
			for range cores {
				all = append(all, start(t, server.Options{Data: data, Keys: keys}, more))
				keys = all[0].Keys
			}
			for _, protocol := range protocols() {
				group := caller.Group(protocol)
				for _, do := range []string{vendors.Cut, vendors.LeaveMiddle} {
					n++
					r := all[n%cores]
					ctx, leave := context.WithCancel(t.Context())
					r.vendors.Leave = func(int) { leave() }
					_, _ = r.client.Do(ctx, caller.Call{Protocol: protocol, Stream: true, Model: vendors.Model(do, "cancel-own", n), Key: poor[group], MaxTokens: 64}) // whose error is the caller's own
					leave()
					row := r.row(t, n)
					if row.Input == 0 || do == vendors.Cut && (row.Source != "estimated" || row.Output == 0) || row.Cost != vendors.Cost(row.Input, row.Output) {
						t.Errorf("%s, %s: %+v", protocol, do, row)
					}
					spent[group] += row.Cost
				}
				// All cores know what is left: what a token out costs is more than the prompt may.
				for i, r := range all {
					left := (budget - spent[group]) / vendors.Cost(0, 1)
					for above, refused := range map[int64]bool{1: true, -60: false} {
						n++
						seen := r.call(t, caller.Call{Protocol: protocol, Model: vendors.Model(vendors.Broken, "cancel-own", n), Key: poor[group], MaxTokens: int(left + above)})
						if got := seen.Status == http.StatusTooManyRequests || strings.Contains(seen.Body, "ResourceExhausted"); got != refused {
							t.Errorf("%s, core %d, %d tokens above what is left: %d %s", protocol, i, above, seen.Status, seen.Body)
						}
					}
				}
			}
			for _, r := range all {
				if err := r.Stop(); err != nil {
					t.Error(err)
				}
			}
		}
		if out, err := server.Output("genway", append([]string{"ledger", "check"}, server.At(data)...)...); err != nil {
			t.Errorf("%v\n%s", err, out)
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

// failures counts what a test is told.
type failures struct {
	testing.TB
	told []string
}

func (f *failures) Errorf(format string, values ...any) {
	f.told = append(f.told, fmt.Sprintf(format, values...))
}

// The fake vendors fail a test for a body that the protocol's vendor refuses, and for no other.
func TestVendorsJudge(t *testing.T) {
	t.Parallel()
	f := &failures{TB: t}
	s := vendors.Start(f)
	for body, says := range map[string]string{
		`{"model":"answer-1","max_tokens":9,"messages":[{"role":"user","content":"hi"}]}`:                                "",
		`{"model":"answer-2","messages":[{"role":"user","content":"hi"}]}`:                                               "max_tokens is required",
		`{"model":"answer-3","max_tokens":9,"messages":[{"role":"user","content":[{"type":"text","text":" "}]}]}`:        "a text is not blank",
		`{"model":"answer-4","max_tokens":9,"temperature":1,"top_p":1,"messages":[{"role":"user","content":"a model"}]}`: "",
	} {
		f.told = nil
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL+"/v1/messages", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if all := strings.Join(f.told, "\n"); !strings.Contains(all, says) || says == "" && all != "" {
			t.Errorf("%s: %q", body, all)
		}
	}
}
