package route_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/core/call"
	"github.com/genway/genway/core/route"
	"github.com/genway/genway/core/upstream"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/genway/genway/protocol/deferred"
)

// paced begins its streams after a while, and ends them after another.
type paced struct {
	stub
	mu          sync.Mutex
	first, rest time.Duration
	fail        error
}

func (p *paced) set(first time.Duration, fail error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.first, p.fail = first, fail
}

func (p *paced) StreamGenerateText(ctx context.Context, asked *deferred.Request, send upstream.Send) error {
	req, err := asked.Whole()
	if err != nil {
		return err
	}
	p.called(ctx, req)
	p.mu.Lock()
	first, fail := p.first, p.fail
	p.mu.Unlock()
	time.Sleep(first) //nolint:forbidigo // synctest: the bubble's clock
	if fail != nil {
		return fail
	}
	if err := send(codec.Event(&genwayv1.TextStarted{Id: p.name})); err != nil {
		return err
	}
	time.Sleep(p.rest) //nolint:forbidigo // synctest: the bubble's clock
	return send(codec.Event(&genwayv1.TextCompleted{}))
}

func (p *paced) target(weight int) route.Target {
	return route.Target{Name: p.name, Upstream: p, Weight: weight, Guard: route.NewGuard(route.Limits{Retries: -1, BreakAfter: -1})}
}

// streams makes a request and returns who answered.
func streams(t *testing.T, r *route.Router, req *genwayv1.GenerateTextRequest) string {
	t.Helper()
	who := ""
	if err := r.StreamGenerateText(t.Context(), deferred.New(req), func(ev *genwayv1.StreamGenerateTextResponse) error {
		if s := ev.GetStarted(); s != nil {
			who = s.GetId()
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return who
}

// Twenty streams that stay open are shared so that none has more than its weight's share.
func TestLeastBusy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := &paced{stub: stub{name: "a"}, rest: time.Hour}, &paced{stub: stub{name: "b"}, rest: time.Hour}
		r := route.New([]route.Route{{Model: "*", Strategy: route.LeastBusy, Targets: []route.Target{a.target(1), b.target(3)}}})
		var open sync.WaitGroup
		for range 20 {
			open.Go(func() { streams(t, r, &genwayv1.GenerateTextRequest{Model: "m"}) })
			synctest.Wait()
		}
		if a.calls != 5 || b.calls != 15 {
			t.Errorf("a has %d, b %d", a.calls, b.calls)
		}
		open.Wait()
	})
}

func TestFastest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow, quick := &paced{stub: stub{name: "slow"}, first: 2 * time.Second}, &paced{stub: stub{name: "quick"}, first: 200 * time.Millisecond}
		r := route.New([]route.Route{{Model: "*", Strategy: route.Fastest, Targets: []route.Target{slow.target(0), quick.target(0)}}})
		ask := func(times int) (of map[string]int) {
			of = map[string]int{}
			for range times {
				of[streams(t, r, &genwayv1.GenerateTextRequest{Model: "m"})]++
				time.Sleep(100 * time.Millisecond) //nolint:forbidigo // synctest: the bubble's clock
			}
			return of
		}
		if got := ask(20); got["slow"] > 1 {
			t.Errorf("of 20, %d went to the slow one", got["slow"])
		}
		// It becomes slow: the other takes over after one answer.
		quick.set(5*time.Second, nil)
		slow.set(200*time.Millisecond, nil)
		time.Sleep(2 * time.Minute) //nolint:forbidigo // synctest: the bubble's clock; what is known has decayed: both are tried
		if got := ask(20); got["quick"] > 1 {
			t.Errorf("of 20, %d went to the one that became slow", got["quick"])
		}
		// One that refuses at once is not the fastest.
		slow.set(0, fault.New(fault.Unavailable, "X", "gone"))
		quick.set(time.Second, nil)
		before := slow.calls
		if got := ask(10); got["quick"] != 10 || slow.calls-before > 1 {
			t.Errorf("the one that fails was asked %d times, %v", slow.calls-before, got)
		}
	})
}

