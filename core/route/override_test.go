package route_test

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/core/call"
	"github.com/genway/genway/core/catalog"
	"github.com/genway/genway/core/override"
	"github.com/genway/genway/core/route"
	"github.com/genway/genway/core/upstream"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/genway/genway/protocol"
	"github.com/genway/genway/protocol/deferred"
)

func overrides(t *testing.T, rules override.Rules) *override.Overrides {
	t.Helper()
	o, err := override.New(rules)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func warm() *genwayv1.GenerateTextRequest {
	temperature := 1.0
	return &genwayv1.GenerateTextRequest{
		Model: "m", Sampling: &genwayv1.Sampling{Temperature: &temperature},
		Wire: &genwayv1.WireMessage{Protocol: chat, Json: []byte(`{"model":"m","temperature":1.0,"messages":[{"role":"user","content":"hi"}]}`)},
	}
}

// Each target has its own overrides: what one leaves out, the next still gets.
func TestOverridesOfTargets(t *testing.T) {
	first := &stub{name: "first", err: fault.New(fault.Unavailable, "X", "down")}
	second := &stub{name: "second"}
	r := route.New([]route.Route{{
		Model:    "*",
		Targets:  []route.Target{{Name: "first", Upstream: first, Protocol: chat, Overrides: overrides(t, override.Rules{Drop: []string{"temperature"}})}},
		Fallback: []route.Target{{Name: "second", Upstream: second, Protocol: chat}},
	}})
	req := warm()
	resp, err := r.GenerateText(t.Context(), deferred.New(req))
	if err != nil || len(resp.GetLosses()) != 0 {
		t.Fatalf("%v, %v", resp, err)
	}
	if got := string(first.seen.GetWire().GetJson()); got != `{"model":"m","messages":[{"role":"user","content":"hi"}]}` || first.seen.GetSampling() != nil {
		t.Errorf("first got %s, %v", got, first.seen)
	}
	if got := second.seen; !bytes.Equal(got.GetWire().GetJson(), req.GetWire().GetJson()) || got.GetSampling().GetTemperature() != 1 {
		t.Errorf("second got %v", got)
	}
}

// A stream whose frames pass through has no event that opens it: what an override takes from the
// caller is named at its end, once.
func TestOverridesAreToldOfStreams(t *testing.T) {
	for name, events := range map[string][]*genwayv1.StreamGenerateTextResponse{
		"passed through": {codec.Event(&genwayv1.WireFrame{Data: []byte("{}")}), codec.Event(&genwayv1.TextCompleted{})},
		"translated":     {codec.Event(&genwayv1.TextStarted{}), codec.Event(&genwayv1.TextCompleted{})},
	} {
		r := route.New([]route.Route{{Model: "*", Targets: []route.Target{
			{Name: "u", Upstream: scripted{events: events}, Protocol: chat, Overrides: overrides(t, override.Rules{Drop: []string{"temperature"}})},
		}}})
		var told []string
		err := r.StreamGenerateText(t.Context(), deferred.New(warm()), func(ev *genwayv1.StreamGenerateTextResponse) error {
			for _, l := range append(ev.GetStarted().GetLosses(), ev.GetCompleted().GetLosses()...) {
				told = append(told, l.GetMember())
			}
			return nil
		})
		if err != nil || len(told) != 1 || told[0] != "sampling.temperature" {
			t.Errorf("%s: %v, losses are %v", name, err, told)
		}
	}
}

// scripted streams the events that it has.
type scripted struct {
	upstream.Upstream
	events []*genwayv1.StreamGenerateTextResponse
}

func (s scripted) StreamGenerateText(_ context.Context, _ *deferred.Request, send upstream.Send) error {
	for _, ev := range s.events {
		if err := send(ev); err != nil {
			return err
		}
	}
	return nil
}

// What an override takes from the caller is a loss, which a strict call is refused
// for before any upstream is asked.
func TestOverridesAreTold(t *testing.T) {
	only := &stub{name: "only"}
	routes := []route.Route{{Model: "*", Targets: []route.Target{
		{Name: "only", Upstream: only, Protocol: chat, Overrides: overrides(t, override.Rules{Set: map[string]any{"temperature": 0.5}})},
	}}}
	r := route.New(routes)
	resp, err := r.GenerateText(t.Context(), deferred.New(warm()))
	if err != nil || len(resp.GetLosses()) != 1 || resp.GetLosses()[0].GetMember() != "sampling.temperature" {
		t.Fatalf("%v, %v", resp, err)
	}
	calls := only.calls
	_, err = r.GenerateText(call.With(t.Context(), &call.Record{Strict: true}), deferred.New(warm()))
	if f := fault.From(err); f.Kind != fault.InvalidRequest || f.Param != "sampling.temperature" || only.calls != calls {
		t.Errorf("a strict caller: %v, %d calls more", err, only.calls-calls)
	}
	routes[0].Strict = true
	r.Swap(routes)
	_, err = r.GenerateText(t.Context(), deferred.New(warm()))
	if f := fault.From(err); f.Kind != fault.InvalidRequest || only.calls != calls {
		t.Errorf("a strict route: %v, %d calls more", err, only.calls-calls)
	}
	if _, err := r.GenerateText(t.Context(), deferred.New(&genwayv1.GenerateTextRequest{Model: "m"})); err != nil {
		t.Errorf("nothing was lost: %v", err)
	}
}

// A target that demands a limit of tokens gets one within its bound where the caller names
// none, and the bound adds none elsewhere.
func TestLimitsThatUpstreamsDemand(t *testing.T) {
	const messages = genwayv1.Protocol_PROTOCOL_MESSAGES
	bound := func(most float64) override.Rules {
		return override.Rules{Bound: map[string]override.Range{"max_output_tokens": {Max: &most}}}
	}
	for name, tt := range map[string]struct {
		protocol genwayv1.Protocol
		rules    override.Rules
		want     int64
	}{
		"less than the model's most": {messages, bound(100), 100},
		"more than the model's most": {messages, bound(1 << 40), 0},
		"a default":                  {messages, override.Rules{Default: map[string]any{"max_output_tokens": int64(77)}}, 77},
		"another protocol":           {chat, bound(100), 0},
		"no rules":                   {messages, override.Rules{}, 0},
	} {
		only := &stub{name: "only"}
		r := route.New([]route.Route{{Model: "*", Targets: []route.Target{{Name: "only", Upstream: only, Protocol: tt.protocol, Overrides: overrides(t, tt.rules)}}}})
		resp, err := r.GenerateText(call.With(t.Context(), &call.Record{Strict: true}), deferred.New(&genwayv1.GenerateTextRequest{Model: "claude-opus-4-1"}))
		if err != nil || len(resp.GetLosses()) != 0 || only.seen.GetMaxOutputTokens() != tt.want || (only.seen.MaxOutputTokens != nil) != (tt.want > 0) {
			t.Errorf("%s: %v, %v, the upstream sees %v", name, resp.GetLosses(), err, only.seen)
		}
	}
}

// An answer that is cut for the caller's budget ends there in the words of each protocol, for an upstream that takes the
// contract too.
func TestAnswersAreCut(t *testing.T) {
	known, err := catalog.Parse("catalog.yaml", []byte("models:\n  - {model: short, max_output: 50}\n  - {model: deep, thinking: [effort]}\n"))
	if err != nil {
		t.Fatal(err)
	}
	const turns = `"messages":[{"role":"user","content":"hi"}]`
	for _, c := range []struct {
		name     string
		protocol genwayv1.Protocol
		model    string
		rules    override.Rules
		body     string
		want     string
		limit    int64
	}{
		{"chat", chat, "m", override.Rules{}, `{"model":"m",` + turns + `}`, `{"model":"m",` + turns + `,"max_tokens":70}`, 70},
		{"chat, a model that reasons", chat, "deep", override.Rules{}, `{"model":"deep",` + turns + `}`, `{"model":"deep",` + turns + `,"max_completion_tokens":70}`, 70},
		{"responses", genwayv1.Protocol_PROTOCOL_RESPONSES, "m", override.Rules{}, `{"model":"m","input":"hi"}`, `{"model":"m","input":"hi","max_output_tokens":70}`, 70},
		{"generateContent", genwayv1.Protocol_PROTOCOL_GENERATE_CONTENT, "m", override.Rules{}, `{"contents":[{"parts":[{"text":"hi"}]}],"generationConfig":{"topK":3}}`, `{"contents":[{"parts":[{"text":"hi"}]}],"generationConfig":{"topK":3,"maxOutputTokens":70}}`, 70},
		{"the model ends earlier", chat, "short", override.Rules{}, `{"model":"short",` + turns + `}`, "", 0},
		{"the target sets less", chat, "m", override.Rules{Set: map[string]any{"max_output_tokens": int64(60)}}, `{"model":"m",` + turns + `}`, `{"model":"m",` + turns + `,"max_tokens":60}`, 60},
		{"the target sets more", chat, "m", override.Rules{Default: map[string]any{"max_output_tokens": int64(80)}}, `{"model":"m",` + turns + `}`, `{"model":"m",` + turns + `,"max_tokens":70}`, 70},
		{"the target takes none", chat, "m", override.Rules{Drop: []string{"max_output_tokens"}}, `{"model":"m",` + turns + `}`, "", 0},
	} {
		for _, target := range []genwayv1.Protocol{c.protocol, genwayv1.Protocol_PROTOCOL_UNSPECIFIED, genwayv1.Protocol_PROTOCOL_MESSAGES} {
			t.Run(c.name+" to "+target.String(), func(t *testing.T) {
				req, err := protocol.Of(c.protocol).Codec.DecodeRequest([]byte(c.body))
				if err != nil {
					t.Fatal(err)
				}
				req.Model = c.model
				req.Wire = &genwayv1.WireMessage{Protocol: c.protocol, Json: []byte(c.body)}
				only := &stub{name: "only"}
				r := route.New([]route.Route{{Model: "*", Targets: []route.Target{{Name: "only", Upstream: only, Protocol: target, Overrides: overrides(t, c.rules), Catalog: known}}}})
				ctx, record := call.Ensure(t.Context())
				record.MaxOutput = 70
				if _, err := r.GenerateText(ctx, deferred.New(req.GenerateTextRequest)); err != nil {
					t.Fatal(err)
				}
				want := c.want
				if want == "" {
					want = c.body
				}
				if got := string(only.seen.GetWire().GetJson()); target != genwayv1.Protocol_PROTOCOL_MESSAGES && got != want {
					t.Errorf("%s, want %s", got, want)
				}
				limit := c.limit
				if limit == 0 && target == genwayv1.Protocol_PROTOCOL_MESSAGES && c.model == "short" {
					limit = 50
				}
				if got := only.seen.GetMaxOutputTokens(); got != limit {
					t.Errorf("%d tokens, want %d", got, limit)
				}
			})
		}
	}
}

// A limit of a caller of another protocol is max_completion_tokens for a model that reasons, and max_tokens for others.
func TestLimitIsNamedAsTheModelTakesIt(t *testing.T) {
	known, err := catalog.Parse("catalog.yaml", []byte("models: [{model: deep, thinking: [effort]}, {model: budget, thinking: [budget]}]"))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ model, want string }{
		{"deep", `"max_completion_tokens":70`}, {"budget", `"max_tokens":70`}, {"m", `"max_tokens":70`},
	} {
		only := &stub{name: "only"}
		r := route.New([]route.Route{{Model: "*", Targets: []route.Target{{Name: "only", Upstream: only, Protocol: chat, Catalog: known}}}})
		asked := &genwayv1.GenerateTextRequest{Model: c.model, MaxOutputTokens: new(int64(70))}
		if _, err := r.GenerateText(t.Context(), deferred.New(asked)); err != nil {
			t.Fatal(err)
		}
		body, err := protocol.Of(chat).Codec.EncodeRequest(&codec.Request{GenerateTextRequest: only.seen}, &codec.Losses{})
		if err != nil || !strings.Contains(string(body), c.want) || len(asked.GetNativeFields()) > 0 {
			t.Errorf("%s: %s, %v, want %s", c.model, body, err, c.want)
		}
	}
}

