package explain_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/genway/genway/core/catalog"
	"github.com/genway/genway/core/config"
	"github.com/genway/genway/core/explain"
	"github.com/genway/genway/core/override"
	"github.com/genway/genway/core/route"
	"github.com/genway/genway/core/upstream/remote"
	adminv1 "github.com/genway/genway/gen/genway/admin/v1"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

// The setting of the example is mapped, lost or refused, an operator may set, drop or refuse it, and the X-ray
// says so.
func TestMood(t *testing.T) {
	for kind, set := range map[string]bool{"chat": true, "responses": true, "messages": false, "generatecontent": false} {
		text := "upstreams: {u: {kind: " + kind + ", base_url: http://x}}\nroutes: [{model: m, targets: [{upstream: u, set: {mood: calm}}]}]\n"
		if _, err := config.Parse("f", []byte(text), nil); (err == nil) != set {
			t.Errorf("set for an upstream of kind %s: %v", kind, err)
		}
	}
	if !slices.Contains(catalog.Refusable(), "mood") {
		t.Error("a model's row cannot refuse it")
	}
	drop, err := override.New(override.Rules{Drop: []string{"mood"}})
	if err != nil {
		t.Fatal(err)
	}
	const body = `{"model":"m","messages":[{"role":"user","content":"hi"}],"mood":"calm"}`
	for _, c := range []struct {
		protocol  genwayv1.Protocol
		overrides *override.Overrides
		fate      adminv1.Fate
		arrives   string
		reason    string
	}{
		{genwayv1.Protocol_PROTOCOL_CHAT_COMPLETIONS, nil, adminv1.Fate_FATE_KEPT, "mood", ""},
		{genwayv1.Protocol_PROTOCOL_CHAT_COMPLETIONS, drop, adminv1.Fate_FATE_LOST, "", "configuration"},
		{genwayv1.Protocol_PROTOCOL_RESPONSES, nil, adminv1.Fate_FATE_MAPPED, "text.mood", ""},
		{genwayv1.Protocol_PROTOCOL_MESSAGES, nil, adminv1.Fate_FATE_LOST, "", "no place"},
		{genwayv1.Protocol_PROTOCOL_GENERATE_CONTENT, nil, adminv1.Fate_FATE_REFUSED, "", "cannot"},
	} {
		made, err := remote.New(remote.Config{Protocol: c.protocol, BaseURL: "http://127.0.0.1:1/v1"})
		if err != nil {
			t.Fatal(err)
		}
		e := &explain.Explainer{Router: route.New([]route.Route{{Model: "m", Targets: []route.Target{{Name: "u", Protocol: c.protocol, Upstream: made, Overrides: c.overrides}}}})}
		resp, err := e.Explain(context.Background(), &adminv1.ExplainRequest{Protocol: genwayv1.Protocol_PROTOCOL_CHAT_COMPLETIONS, Body: []byte(body)})
		if err != nil {
			t.Fatal(err)
		}
		at := slices.IndexFunc(resp.GetMembers(), func(m *adminv1.ExplainedMember) bool { return m.GetPath() == "mood" })
		if at < 0 {
			t.Fatalf("%v: no mood among %v", c.protocol, resp.GetMembers())
		}
		m := resp.GetMembers()[at]
		if m.GetFate() != c.fate || strings.Join(m.GetArrives(), " ") != c.arrives || !strings.Contains(m.GetReason(), c.reason) {
			t.Errorf("%v: %v", c.protocol, m)
		}
	}
}
