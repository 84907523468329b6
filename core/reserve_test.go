package core_test

import (
	"fmt"
	"math"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/codec/responses"
	"github.com/genway/genway/core"
	"github.com/genway/genway/core/call"
	"github.com/genway/genway/core/catalog"
	"github.com/genway/genway/core/keys"
	"github.com/genway/genway/core/limit"
	"github.com/genway/genway/core/override"
	"github.com/genway/genway/core/route"
	"github.com/genway/genway/core/upstream"
	edgev1 "github.com/genway/genway/gen/genway/edge/v1"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"google.golang.org/protobuf/proto"
)

// input is what a test's request puts in, as estimated.
const input = 5

// stopped is a clock that does not move: nothing of a minute passes.
func stopped() func() time.Time {
	now := time.Now()
	return func() time.Time { return now }
}

// A request reserves exactly so much: one nano-dollar less in the budget refuses it, and
// one token less a minute.
func TestReservations(t *testing.T) {
	targets := map[string][]string{"cheap first": {"m", "triple"}, "dear first": {"triple", "m"}, "one of them unpriced": {"m", "unpriced"}}
	for _, c := range []struct {
		name         string
		model        string
		most         *int64
		candidates   int32
		tokens, cost int64
	}{
		{"the output that it asks for", "m", new(int64(100)), 0, input + 100, input + 100},
		{"none", "m", new(int64(0)), 0, input, input},
		{"what the rules say where it asks for none", "m", nil, 0, input + 700, input + 700},
		{"the output of all candidates", "m", new(int64(100)), 4, input + 400, input + 400},
		{"what the rules say for each candidate", "m", nil, 3, input + 2100, input + 2100},
		{"by the dearest target, which comes last", "cheap first", new(int64(100)), 0, input + 100, 3 * (input + 100)},
		{"by the dearest target, which comes first", "dear first", new(int64(100)), 0, input + 100, 3 * (input + 100)},
	} {
		t.Run(c.name, func(t *testing.T) {
			const budget = 100_000
			l := serveLimited(t, keys.Policy{Limits: limit.Limits{Budgets: []limit.Budget{{Amount: budget, Period: limit.Day}}}}, limit.Rules{OutputTokens: 700})
			l.targets = targets
			req := request()
			req.Model, req.MaxOutputTokens = c.model, c.most
			if c.candidates > 0 {
				req.Sampling = &genwayv1.Sampling{CandidateCount: &c.candidates}
			}
			l.memory.Seed(limit.Key, "key_a", limit.Day, time.Now(), budget-c.cost+1)
			if _, err := l.client.GenerateText(asKey(t), req); err == nil || detail(t, err).GetReason() != core.ReasonBudget {
				t.Errorf("with a nano-dollar too little: %v", err)
			}
			l.memory.Seed(limit.Key, "key_a", limit.Day, time.Now(), budget-c.cost)
			if _, err := l.client.GenerateText(asKey(t), req); err != nil {
				t.Errorf("with just enough money: %v", err)
			}
			// Another takes the rest of the minute, or a token more.
			for more, reason := range map[int64]string{1: limit.Kinds[limit.Tokens].Reason, 0: ""} {
				l := serveLimitedAt(t, keys.Policy{Limits: limit.Limits{TokensPerMinute: 10_000}}, limit.Rules{OutputTokens: 700}, stopped())
				l.targets, l.hold = targets, make(chan struct{})
				filled := make(chan error, 1)
				go func() {
					_, err := l.client.GenerateText(asKey(t), tokens(10_000-c.tokens+more-input))
					filled <- err
				}()
				if err := l.await(t, 1, filled); err != nil {
					t.Fatal(err)
				}
				asked := make(chan error, 1)
				go func() {
					_, err := l.client.GenerateText(asKey(t), req)
					asked <- err
				}()
				got := ""
				if err := l.await(t, 2, asked); err != nil {
					got = detail(t, err).GetReason()
				}
				if got != reason {
					t.Errorf("with %d tokens too few: %q", more, got)
				}
				close(l.hold)
				if err := <-filled; err != nil {
					t.Error(err)
				}
			}
		})
	}
	l := serveLimited(t, keys.Policy{Limits: limit.Limits{Budgets: []limit.Budget{{Amount: 1000, Period: limit.Day}}}}, limit.Rules{})
	l.targets = targets
	req := tokens(1)
	req.Model = "one of them unpriced"
	if _, err := l.client.GenerateText(asKey(t), req); detail(t, err).GetReason() != core.ReasonModelUnpriced {
		t.Errorf("where one target has no price: %v", err)
	}
}