// A maximum below 0 is none, to a caller of the contract.
func TestNoMaximumIsCut(t *testing.T) {
	only := &stub{name: "only"}
	r := route.New([]route.Route{{Model: "*", Targets: []route.Target{{Name: "only", Upstream: only}}}})
	ctx, record := call.Ensure(t.Context())
	record.MaxOutput = 70
	if _, err := r.GenerateText(ctx, deferred.New(&genwayv1.GenerateTextRequest{Model: "m", MaxOutputTokens: new(int64(-1))})); err != nil || only.seen.GetMaxOutputTokens() != 70 {
		t.Errorf("%v, %v", only.seen, err)
	}
}

// What a target is asked for says how many answers there are, and how long: where the request sets a maximum, and where not.
func TestCandidatesSayHowLongAnswersAre(t *testing.T) {
	known, err := catalog.Parse("catalog.yaml", []byte("models:\n  - {model: m, max_output: 50}\n"))
	if err != nil {
		t.Fatal(err)
	}
	set := func(to int64) map[string]any { return map[string]any{"max_output_tokens": to} }
	bound := func(most float64) map[string]override.Range {
		return map[string]override.Range{"max_output_tokens": {Max: &most}}
	}
	drop, none, some := []string{"max_output_tokens"}, &genwayv1.GenerateTextRequest{}, &genwayv1.GenerateTextRequest{MaxOutputTokens: new(int64(70))}
	responses, messages := genwayv1.Protocol_PROTOCOL_RESPONSES, genwayv1.Protocol_PROTOCOL_MESSAGES
	for _, c := range []struct {
		protocol genwayv1.Protocol
		model    string
		rules    override.Rules
		ask      *genwayv1.GenerateTextRequest
		most     int64
		cuts     bool
	}{
		{chat, "m", override.Rules{}, none, 50, true},
		{chat, "other", override.Rules{}, none, -1, true},
		{messages, "m", override.Rules{}, none, 50, true},
		{messages, "other", override.Rules{}, none, 8192, true},
		{chat, "m", override.Rules{Set: set(40)}, none, 40, true},
		{chat, "m", override.Rules{Default: set(60)}, none, 50, true},
		{chat, "other", override.Rules{Default: set(60), Bound: bound(30)}, none, 30, true},
		{chat, "other", override.Rules{Bound: bound(30)}, none, -1, true},
		{chat, "m", override.Rules{Drop: drop}, none, 50, false},
		{chat, "other", override.Rules{Drop: drop}, none, -1, false},
		{messages, "other", override.Rules{Drop: drop}, none, 8192, false},
		{chat, "other", override.Rules{Drop: drop, Default: set(60)}, none, 60, false},
		{chat, "m", override.Rules{}, some, 70, false},
		{chat, "m", override.Rules{Set: set(90)}, some, 90, false},
		{chat, "m", override.Rules{Default: set(90)}, some, 70, false},
		{chat, "m", override.Rules{Bound: bound(30)}, some, 30, false},
		{chat, "m", override.Rules{Drop: drop}, some, 50, false},
		{chat, "other", override.Rules{Drop: drop}, some, -1, false},
		{chat, "other", override.Rules{Drop: drop, Set: set(90)}, some, 90, false},
		{chat, "m", override.Rules{}, &genwayv1.GenerateTextRequest{MaxOutputTokens: new(int64(0))}, 0, false},
		{chat, "m", override.Rules{}, &genwayv1.GenerateTextRequest{MaxOutputTokens: new(int64(-1))}, 50, true},
		{responses, "m", override.Rules{Set: set(40)}, &genwayv1.GenerateTextRequest{Compact: true}, 50, false},
		{responses, "other", override.Rules{}, &genwayv1.GenerateTextRequest{Compact: true}, -1, false},
		{chat, "m", override.Rules{Set: set(40)}, &genwayv1.GenerateTextRequest{Compact: true}, 40, true},
	} {
		r := route.New([]route.Route{{Model: "*", Targets: []route.Target{{Name: "u", Upstream: &stub{}, Protocol: c.protocol, Overrides: overrides(t, c.rules), Catalog: known}}}})
		var got []upstream.Candidate
		r.Candidates(c.protocol, c.model, c.ask, func(one upstream.Candidate) { got = append(got, one) })
		if want := (upstream.Candidate{Upstream: "u", Model: c.model, MaxOutput: c.most, Cuts: c.cuts}); !slices.Equal(got, []upstream.Candidate{want}) {
			t.Errorf("%s, %s, %+v, %v: %+v", c.protocol, c.model, c.rules, c.ask, got)
		}
	}
	drawing := route.New([]route.Route{{Model: "*", Targets: []route.Target{{
		Name: "u", Upstream: &stub{}, Protocol: genwayv1.Protocol_PROTOCOL_IMAGES, Overrides: overrides(t, override.Rules{Set: map[string]any{"count": int64(4)}}),
	}}}})
	drawing.Candidates(genwayv1.Protocol_PROTOCOL_IMAGES, "m", &genwayv1.GenerateImageRequest{}, func(one upstream.Candidate) {
		if want := (upstream.Candidate{Upstream: "u", Model: "m", Answers: 4}); one != want {
			t.Errorf("%+v", one)
		}
	})
}

