package route_test

import (
	"strings"
	"testing"

	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/core/route"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

// A fallback is tried after calls that fail for its causes, in the order of the list, and no other one is.
func TestFallbackOn(t *testing.T) {
	context, policy := fault.New(fault.InvalidRequest, fault.ReasonContextLength, "long"), fault.New(fault.InvalidRequest, fault.ReasonContentPolicy, "no")
	down, both := fault.New(fault.Unavailable, "X", "down"), fault.New(fault.BadUpstream, fault.ReasonContextLength, "long")
	drawing, other := fault.New(fault.InvalidRequest, fault.ReasonImageBlocked, "no"), fault.New(fault.InvalidRequest, "X", "no")
	for name, c := range map[string]struct {
		errs []error // of first, context, all, policy, plain, by their places
		want string  // who was asked
	}{
		"failure":                   {[]error{down}, "first all"},
		"context":                   {[]error{context}, "first context"},
		"policy":                    {[]error{policy}, "first all"},
		"blocked drawing":           {[]error{drawing}, "first all"},
		"another mistake":           {[]error{other}, "first"},
		"a failure that names it":   {[]error{both}, "first context"},
		"context, then failure":     {[]error{context, down}, "first context all"},
		"context, then policy":      {[]error{context, policy, policy}, "first context all policy"},
		"all of them":               {[]error{context, context, down, nil, down}, "first context all plain"},
		"policy after all":          {[]error{policy, nil, policy, policy, nil}, "first all policy"},
		"no fallback for a mistake": {[]error{context, other}, "first context"},
	} {
		var stubs []*stub
		var targets []route.Target
		for i, f := range []struct {
			name string
			on   route.Cause
		}{{"first", 0}, {"context", route.Context}, {"all", route.Failure | route.Context | route.Policy}, {"policy", route.Policy}, {"plain", 0}} {
			s := &stub{name: f.name}
			if i < len(c.errs) {
				s.err = c.errs[i]
			}
			stubs = append(stubs, s)
			targets = append(targets, route.Target{Name: f.name, Upstream: s, On: f.on})
		}
		r := route.New([]route.Route{{Model: "*", Targets: targets[:1], Fallback: targets[1:]}})
		_, _ = ask(r, genwayv1.Protocol_PROTOCOL_UNSPECIFIED, "m")
		var asked []string
		for _, s := range stubs {
			if s.calls > 0 {
				asked = append(asked, s.name)
			}
		}
		if got := strings.Join(asked, " "); got != c.want {
			t.Errorf("%s: %s were asked, want %s", name, got, c.want)
		}
	}
}