// await waits until so many calls have reached the upstream, or one has ended: then it
// returns its error.
func (l *limited) await(t *testing.T, calls int64, ended ...<-chan error) error {
	t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(time.Minute); l.calls.Load() < calls; <-tick.C {
		for _, one := range ended {
			select {
			case err := <-one:
				return err
			default:
			}
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d calls have come, want %d", l.calls.Load(), calls)
		}
	}
	return nil
}

// An answer that grows beyond its reservation holds what it has grown to while it runs, be
// it in one event or in many: of the tokens a minute and of the budget.
func TestGrowingAnswersHoldMore(t *testing.T) {
	const budget, flowed = 10_000, 1000 // as cut-held sends before it waits
	for name, c := range map[string]struct {
		limits limit.Limits
		reason string
	}{
		"a budget":        {limit.Limits{Budgets: []limit.Budget{{Amount: budget, Period: limit.Day}}}, core.ReasonBudgetHeld},
		"tokens a minute": {limit.Limits{TokensPerMinute: budget}, limit.Kinds[limit.Tokens].Reason},
	} {
		t.Run(name, func(t *testing.T) {
			l := serveLimitedAt(t, keys.Policy{Limits: c.limits}, limit.Rules{}, stopped())
			req := tokens(10)
			req.Model = "cut-held"
			stream, err := l.client.StreamGenerateText(asKey(t), req)
			if err != nil {
				t.Fatal(err)
			}
			for range 2 {
				if _, err := stream.Recv(); err != nil {
					t.Fatal(err)
				}
			}
			most := int64(budget - 2*input - flowed)
			if _, err := l.client.GenerateText(asKey(t), tokens(most+1)); err == nil || detail(t, err).GetReason() != c.reason {
				t.Errorf("what the answer has grown to is not held: %v", err)
			}
			// It holds no more than twice what was seen.
			if _, err := l.client.GenerateText(asKey(t), tokens(most-flowed)); err != nil {
				t.Error(err)
			}
		})
	}
}

