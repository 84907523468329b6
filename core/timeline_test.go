package core_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/genway/genway/core"
	"github.com/genway/genway/core/call"
	"github.com/genway/genway/core/keys"
	"github.com/genway/genway/core/ledger"
	"github.com/genway/genway/core/limit"
	"github.com/genway/genway/core/route"
	"github.com/genway/genway/core/upstream/remote"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/genway/genway/protocol"
)

// The ledger's row says what a request went through: which target failed and why, which
// answered, in what order, and what was lost.
func TestTimelineOfAFallback(t *testing.T) {
	spoken := protocol.ByKind("messages")
	at := func(name string, answer http.HandlerFunc) route.Target {
		server := httptest.NewServer(answer)
		t.Cleanup(server.Close)
		u, err := remote.New(remote.Config{Protocol: spoken.ID, BaseURL: server.URL, HTTP: server.Client().Transport})
		if err != nil {
			t.Fatal(err)
		}
		return route.Target{Name: name, Upstream: u, Protocol: spoken.ID, Model: "theirs"}
	}
	busy := at("busy", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(529)
		_, _ = io.WriteString(w, `{"type":"error","error":{"type":"overloaded_error","message":"Busy, \nsk-other-1234567890"}}`)
	})
	good := at("good", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"id":"msg_1","type":"message","role":"assistant","model":"theirs","content":[{"type":"text","text":"Hi"}],"stop_reason":"end_turn","usage":{"input_tokens":1,"output_tokens":1}}`)
	})
	kept := &keeping{}
	recorder, err := ledger.Start(t.Context(), ledger.Config{Store: kept})
	if err != nil {
		t.Fatal(err)
	}
	service, err := core.New(core.Config{Upstream: route.New([]route.Route{{Model: "*", Targets: []route.Target{busy}, Fallback: []route.Target{good}}}), Ledger: recorder, Limiter: limit.New(limit.NewMemory(nil), limit.Rules{})})
	if err != nil {
		t.Fatal(err)
	}
	caller := call.Caller{Principal: keys.Principal{KeyID: "key_1", Policy: &keys.Policy{Limits: limit.Limits{RequestsPerMinute: 5}}}}
	ctx := call.With(context.WithoutCancel(t.Context()), &call.Record{Start: time.Now(), Caller: caller})
	_, err = service.GenerateText(ctx, &genwayv1.GenerateTextRequest{
		Model: "asked", MaxOutputTokens: new(int64(5)), Sampling: &genwayv1.Sampling{Seed: new(int64(7))},
		Messages: []*genwayv1.Message{{Role: genwayv1.Role_ROLE_USER, Parts: []*genwayv1.Part{{Kind: &genwayv1.Part_Text{Text: &genwayv1.Text{Text: "Hi"}}}}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := recorder.Close(); err != nil {
		t.Fatal(err)
	}
	e := kept.entries[1]
	line, ok := ledger.ParseTimeline(&e)
	if !ok || len(line.Attempts) != 2 || e.Losses != "seed" || e.UpstreamProtocol != spoken.Name {
		t.Fatalf("the row is %+v", e)
	}
	first, second := line.Attempts[0], line.Attempts[1]
	if first.Upstream != "busy" || first.Status != 529 || first.Kind != "overloaded" || first.Reason == "" || first.Message != "Busy, [REDACTED]" || second.Message != "" || second.Upstream != "good" || second.Status != 200 || second.Kind != "" || second.Protocol != spoken.Name || second.Model != "theirs" {
		t.Errorf("the attempts are %+v", line.Attempts)
	}
	// V19: the limits are a stage within the admission, and the choice of the route is one behind it.
	if l := line.Limits; l.End <= l.Begin || l.End > line.Admitted {
		t.Errorf("the limits are out of order: %+v", line)
	}
	if r := line.Route; r.Begin < line.Admitted || r.End <= r.Begin || r.Begin > first.Begin {
		t.Errorf("the route is out of order: %+v", line)
	}
	before := line.Admitted
	for i, a := range line.Attempts {
		for _, at := range []time.Duration{a.Begin, a.Connected, a.Headers, a.End} {
			if at == 0 || at < before {
				t.Errorf("attempt %d is out of order: %+v", i, line)
			}
			before = at
		}
	}
	if line.Settled < before {
		t.Errorf("it is settled ahead of its end: %+v", line)
	}
}
