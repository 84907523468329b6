package coreproc

import (
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	adminv1 "github.com/genway/genway/gen/genway/admin/v1"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/genway/genway/sandbox"
)

// What is reported of the configuration in force is what the file says, without its secrets.
func TestTopology(t *testing.T) {
	file := filepath.Join(t.TempDir(), "genway.yaml")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(`upstreams:
  one: {kind: chat, base_url: "https://one.example/v1", api_key: canary, max_concurrent: 7}
  two: {kind: messages, base_url: "https://two.example"}
routes:
  - {model: "a*", strategy: least_busy, targets: [{upstream: one, weight: 3, set: {temperature: 0.5}}], fallback: [{upstream: two, model: b, cache: auto}]}
  - {model: "*", protocols: [messages], deadline: 5s, targets: [{upstream: two}, {upstream: sandbox}], capture: {share: 0.5, until: 2020-01-01}}
`)
	embedded := sandbox.New(sandbox.Config{TextModel: "text", ImageModel: "image"})
	r, err := NewRouting(file, embedded, nil, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() })
	ups := r.Upstreams()
	if len(ups) != 3 || ups[0].GetName() != "one" || ups[0].GetProtocol() != genwayv1.Protocol_PROTOCOL_CHAT_COMPLETIONS || ups[0].GetMost() != 7 || !ups[0].GetHealthy() || ups[0].GetBreaker() != adminv1.Breaker_BREAKER_CLOSED ||
		!strings.HasPrefix(ups[0].GetAddress(), "https://one.example/v1") || !slices.Equal(ups[2].GetRoutes(), []string{"a*", "*"}) || ups[1].GetAddress() != "" || ups[1].GetProtocol() != genwayv1.Protocol_PROTOCOL_UNSPECIFIED {
		t.Errorf("the upstreams are %v", ups)
	}
	routes := r.Routes()
	if len(routes) != 2 || routes[0].GetStrategy() != "least_busy" || routes[0].GetTargets()[0].GetWeight() != 3 || !strings.Contains(routes[0].GetTargets()[0].GetOverrides(), "temperature") ||
		routes[0].GetFallback()[0].GetModel() != "b" || routes[0].GetFallback()[0].GetOverrides() != "cache auto" || !slices.Equal(routes[1].GetProtocols(), []genwayv1.Protocol{genwayv1.Protocol_PROTOCOL_MESSAGES}) || routes[1].GetDeadline().GetSeconds() != 5 ||
		routes[0].GetCapture() != nil || routes[1].GetCapture().GetShare() != 0.5 || routes[1].GetCapture().GetUntil().AsTime().Year() != 2020 {
		t.Errorf("the routes are %v", routes)
	}
	c := r.Configuration()
	if c.GetSource() != file || c.GetHash() != r.Hash() || !c.GetCurrent() || !strings.Contains(c.GetYaml(), "https://one.example/v1") || strings.Contains(c.GetYaml(), "canary") || c.GetProblem() != "" {
		t.Errorf("the configuration is %v", c)
	}
	write("api_key: canary")
	if c = r.Configuration(); c.GetCurrent() || c.GetProblem() != "" || strings.Contains(c.String(), "canary") {
		t.Errorf("a file that was changed and is not in force: %v", c)
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if c = r.Configuration(); c.GetCurrent() || c.GetProblem() == "" {
		t.Errorf("a file that was removed: %v", c)
	}
}