// A target that has its own protocol's requests fit the model changes them as translated ones are changed, in the caller's body,
// which stays as it is otherwise.
func TestOwnBodiesFit(t *testing.T) {
	known, err := catalog.Parse("catalog.yaml", []byte("models:\n  - {model: m, max_output: 50, refuses: [temperature, forced_tool_choice], thinking: [adaptive, effort], efforts: [low, high], one_of: [top_p, top_k], input: [text]}\n"))
	if err != nil {
		t.Fatal(err)
	}
	const turns = `"messages":[{"role":"user","content":"hi"}]`
	for _, c := range []struct{ name, body, want, lost, refused string }{
		{"it fits", `{"model":"m",` + turns + `,"max_tokens":9 }`, `{"model":"m",` + turns + `,"max_tokens":9 }`, "", ""},
		{"settings", `{"model":"m","max_tokens":99,"temperature":0.5,"x":{"y":1.0},` + turns + `}`, `{"model":"m","max_tokens":50,"x":{"y":1.0},` + turns + `}`, "max_output_tokens sampling.temperature", ""},
		{"one of two", `{"model":"m","max_tokens":9,"top_p":0.5,"top_k":3,` + turns + `}`, `{"model":"m","max_tokens":9,"top_p":0.5,` + turns + `}`, "sampling.top_k", ""},
		{"thinking", `{"model":"m","max_tokens":9,"thinking":{"type":"enabled","budget_tokens":1024},` + turns + `}`, `{"model":"m","max_tokens":9,"thinking":{"type":"adaptive"},` + turns + `,"output_config":{"effort":"low"}}`, "thinking.budget_tokens", ""},
		{"a choice", `{"model":"m","max_tokens":9,"tools":[{"name":"f","input_schema":{"type":"object"},"x":1.0}],"tool_choice":{"type":"any"},` + turns + `}`,
			`{"model":"m","max_tokens":9,"tools":[{"name":"f","input_schema":{"type":"object"},"x":1.0}],"tool_choice":{"type":"auto"},` + turns + `}`, "tool_choice", ""},
		{"contents", `{"model":"m","max_tokens":9,"messages":[{"role":"user","content":[{"type":"image","source":{"type":"url","url":"https://a.test/b"}}]}]}`, "", "", "messages[0].parts[0].image"},
	} {
		for _, fit := range []bool{true, false} {
			t.Run(c.name+map[bool]string{true: "", false: ", not asked to"}[fit], func(t *testing.T) {
				req, err := protocol.Of(genwayv1.Protocol_PROTOCOL_MESSAGES).Codec.DecodeRequest([]byte(c.body))
				if err != nil {
					t.Fatal(err)
				}
				req.Wire = &genwayv1.WireMessage{Protocol: genwayv1.Protocol_PROTOCOL_MESSAGES, Json: []byte(c.body)}
				only := &stub{name: "only"}
				r := route.New([]route.Route{{Model: "*", Targets: []route.Target{{Name: "only", Upstream: only, Protocol: genwayv1.Protocol_PROTOCOL_MESSAGES, Catalog: known, Fit: fit}}}})
				resp, err := r.GenerateText(t.Context(), deferred.New(req.GenerateTextRequest))
				if fit && c.refused != "" {
					if err == nil || fault.From(err).Param != c.refused {
						t.Errorf("got %v, want a refusal of %s", err, c.refused)
					}
					return
				}
				if err != nil {
					t.Fatal(err)
				}
				var lost []string
				for _, l := range resp.GetLosses() {
					lost = append(lost, l.GetMember())
				}
				want, named := c.want, c.lost
				if !fit {
					want, named = c.body, ""
				}
				if got := string(only.seen.GetWire().GetJson()); got != want || strings.Join(lost, " ") != named {
					t.Errorf("got  %s, lost %v\nwant %s, lost %s", got, lost, want, named)
				}
			})
		}
	}
}