// A request that sets no maximum holds what its answer can cost: what the model can give, or what is left of the budget, and
// then its answer is cut there. So no answer overspends the budget, nor do many at once.
func TestAnswersWithoutAMaximumFitTheBudget(t *testing.T) {
	const unknown = 128_000
	for _, c := range []struct {
		name          string
		model         string
		candidates    int32
		left          int64 // of the budget
		cut, heldThen int64 // each answer's bound, and what the request holds
	}{
		{"the model's most fits", "m", 0, input + 5000, 0, input + 5000},
		{"what is left", "m", 0, input + 4999, 4999, input + 4999},
		{"the least", "m", 0, input + 700, 700, input + 700},
		{"less than the least", "m", 0, input + 699, -1, 0},
		{"a model that is known to give less than the least", "short", 0, input + 50, 0, input + 50},
		{"no room for it", "short", 0, input + 49, -1, 0},
		{"an unknown model", "triple", 0, 3 * (input + unknown), 0, 3 * (input + unknown)},
		{"an unknown model, cut", "triple", 0, 3*(input+unknown) - 1, unknown - 1, 3*(input+unknown) - 1},
		{"each of several answers", "m", 4, input + 4*5000, 0, input + 4*5000},
		{"each of several answers, cut", "m", 4, input + 4*4999 + 3, 4999, input + 4*4999 + 3},
		{"by the dearest target and the longest answer", "both", 0, 3 * (input + unknown), 0, 3 * (input + unknown)},
		{"cut by the dearest target", "both", 0, 3*(input+6000) + 2, 6000, 3*(input+6000) + 2},
		{"more than an int64 holds", "endless", 0, limit.Dollar, limit.Dollar - input, limit.Dollar},
	} {
		t.Run(c.name, func(t *testing.T) {
			const budget = 5 * limit.Dollar
			l := serveLimited(t, keys.Policy{Limits: limit.Limits{Budgets: []limit.Budget{{Amount: budget, Period: limit.Day}}}}, limit.Rules{OutputTokens: 700})
			l.targets = map[string][]string{"both": {"m", "triple"}, "short": {"cut"}, "endless": {"cut-held"}}
			l.longest = map[string]int64{"m": 5000, "cut": 50, "cut-held": math.MaxInt64}
			l.hold = make(chan struct{})
			l.memory.Seed(limit.Key, "key_a", limit.Day, time.Now(), budget-c.left)
			req := request()
			req.Model = c.model
			if c.candidates > 0 {
				req.Sampling = &genwayv1.Sampling{CandidateCount: &c.candidates}
			}
			asked := make(chan error, 1)
			go func() {
				_, err := l.client.GenerateText(asKey(t), req)
				asked <- err
			}()
			err := l.await(t, 1, asked)
			if c.cut < 0 {
				if err == nil || detail(t, err).GetReason() != core.ReasonBudget {
					t.Errorf("admitted: %v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got := l.cut.Load(); got != c.cut {
				t.Errorf("the answer ends after %d tokens, want %d", got, c.cut)
			}
			// Another may spend what this one does not hold, and no more.
			for more, admits := range map[int64]bool{1: false, 0: true} {
				another := make(chan error, 1)
				before := l.calls.Load()
				go func() {
					_, err := l.client.GenerateText(asKey(t), tokens(max(c.left-c.heldThen-input, 0)+more))
					another <- err
				}()
				if err := l.await(t, before+1, another); (err == nil) != (admits && c.left-c.heldThen >= input) {
					t.Errorf("with %d more than is left: %v", more, err)
				}
			}
			close(l.hold)
			if err := <-asked; err != nil {
				t.Error(err)
			}
		})
	}
}

// Requests without a maximum that come at once share what is left: all they may spend is no more than the budget.
func TestAnswersAtOnceFitTheBudget(t *testing.T) {
	const budget = 20_000
	l := serveLimited(t, keys.Policy{Limits: limit.Limits{Budgets: []limit.Budget{{Amount: budget, Period: limit.Day}}}}, limit.Rules{OutputTokens: 700})
	l.longest, l.hold = map[string]int64{"m": 5000}, make(chan struct{})
	ended := make(chan error, 30)
	for range cap(ended) {
		go func() {
			_, err := l.client.GenerateText(asKey(t), request())
			ended <- err
		}()
	}
	// Three hold 5,005 each; the fourth what is left, 4,985.
	refused := 0
	for ; refused < cap(ended)-4; refused++ {
		if err := <-ended; detail(t, err).GetReason() != core.ReasonBudgetHeld {
			t.Fatalf("%d were refused, then: %v", refused, err)
		}
	}
	if err := l.await(t, 4); err != nil {
		t.Fatal(err)
	}
	close(l.hold)
	for range 4 {
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
}

// What a target's overrides make of a request is what it reserves, and has a price or not. So is what the request says in
// members that the contract has no fields for.
func TestReservationsAreOfWhatTheUpstreamIsAsked(t *testing.T) {
	known, err := catalog.Parse("catalog.yaml", []byte("models:\n  - {model: m, max_output: 5000}\n"))
	if err != nil {
		t.Fatal(err)
	}
	set := func(name string, value any) override.Rules {
		return override.Rules{Set: map[string]any{name: value}}
	}
	fill := func(name string, value any) override.Rules {
		return override.Rules{Default: map[string]any{name: value}}
	}
	drop := func(name string) override.Rules { return override.Rules{Drop: []string{name}} }
	bound := func(r override.Range) override.Rules {
		return override.Rules{Bound: map[string]override.Range{"max_output_tokens": r}}
	}
	native := func(name, value string) func(*genwayv1.GenerateTextRequest) {
		return func(r *genwayv1.GenerateTextRequest) {
			r.NativeFields = []*genwayv1.NativeField{{Protocol: genwayv1.Protocol_PROTOCOL_MESSAGES, Name: name, Json: []byte(value)}}
		}
	}
	extra := func(text string) func(*genwayv1.GenerateTextRequest) {
		return func(r *genwayv1.GenerateTextRequest) { r.ExtraJson = text }
	}
	tier := func(word string) func(*genwayv1.GenerateTextRequest) {
		return func(r *genwayv1.GenerateTextRequest) { r.ServiceTier = word }
	}
	open := func(r *genwayv1.GenerateTextRequest) { r.MaxOutputTokens = nil }
	const unpriced = -1
	for _, c := range []struct {
		name  string
		rules override.Rules
		// ask changes a request of model m for at most 100 tokens.
		ask  func(*genwayv1.GenerateTextRequest)
		cost int64
	}{
		{"nothing", override.Rules{}, nil, input + 100},
		{"a tier without a price is set", set("service_tier", "priority"), nil, unpriced},
		{"it is set for another one", set("service_tier", "priority"), tier("scale"), unpriced},
		{"it is the default", fill("service_tier", "priority"), nil, unpriced},
		{"the caller says another than the default", fill("service_tier", "priority"), tier("default"), input + 100},
		{"a tier with a price is set", set("service_tier", "scale"), nil, 3 * (input + 100)},
		{"a tier without a price is left out", drop("service_tier"), tier("priority"), input + 100},
		{"the standard is set in its place", set("service_tier", "default"), tier("priority"), input + 100},
		{"the maximum is set", set("max_output_tokens", int64(700)), nil, input + 700},
		{"the maximum has a default", fill("max_output_tokens", int64(700)), nil, input + 100},
		{"the maximum is bounded", bound(override.Range{Max: new(40.0)}), nil, input + 40},
		{"the maximum is bounded from below", bound(override.Range{Min: new(400.0)}), nil, input + 400},
		{"the maximum is left out", drop("max_output_tokens"), nil, input + 5000},
		{"the maximum is left out, and there is none", drop("max_output_tokens"), open, input + 5000},
		{"of a model that is not known", drop("max_output_tokens"), func(r *genwayv1.GenerateTextRequest) { r.Model = "triple" }, 3 * (input + 128_000)},
		{"several answers are set", set("candidate_count", int64(4)), nil, input + 400},
		{"several answers are left out", drop("candidate_count"), func(r *genwayv1.GenerateTextRequest) {
			r.Sampling = &genwayv1.Sampling{CandidateCount: new(int32(4))}
		}, input + 100},
		{"a speed", override.Rules{}, native("speed", `"fast"`), unpriced},
		{"a speed in extra_json", override.Rules{}, extra(`{"speed":"fast"}`), unpriced},
		{"a region in extra_json", override.Rules{}, extra(`{"a":1,"inference_geo":"us"}`), unpriced},
		{"the vendor's own in extra_json", override.Rules{}, extra(`{"speed":"standard","inference_geo":null}`), input + 100},
	} {
		t.Run(c.name, func(t *testing.T) {
			const budget = 10_000_000
			o, err := override.New(c.rules)
			if err != nil {
				t.Fatal(err)
			}
			req := tokens(100)
			if c.ask != nil {
				c.ask(req)
			}
			for short, reason := range map[int64]string{1: core.ReasonBudget, 0: ""} {
				l := serveLimitedBy(t, keys.Policy{Limits: limit.Limits{Budgets: []limit.Budget{{Amount: budget, Period: limit.Day}}}}, limit.Rules{}, nil, func(u upstream.Upstream) upstream.Upstream {
					return route.New([]route.Route{{Model: "*", Targets: []route.Target{{
						Name: "u", Upstream: u, Protocol: responses.Codec{}.Protocol(), Overrides: o, Catalog: known, Guard: route.NewGuard(route.Limits{}),
					}}}})
				})
				if c.cost == unpriced {
					reason = core.ReasonModelUnpriced
				} else {
					l.memory.Seed(limit.Key, "key_a", limit.Day, time.Now(), budget-c.cost+short)
				}
				_, err := l.client.GenerateText(asKey(t), req)
				got := ""
				if err != nil {
					got = detail(t, err).GetReason()
					asks := req.MaxOutputTokens != nil
					if says := strings.Contains(detail(t, err).GetMessage(), "With a lower maximum of output tokens it costs less."); got == core.ReasonBudget && says != asks {
						t.Errorf("%v, and the request sets a maximum: %t", err, asks)
					}
				}
				if got != reason {
					t.Errorf("with %d nano-dollars too little: %v, want %q", short, err, reason)
				}
			}
		})
	}
}

// Calls of a vendor's own tools are reserved as far as the request bounds them and their price is known, whether their tools
// are decoded or still in the caller's body.
func TestCallsOfHostedToolsAreReserved(t *testing.T) {
	search := func(more string) string { return `{"type":"web_search_20250305","name":"web_search"` + more + `}` }
	const beyond = -1
	for _, c := range []struct {
		name  string
		tools []string
		all   string // max_tool_calls
		cost  int64
	}{
		{"no bound", []string{search("")}, "", 0},
		{"no tool", nil, "7", 0},
		{"a bound", []string{search(`,"max_uses":5`)}, "", 5000},
		{"none", []string{search(`,"max_uses":0`)}, "", 0},
		{"below none", []string{search(`,"max_uses":-1`)}, "", 0},
		{"null", []string{search(`,"max_uses":null`)}, "", 0},
		{"no number", []string{search(`,"max_uses":"5"`)}, "", 0},
		{"twice the tool", []string{search(`,"max_uses":5`), search(`,"max_uses":2`)}, "", 7000},
		{"two tools", []string{search(`,"max_uses":5`), `{"type":"file_search","max_uses":2}`}, "", 5020},
		{"tools without a price", []string{`{"type":"web_searching","max_uses":5}`, `{"type":"web_fetch_20250910","name":"web_fetch","max_uses":5}`}, "", 0},
		{"of all", []string{`{"type":"web_search"}`}, "4", 4000},
		{"of all, the dearest", []string{`{"type":"file_search"}`, `{"type":"web_search"}`}, "4", 4000},
		{"of all, fewer than of one", []string{search(`,"max_uses":5`)}, "4", 4000},
		{"of all, no number", []string{`{"type":"web_search"}`}, `"4"`, 0},
		{"beyond counting", []string{search(`,"max_uses":9223372036854775807`)}, "", beyond},
		{"beyond counting, twice", []string{search(`,"max_uses":9223372036854775807`), search(`,"max_uses":9007199254740993`)}, "", beyond},
		{"beyond any integer", []string{search(`,"max_uses":1e300`)}, "", beyond},
	} {
		t.Run(c.name, func(t *testing.T) {
			const budget = 100_000
			var decoded []*genwayv1.Tool
			for _, tool := range c.tools {
				decoded = append(decoded, &genwayv1.Tool{Kind: &genwayv1.Tool_Hosted{Hosted: &genwayv1.HostedTool{Protocol: genwayv1.Protocol_PROTOCOL_RESPONSES, Json: []byte(tool)}}})
			}
			body := `{"model":"searching","input":"hi, you","tools":[` + strings.Join(c.tools, ",") + `]}`
			for name, ask := range map[string]func(*genwayv1.GenerateTextRequest){
				"decoded": func(r *genwayv1.GenerateTextRequest) { r.Tools = decoded },
				"in a body": func(r *genwayv1.GenerateTextRequest) {
					r.Messages, r.Wire = nil, &genwayv1.WireMessage{Protocol: genwayv1.Protocol_PROTOCOL_RESPONSES, Json: []byte(body), Extension: &edgev1.RequestExtension{Deferred: true}}
				},
			} {
				req := tokens(100)
				req.Model = "searching"
				if c.all != "" {
					req.NativeFields = []*genwayv1.NativeField{{Protocol: genwayv1.Protocol_PROTOCOL_RESPONSES, Name: "max_tool_calls", Json: []byte(c.all)}}
				}
				ask(req)
				// asked returns the reason of a refusal with so much left.
				asked := func(left int64) string {
					l := serveLimited(t, keys.Policy{Limits: limit.Limits{Budgets: []limit.Budget{{Amount: budget, Period: limit.Day}}}}, limit.Rules{})
					l.memory.Seed(limit.Key, "key_a", limit.Day, time.Now(), budget-left)
					principal, err := l.Authenticate(t.Context(), "")
					if err != nil {
						t.Fatal(err)
					}
					_, err = l.service.GenerateText(call.With(t.Context(), &call.Record{Caller: call.Caller{Principal: principal, Edge: true, Protocol: genwayv1.Protocol_PROTOCOL_RESPONSES}, Start: time.Now()}), proto.CloneOf(req))
					if err == nil {
						return ""
					}
					return fault.From(err).Reason
				}
				if c.cost == beyond {
					if got := asked(budget); got != core.ReasonBudget {
						t.Errorf("%s, with the whole budget: %q", name, got)
					}
					continue
				}
				if got := asked(100 + c.cost - 1); got != core.ReasonBudget {
					t.Errorf("%s, with a nano-dollar too little: %q", name, got)
				}
				if got := asked(100 + c.cost); got != "" {
					t.Errorf("%s, with just enough: %q", name, got)
				}
			}
		})
	}
}

// Tools are added up by their types, of which few are told apart, however many a body has. Types beyond
// those cost as the dearest.
func TestManyHostedToolsAreReserved(t *testing.T) {
	const budget, many = 1_000_000, 50_000
	search := `{"type":"web_search","max_uses":1},`
	var types strings.Builder
	for i := range 200 {
		fmt.Fprintf(&types, `{"type":"x%d","max_uses":1},`, i)
	}
	for name, c := range map[string]struct {
		tools string
		cost  int64
	}{
		"no tools":      {strings.Repeat("0,", many), 0},
		"without types": {strings.Repeat(`{"max_uses":1},`, many), 0},
		"without calls": {strings.Repeat(`{"type":"web_search","max_uses":0},`, many), 0},
		"one type":      {strings.Repeat(search, 500), 500_000},
		"many types":    {types.String() + search, (200 - 64 + 1) * 1000},
		"a long type":   {`{"type":"` + strings.Repeat("x", 1000) + `","max_uses":3},`, 3000},
	} {
		body := `{"model":"searching","input":"hi, you","tools":[` + c.tools + `0]}`
		for _, short := range []int64{0, 1} {
			l := serveLimited(t, keys.Policy{Limits: limit.Limits{Budgets: []limit.Budget{{Amount: budget, Period: limit.Day}}}}, limit.Rules{})
			l.memory.Seed(limit.Key, "key_a", limit.Day, time.Now(), budget-100-c.cost+short)
			principal, err := l.Authenticate(t.Context(), "")
			if err != nil {
				t.Fatal(err)
			}
			req := tokens(100)
			req.Model, req.Messages = "searching", nil
			req.Wire = &genwayv1.WireMessage{Protocol: genwayv1.Protocol_PROTOCOL_RESPONSES, Json: []byte(body), Extension: &edgev1.RequestExtension{Deferred: true, Statistics: &edgev1.BodyStatistics{TextBytes: 7}}}
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err = l.service.GenerateText(call.With(t.Context(), &call.Record{Caller: call.Caller{Principal: principal, Edge: true, Protocol: genwayv1.Protocol_PROTOCOL_RESPONSES}, Start: time.Now()}), req)
			runtime.ReadMemStats(&after)
			if refused := err != nil && fault.From(err).Reason == core.ReasonBudget; refused != (short > 0) {
				t.Errorf("%s, with %d too little: %v", name, short, err)
			}
			if took := after.Mallocs - before.Mallocs; took > 4*many {
				t.Errorf("%s: %d allocations", name, took)
			}
		}
	}
}