// Many at once go to both: calls under way count before the first answers.
func TestFastestAtTheStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := &paced{stub: stub{name: "a"}, first: time.Second}, &paced{stub: stub{name: "b"}, first: time.Second}
		r := route.New([]route.Route{{Model: "*", Strategy: route.Fastest, Targets: []route.Target{a.target(0), b.target(0)}}})
		var open sync.WaitGroup
		for range 20 {
			open.Go(func() { streams(t, r, &genwayv1.GenerateTextRequest{Model: "m"}) })
			synctest.Wait()
		}
		open.Wait()
		if a.calls != 10 || b.calls != 10 {
			t.Errorf("a has %d, b %d", a.calls, b.calls)
		}
	})
}

func TestSticky(t *testing.T) {
	stubs := map[string]*stub{}
	table := func(names ...string) *route.Router {
		var list []route.Target
		for _, name := range names {
			if stubs[name] == nil {
				stubs[name] = &stub{name: name}
			}
			list = append(list, target(stubs[name], 0))
		}
		return route.New([]route.Route{{Model: "*", Sticky: true, Targets: list}})
	}
	const sessions = 300
	where := func(r *route.Router) map[string]string {
		found := map[string]string{}
		for i := range sessions {
			key := fmt.Sprintf("session-%d", i)
			resp, err := r.GenerateText(t.Context(), deferred.New(&genwayv1.GenerateTextRequest{Model: "m", PromptCacheKey: key}))
			if err != nil {
				t.Fatal(err)
			}
			found[key] = resp.GetId()
		}
		return found
	}
	three := table("a", "b", "c")
	first := where(three)
	share := map[string]int{}
	for key, at := range first {
		share[at]++
		header := &genwayv1.GenerateTextRequest{Model: "m", Wire: &genwayv1.WireMessage{Headers: map[string]string{"session-id": key}}}
		if resp, err := three.GenerateText(t.Context(), deferred.New(header)); err != nil || resp.GetId() != at {
			t.Fatalf("the session's header goes to %s, its key to %s: %v", resp.GetId(), at, err)
		}
	}
	for _, name := range []string{"a", "b", "c"} {
		if share[name] < sessions/5 {
			t.Errorf("%s has %d of %d sessions", name, share[name], sessions)
		}
	}
	if fmt.Sprint(where(three)) != fmt.Sprint(first) {
		t.Error("sessions move")
	}
	// A fourth takes some and moves no others.
	moved := 0
	for key, at := range where(table("c", "a", "d", "b")) {
		if at != first[key] {
			if moved++; at != "d" {
				t.Errorf("%s moved from %s to %s", key, first[key], at)
			}
		}
	}
	if moved < sessions/8 || moved > sessions*3/8 {
		t.Errorf("%d of %d sessions moved", moved, sessions)
	}
	// One that fails hands its sessions to both others; they come back.
	stubs["a"].err = fault.New(fault.Unavailable, "X", "gone")
	others := map[string]int{}
	for key, at := range where(three) {
		if first[key] == "a" {
			others[at]++
		} else if at != first[key] {
			t.Errorf("%s moved from %s to %s", key, first[key], at)
		}
	}
	if others["b"] == 0 || others["c"] == 0 || others["a"] != 0 {
		t.Errorf("those of a went to %v", others)
	}
	stubs["a"].err = nil
	if fmt.Sprint(where(three)) != fmt.Sprint(first) {
		t.Error("sessions do not come back")
	}
	// Without a session nothing sticks.
	free := map[string]bool{}
	for range 100 {
		name, _ := ask(three, 0, "m")
		free[name] = true
	}
	if len(free) != 3 {
		t.Errorf("requests of no session went to %v", free)
	}
}

// account is a stub whose signatures only it can read.
type account struct{ stub }

