package config

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"

	"github.com/genway/genway/core/config/strict"
	"github.com/genway/genway/core/glob"
	"github.com/genway/genway/internal/target"
	"github.com/genway/genway/protocol"
)

// Sandbox is the name of the upstream that is always there.
const Sandbox = "sandbox"

// Protocols returns the callers a route may be limited to: those of the registered protocols,
// and direct ones.
func Protocols() []string { return append(protocol.Kinds(), protocol.Direct.Kind) }

// Strategies returns the ways in which the targets of a route share its load.
func Strategies() []string { return []string{"weight", "least_busy", "fastest"} }

// Mistakes are reported with their place.
var wrong, quoted = strict.Wrong, strict.Quoted

// maxWeight bounds a target's weight, so that those of a route can be added.
const maxWeight = 1_000_000

// checks collects what is wrong.
type checks []error

// wrongf adds what is wrong at a place.
func (c *checks) wrongf(at, format string, args ...any) { c.add(wrong(at, format, args...)) }

// add adds errors, of which some may be nil.
func (c *checks) add(errs ...error) {
	for _, err := range errs {
		if err != nil {
			*c = append(*c, err)
		}
	}
}

// Validate demands that the parts fit together. The error joins all that do not, each with
// its place.
func (c *Config) Validate() error {
	var all checks
	all.add(checkStore(c.Store), checkPath("prices", c.Prices), checkPath("catalog", c.Catalog))
	for _, name := range slices.Sorted(maps.Keys(c.Upstreams)) {
		if name == "" || name != strings.TrimSpace(name) || !printable(name) {
			all.wrongf("$.upstreams", "expected a name of printable characters, got %q", name)
			continue
		}
		c.Upstreams[name].validate(&all, "$.upstreams."+quoted(name))
	}
	all.add(c.Ledger.validate("$.ledger"))
	for i, r := range c.Routes {
		c.checkRoute(&all, fmt.Sprintf("$.routes[%d]", i), r)
	}
	c.Limits.validate(&all, "$.limits")
	c.Console.validate(&all, "$.console")
	c.Captures.check(&all, "$.captures")
	return errors.Join(all...)
}

// target reads the target, whose port may be left to gRPC.
func (u Upstream) target() (target.Target, error) {
	to, err := target.Parse(u.Target)
	if errors.Is(err, target.ErrNoPort) {
		return target.Parse(u.Target + ":443")
	}
	return to, err
}

// printable reports whether a name can stand in logs, metrics and tables.
func printable(name string) bool {
	return !strings.ContainsFunc(name, func(c rune) bool { return !unicode.IsPrint(c) })
}

func (u Upstream) validate(all *checks, at string) {
	switch {
	case u.Kind == "":
		all.wrongf(at, "kind is missing; one of %s", strings.Join(Kinds(), ", "))
		return
	case !slices.Contains(Kinds(), u.Kind):
		all.wrongf(at+".kind", "%q is no kind; one of %s%s", u.Kind, strings.Join(Kinds(), ", "), strict.Meant(u.Kind, Kinds()))
		return
	case u.Kind == "generation" && u.Target == "":
		all.wrongf(at, "target is missing: the gRPC target of a Generation server, as in dns:///host:9090")
	case u.Kind != "generation" && u.Target != "":
		all.wrongf(at+".target", "only kind generation has a target; this is base_url's place")
		return
	}
	if _, err := u.target(); u.Target != "" && err != nil {
		all.wrongf(at+".target", "%v", err)
	}
	u.checkSettings(all, at)
	if u.Kind == "generation" || u.Kind == Sandbox {
		return
	}
	if !u.checkProvider(all, at) {
		return
	}
	u.checkRegion(all, at)
	switch {
	case u.BaseURL == "":
		all.wrongf(at, "base_url is missing")
	case u.Place() == nil || !strings.Contains(u.BaseURL, "${"):
		u.checkAddress(all, at)
	}
}

func (c *Config) checkRoute(all *checks, at string, r Route) {
	if r.Model == "" {
		all.wrongf(at, `model is missing: a name or a glob, "*" for all`)
	} else if !printable(r.Model) {
		all.wrongf(at+".model", "%q has a character that cannot be shown", r.Model)
	}
	if r.Protocols != nil && len(r.Protocols) == 0 {
		all.wrongf(at+".protocols", "it is empty; leave it out for all")
	}
	for i, p := range r.Protocols {
		if !slices.Contains(Protocols(), p) {
			all.wrongf(fmt.Sprintf("%s.protocols[%d]", at, i), "%q is no protocol; one of %s%s", p, strings.Join(Protocols(), ", "), strict.Meant(p, Protocols()))
		}
	}
	if len(r.Targets) == 0 {
		all.wrongf(at, "targets are missing")
	}
	if r.Strategy != "" && !slices.Contains(Strategies(), r.Strategy) {
		all.wrongf(at+".strategy", "%q is no strategy; one of %s%s", r.Strategy, strings.Join(Strategies(), ", "), strict.Meant(r.Strategy, Strategies()))
	}
	if r.Deadline < 0 {
		all.wrongf(at+".deadline", "expected a time above 0")
	}
	r.Capture.check(all, at+".capture")
	for _, list := range []struct {
		name    string
		targets []Target
	}{{"targets", r.Targets}, {"fallback", r.Fallback}} {
		for i, t := range list.targets {
			here := fmt.Sprintf("%s.%s[%d]", at, list.name, i)
			c.checkTarget(all, here, t)
			if t.Fit && t.Model == "" && glob.Is(r.Model) {
				all.wrongf(here+".fit", "the route is a glob; name the target's model")
			}
		}
	}
}

func (c *Config) checkTarget(all *checks, at string, t Target) {
	if t.Weight != nil && *t.Weight < 0 {
		all.wrongf(at+".weight", "expected at least 0, got %d", *t.Weight)
	}
	if t.Weight != nil && *t.Weight > maxWeight {
		all.wrongf(at+".weight", "expected at most %d, got %d", maxWeight, *t.Weight)
	}
	if !printable(t.Model) {
		all.wrongf(at+".model", "%q has a character that cannot be shown", t.Model)
	}
	if t.Upstream == "" {
		all.wrongf(at, "upstream is missing")
		return
	}
	u, ok := c.Upstreams[t.Upstream]
	if !ok && t.Upstream != Sandbox {
		all.wrongf(at+".upstream", "there is no upstream %q%s", t.Upstream, strict.Meant(t.Upstream, slices.Sorted(maps.Keys(c.Upstreams))))
		return
	}
	t.check(all, at, cmp.Or(u.Kind, Sandbox))
}