// The tokens of a request are counted as the model takes it.
func TestCountsFit(t *testing.T) {
	known, err := catalog.Parse("catalog.yaml", []byte("models:\n  - {model: m, max_output: 50, refuses: [temperature], thinking: [effort], tools: false}\n"))
	if err != nil {
		t.Fatal(err)
	}
	only := &stub{name: "only"}
	r := route.New([]route.Route{{Model: "*", Targets: []route.Target{{Name: "only", Upstream: only, Protocol: genwayv1.Protocol_PROTOCOL_MESSAGES, Catalog: known}}}})
	asked := &genwayv1.GenerateTextRequest{Model: "m", Thinking: &genwayv1.ThinkingConfig{BudgetTokens: new(int32(1024))}, Sampling: &genwayv1.Sampling{Temperature: new(0.5)}}
	resp, err := r.CountTokens(t.Context(), &genwayv1.CountTokensRequest{Request: asked})
	if err != nil {
		t.Fatal(err)
	}
	if only.seen.GetThinking().GetEffort() == "" || only.seen.GetThinking().BudgetTokens != nil || only.seen.GetSampling().Temperature != nil || len(resp.GetLosses()) != 2 {
		t.Errorf("got %v, losses %v", only.seen, resp.GetLosses())
	}
	asked.Tools = []*genwayv1.Tool{{Kind: &genwayv1.Tool_Function{Function: &genwayv1.FunctionTool{Name: "f"}}}}
	if _, err := r.CountTokens(t.Context(), &genwayv1.CountTokensRequest{Request: asked}); err == nil || fault.From(err).Param != "tools" {
		t.Errorf("got %v, want a refusal of tools", err)
	}
}