func (a *account) Account() string { return a.name }

// Where a vendor's own bytes say nothing of the account, the turns of a conversation go to the account that signed its
// first signed turn, however the client spells them; conversations are shared by weight. Any other request goes by the strategy.
func TestBeginning(t *testing.T) {
	const messages, contents = genwayv1.Protocol_PROTOCOL_MESSAGES, genwayv1.Protocol_PROTOCOL_GENERATE_CONTENT
	table := func(protocol genwayv1.Protocol, sticky bool) *route.Router {
		var list []route.Target
		for i, name := range []string{"a", "b", "c"} {
			list = append(list, route.Target{Name: name, Upstream: &account{stub{name: name}}, Protocol: protocol, Weight: 1 + i})
		}
		one := route.Route{Model: "*", Targets: list}
		one.Sticky = sticky && one.SeveralAccounts()
		return route.New([]route.Route{one})
	}
	ask := func(r *route.Router, protocol genwayv1.Protocol, body string) string {
		resp, err := r.GenerateText(t.Context(), deferred.New(&genwayv1.GenerateTextRequest{Model: "m", Wire: &genwayv1.WireMessage{Protocol: protocol, Json: []byte(body)}}))
		if err != nil {
			t.Fatal(err)
		}
		return resp.GetId()
	}
	for protocol, turns := range map[genwayv1.Protocol][]string{
		messages: {
			`{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"hi %d"}]}`,
			`{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"hi %d"},{"role":"assistant","content":[{"type":"thinking","thinking":"?","signature":"x"},{"type":"text","text":"yes"}]},{"role":"user","content":"and?"}]}`,
			`{"model":"m","system":"s","messages":[{"content":[{"cache_control":{"type":"ephemeral"},"type":"text","text":"hi %d"}],"role":"user"},{"role":"assistant","content":[{"type":"redacted_thinking","data":"y"}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":"22"}]}],"max_tokens":7}`,
		},
		contents: {
			`{"contents":[{"role":"user","parts":[{"text":"hi %d"}]}]}`,
			`{"contents":[{"role":"user","parts":[{"text":"hi %d"}]},{"role":"model","parts":[{"thoughtSignature":"x","functionCall":{"name":"f"}}]},{"role":"user","parts":[{"text":"and?"}]}]}`,
			`{"contents":[{"parts":[{"text":"hi %d"}],"role":"user"},{"role":"model","parts":[{"text":"yes","thought_signature":"x"}]},{"role":"user","parts":[{"text":"and?"}]}],"systemInstruction":{}}`,
		},
	} {
		sticks, share := table(protocol, true), map[string]int{}
		for n := range 300 {
			first := ask(sticks, protocol, fmt.Sprintf(turns[0], n))
			share[first]++
			for _, turn := range turns {
				if got := ask(sticks, protocol, fmt.Sprintf(turn, n)); got != first {
					t.Fatalf("%v: %s goes to %s, and %s made its signature", protocol, turn, got, first)
				}
			}
		}
		if share["a"] < 25 || share["a"] > 75 || share["c"] < 110 || share["c"] > 190 {
			t.Errorf("%v: weights 1, 2 and 3 are %v of 300", protocol, share)
		}
		textless := `{"model":"m","max_tokens":9,"messages":[{"role":"user","content":[{"type":"image","source":{"type":"url","url":"https://x/y"}}]}],
			"contents":[{"role":"user","parts":[{"fileData":{"fileUri":"gs://x/y","mimeType":"image/png"}}]}]}`
		for _, free := range []struct {
			r    *route.Router
			body string
		}{{table(protocol, false), fmt.Sprintf(turns[0], 1)}, {sticks, textless}} {
			went := map[string]bool{}
			for range 100 {
				went[ask(free.r, protocol, free.body)] = true
			}
			if len(went) != 3 {
				t.Errorf("%v: all of %s go to %v", protocol, free.body, went)
			}
		}
		for _, body := range []string{``, `{`, `[]`, `{"messages":7,"contents":{}}`, `{"messages":[[[]],null,"text"],"contents":[7]}`, turns[2][:40], turns[1][:len(turns[1])-9]} {
			_, _ = sticks.GenerateText(t.Context(), deferred.New(&genwayv1.GenerateTextRequest{Model: "m", Wire: &genwayv1.WireMessage{Protocol: protocol, Json: []byte(body)}}))
		}
	}
}

