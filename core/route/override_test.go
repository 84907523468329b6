package route_test

import (
	"bytes"
	"context"
	"testing"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/core/call"
	"github.com/genway/genway/core/override"
	"github.com/genway/genway/core/route"
	"github.com/genway/genway/core/upstream"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
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
	resp, err := r.GenerateText(t.Context(), req)
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
		err := r.StreamGenerateText(t.Context(), warm(), func(ev *genwayv1.StreamGenerateTextResponse) error {
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

func (s scripted) StreamGenerateText(_ context.Context, _ *genwayv1.GenerateTextRequest, send upstream.Send) error {
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
	resp, err := r.GenerateText(t.Context(), warm())
	if err != nil || len(resp.GetLosses()) != 1 || resp.GetLosses()[0].GetMember() != "sampling.temperature" {
		t.Fatalf("%v, %v", resp, err)
	}
	calls := only.calls
	_, err = r.GenerateText(call.With(t.Context(), &call.Record{Strict: true}), warm())
	if f := fault.From(err); f.Kind != fault.InvalidRequest || f.Param != "sampling.temperature" || only.calls != calls {
		t.Errorf("a strict caller: %v, %d calls more", err, only.calls-calls)
	}
	routes[0].Strict = true
	r.Swap(routes)
	_, err = r.GenerateText(t.Context(), warm())
	if f := fault.From(err); f.Kind != fault.InvalidRequest || only.calls != calls {
		t.Errorf("a strict route: %v, %d calls more", err, only.calls-calls)
	}
	if _, err := r.GenerateText(t.Context(), &genwayv1.GenerateTextRequest{Model: "m"}); err != nil {
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
		resp, err := r.GenerateText(call.With(t.Context(), &call.Record{Strict: true}), &genwayv1.GenerateTextRequest{Model: "claude-opus-4-1"})
		if err != nil || len(resp.GetLosses()) != 0 || only.seen.GetMaxOutputTokens() != tt.want || (only.seen.MaxOutputTokens != nil) != (tt.want > 0) {
			t.Errorf("%s: %v, %v, the upstream sees %v", name, resp.GetLosses(), err, only.seen)
		}
	}
}
