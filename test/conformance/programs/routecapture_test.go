package programs

import (
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	adminv1 "github.com/genway/genway/gen/genway/admin/v1"
	"github.com/genway/genway/test/conformance/caller"
	"github.com/genway/genway/test/conformance/vendors"
	"google.golang.org/grpc/codes"
)

// ofARoute is case X89: the rule of a route that the configuration gets captures the requests of all keys on that route and no
// other's, redacted as it says, for the key alone that may read them; without the rule none is captured.
func (c *captures) ofARoute(t *testing.T) {
	t.Helper()
	const before = `  - {model: "*-drain-messages-*", targets: [{upstream: drain-messages}]`
	text, err := os.ReadFile(c.file)
	if err != nil || !strings.Contains(string(text), before+"}") {
		t.Fatalf("the route is not in %s: %v", text, err)
	}
	rule := ", capture: {until: " + time.Now().UTC().Add(time.Hour).Format(time.RFC3339) + ", redact: [model]}}"
	c.reload(t, strings.Replace(string(text), before+"}", before+rule, 1), true)
	own, other := c.askOf(t, "drain-messages", 11, ""), c.askOf(t, "drain-chat", 12, "")
	c.awaits(t, own, codes.OK)
	for _, who := range []string{"viewer", "admin"} {
		if code := c.get(t, own, who); code != codes.PermissionDenied {
			t.Errorf("%s reads them: %v", who, code)
		}
	}
	got, err := c.admin.GetCapture(c.as(t, "reader"), &adminv1.GetCaptureRequest{Id: own})
	if err != nil || len(got.GetBodies()) < 4 {
		t.Fatalf("%v, %v", got, err)
	}
	for _, b := range got.GetBodies() {
		if strings.Contains(string(b.GetData()), "drain-messages-11") || b.GetKind() == adminv1.BodyKind_BODY_KIND_CALLER_REQUEST && (!b.GetRedacted() || !strings.Contains(string(b.GetData()), canaryPrompt)) {
			t.Errorf("%v is %s", b.GetKind(), b.GetData())
		}
	}
	if code := c.get(t, other, "reader"); code != codes.NotFound {
		t.Errorf("a request of another route is captured: %v", code)
	}
	c.reload(t, string(text), false)
	after := c.askOf(t, "drain-messages", 13, "")
	if code := c.get(t, after, "reader"); code != codes.NotFound {
		t.Errorf("a request is captured without a rule: %v", code)
	}
}

// reload loads another configuration into the core, and waits until it has the rule of a route, or has it no more.
func (c *captures) reload(t *testing.T, text string, ruled bool) {
	t.Helper()
	write(t, c.file, text)
	if err := c.Core.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(time.Minute); ; <-tick.C {
		running, err := c.admin.ListCaptureRules(c.as(t, "reader"), &adminv1.ListCaptureRulesRequest{})
		if err != nil {
			t.Fatal(err)
		}
		if slices.ContainsFunc(running.GetRules(), func(r *adminv1.RunningCapture) bool { return r.GetRoute() != "" }) == ruled {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("the rules are %v", running)
		}
	}
}

// askOf makes a call on the route of an upstream, by a key or the first one of its group, and returns its id in the ledger.
func (c *captures) askOf(t *testing.T, upstream string, n int, key string) string {
	t.Helper()
	model := vendors.Model(vendors.Answer, upstream, n)
	if seen := c.call(t, caller.Call{Protocol: "chat", Model: model, Key: key, Prompt: canaryPrompt}); seen.Status != 200 {
		t.Fatalf("%+v", seen)
	}
	c.row(t, n)
	for _, r := range c.list(t) {
		if r.GetModel() == model {
			return r.GetId()
		}
	}
	t.Fatalf("%s is not in the list", model)
	return ""
}