// What continues a response goes to the upstream that made it, also one that is a fallback, and to the others only when that one fails.
func TestContinuedWhereItWasMade(t *testing.T) {
	of := func(name string, weight int) route.Target {
		return route.Target{Name: name, Upstream: &account{stub{name: name}}, Protocol: genwayv1.Protocol_PROTOCOL_RESPONSES, Weight: weight}
	}
	r := route.New([]route.Route{{Model: "*", Targets: []route.Target{of("a", 1000), of("b", 1)}, Fallback: []route.Target{of("c", 1)}}})
	for _, made := range []string{"a", "b", "c"} {
		for range 20 {
			ctx := call.With(t.Context(), &call.Record{MadeBy: made})
			resp, err := r.GenerateText(ctx, deferred.New(&genwayv1.GenerateTextRequest{Model: "m"}))
			if err != nil || resp.GetId() != made || call.Of(ctx).Account != made {
				t.Fatalf("what %s made goes to %s (%v), account %s", made, resp.GetId(), err, call.Of(ctx).Account)
			}
		}
	}
}

// Stored answers what it is asked.
func (a *account) Stored(_ context.Context, about upstream.Stored) ([]byte, error) {
	return []byte(a.name + " " + about.Method + " " + about.ID), nil
}

// What is asked about an answer goes to the upstream of the account that stores it, also one that is a fallback.
func TestStoredWhereItWasMade(t *testing.T) {
	of := func(name string) []route.Target {
		return []route.Target{{Name: name, Upstream: &account{stub{name: name}}}}
	}
	r := route.New([]route.Route{{Model: "a", Targets: of("a")}, {Model: "b", Targets: of("b"), Fallback: of("c")}})
	for _, made := range []string{"a", "b", "c"} {
		if body, known, err := r.Stored(t.Context(), made, upstream.Stored{Method: "GET", ID: "x"}); string(body) != made+" GET x" || !known || err != nil {
			t.Errorf("%s: %s %t %v", made, body, known, err)
		}
	}
	if _, known, err := r.Stored(t.Context(), "d", upstream.Stored{}); known || err != nil {
		t.Errorf("an upstream that there is not: %t, %v", known, err)
	}
}

// A route has several accounts if two targets of one protocol do; a protocol whose seals every account reads has none.
func TestSeveralAccounts(t *testing.T) {
	of := func(protocol genwayv1.Protocol, name string) route.Target {
		return route.Target{Protocol: protocol, Upstream: &account{stub{name: name}}}
	}
	const messages, responses = genwayv1.Protocol_PROTOCOL_MESSAGES, genwayv1.Protocol_PROTOCOL_RESPONSES
	for _, c := range []struct {
		targets, fallback []route.Target
		several           bool
	}{
		{nil, nil, false},
		{[]route.Target{of(messages, "a")}, nil, false},
		{[]route.Target{of(messages, "a"), of(messages, "a")}, nil, false},
		{[]route.Target{of(messages, "a"), of(responses, "b")}, nil, false},
		{[]route.Target{of(messages, ""), of(messages, "")}, nil, false},
		{[]route.Target{of(messages, "a"), of(messages, "b")}, nil, true},
		{[]route.Target{of(messages, "a"), of(responses, "b")}, []route.Target{of(responses, "c")}, true},
	} {
		if one := (&route.Route{Targets: c.targets, Fallback: c.fallback}); one.SeveralAccounts() != c.several {
			t.Errorf("%v", c)
		}
	}
}
