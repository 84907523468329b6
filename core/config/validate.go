package config

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/genway/genway/core/config/strict"
	"github.com/genway/genway/core/glob"
	"github.com/genway/genway/internal/target"
	"github.com/genway/genway/protocol"
	"github.com/goccy/go-yaml/ast"
)

// Sandbox is the name of the upstream that is always there.
const Sandbox = "sandbox"

// Protocols returns the protocols of callers that a route may be limited to: the registered ones,
// and direct ones.
func Protocols() []string { return append(protocol.Kinds(), protocol.Direct.Kind) }

// Strategies returns the ways in which the targets of a route share its load.
func Strategies() []string { return []string{"weight", "least_busy", "fastest"} }

// Causes are the words of Target.On.
func Causes() []string { return []string{"failure", "context", "policy"} }

// Mistakes are reported with their place.
var wrong, quoted = strict.Wrong, strict.Quoted

// maxWeight bounds a target's weight, so that the weights of a route can be added.
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

// printable reports whether a name can be written in logs, metrics and tables.
func printable(name string) bool {
	return !strings.ContainsFunc(name, func(c rune) bool { return !unicode.IsPrint(c) })
}

func (u Upstream) validate(all *checks, at string) {
	switch {
	case u.Kind == "":
		all.wrongf(at, "kind is missing; one of %s", strings.Join(Kinds(), ", "))
		return
	case !slices.Contains(Kinds(), u.Kind):
		all.wrongf(at+".kind", "%q is no kind; one of %s%s", u.Kind, strings.Join(Kinds(), ", "), kindOf(u.Kind))
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
			if len(t.On) > 0 && list.name == "targets" {
				all.wrongf(here+".on", "targets share the load; on says when a target of fallback is tried")
			}
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
	for i, cause := range t.On {
		switch {
		case !slices.Contains(Causes(), cause):
			all.wrongf(fmt.Sprintf("%s.on[%d]", at, i), "%q is no cause; one of %s%s", cause, strings.Join(Causes(), ", "), strict.Meant(cause, Causes()))
		case slices.Contains(t.On[:i], cause):
			all.wrongf(fmt.Sprintf("%s.on[%d]", at, i), "%s is there twice", cause)
		}
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
	kind := cmp.Or(u.Kind, Sandbox)
	switch p := protocol.ByKind(kind); {
	case t.Cache == "":
	case t.Cache != CacheAuto:
		all.wrongf(at+".cache", "%q is no policy; auto is the only one", t.Cache)
	case p == nil || p.Upstream.Breakpoints == nil:
		all.wrongf(at+".cache", "requests to an upstream of kind %s have no prompt-cache breakpoints to add; leave it out", kind)
	}
	t.check(all, at, kind)
}

// Warnings are what is allowed in the file and most likely not meant: routes that nothing
// can reach, weights without an effect, budgets without prices.
func (c *Config) Warnings() Errors { return c.warnings }

func (c *Config) findWarnings(file string, body ast.Node) {
	var all checks
	ahead := c.ahead()
	for _, name := range slices.Sorted(maps.Keys(c.Upstreams)) {
		c.Upstreams[name].warnOfClearText(&all, "$.upstreams."+quoted(name))
	}
	c.warnOfUnused(&all)
	for i, r := range c.Routes {
		at := fmt.Sprintf("$.routes[%d]", i)
		c.warnOfUnlisted(&all, at, r)
		if by, shadowed := c.shadowing(i, ahead); shadowed {
			all.wrongf(at+".model", "this route is never used: %s", by)
		}
		if len(r.Targets) == 1 && (r.Strategy != "" || r.Sticky != nil && *r.Sticky) {
			key := map[bool]string{true: "strategy", false: "sticky"}[r.Strategy != ""]
			all.wrongf(at+"."+key, "it has no effect: the route has one target")
		}
		if r.Capture != nil && !time.Time(r.Capture.Until).After(time.Now()) {
			all.wrongf(at+".capture.until", "it has no effect: the time has passed")
		}
		for j, t := range r.Targets {
			if t.Weight != nil && *t.Weight == 0 {
				all.wrongf(fmt.Sprintf("%s.targets[%d].weight", at, j), "0 is taken for 1; leave the target out to send it nothing")
			}
		}
		for j, t := range r.Fallback {
			if t.Weight != nil {
				all.wrongf(fmt.Sprintf("%s.fallback[%d].weight", at, j), "a fallback has no weight: those of a route are tried in their order")
			}
		}
	}
	if at := c.budgeted(); at != "" && c.Prices == "" && c.Limits.Unpriced != "allow" {
		all.wrongf(at, "there are budgets and no prices, so all requests under them are refused; %s", PricesRemedy)
	}
	warnings := strict.NewProblems(file, body)
	for _, w := range all {
		warnings.Add(w)
	}
	c.warnings, _ = warnings.Err().(Errors) //nolint:errorlint // that is what it is
}

// warnOfUnused warns of upstreams to which no route leads.
func (c *Config) warnOfUnused(all *checks) {
	used := map[string]bool{}
	for _, r := range c.Routes {
		for _, t := range slices.Concat(r.Targets, r.Fallback) {
			used[t.Upstream] = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.Upstreams)) {
		if !used[name] && len(c.Routes) > 0 {
			all.wrongf("$.upstreams."+quoted(name), "no route uses this upstream")
		}
	}
}

// warnOfUnlisted warns of a model that none of the route's upstreams has, where each of them lists its models.
func (c *Config) warnOfUnlisted(all *checks, at string, r Route) {
	var listed []string
	for _, t := range slices.Concat(r.Targets, r.Fallback) {
		names := c.Upstreams[t.Upstream].Models.Names
		if len(names) == 0 {
			return
		}
		for _, name := range names {
			if glob.Match(cmp.Or(t.Model, r.Model), name) {
				return
			}
		}
		listed = append(listed, names...)
	}
	if len(listed) > 0 {
		all.wrongf(at+".model", "none of the route's upstreams lists a model %s%s", r.Model, strict.Meant(r.Model, listed))
	}
}

// credentials are headers that have a credential, in lower case.
var credentials = []string{"authorization", "x-api-key", "api-key", "x-goog-api-key"}

// warnOfClearText warns of a credential, or of a call of the contract, that goes to another machine without encryption.
func (u Upstream) warnOfClearText(all *checks, at string) {
	if to, err := u.target(); u.Target != "" && err == nil && !u.TLS && to.Path == "" && !isLoopback(to.Host) {
		all.wrongf(at+".target", "calls go to %s in clear text; set tls: true", to.Host)
	}
	shows := u.APIKey != "" || u.APIKeyFile != "" || u.Auth != nil
	for name := range u.Headers {
		shows = shows || slices.Contains(credentials, strings.ToLower(name))
	}
	if to, err := url.Parse(u.BaseURL); shows && err == nil && to.Scheme == "http" && !isLoopback(to.Hostname()) {
		all.wrongf(at+".base_url", "the credential goes to %s in clear text; use https://", to.Hostname())
	}
}

// budgeted returns the place of the first budget; empty without one.
func (c *Config) budgeted() string {
	if c.Limits == nil {
		return ""
	}
	if k := c.Limits.Keys; k != nil && len(k.Budgets) > 0 {
		return "$.limits.keys.budgets"
	}
	for i, o := range c.Limits.Owners {
		if len(o.Budgets) > 0 {
			return fmt.Sprintf("$.limits.owners[%d].budgets", i)
		}
	}
	return ""
}

// ahead finds, for each protocol, the first route that matches a model.
type ahead map[string]*matching

// matching is the routes of a protocol.
type matching struct {
	routes []int // by their numbers in index
	index  *glob.Index
}

func (c *Config) ahead() ahead {
	all := ahead{}
	for _, protocol := range Protocols() {
		var m matching
		var models []string
		for i, r := range c.Routes {
			if len(r.Protocols) == 0 || slices.Contains(r.Protocols, protocol) {
				m.routes, models = append(m.routes, i), append(models, r.Model)
			}
		}
		m.index = glob.NewIndex(models)
		all[protocol] = &m
	}
	return all
}

// shadowing reports whether routes before one match all that it does, and which they are, in words.
func (c *Config) shadowing(route int, ahead ahead) (by string, all bool) {
	protocols := c.Routes[route].Protocols
	if len(protocols) == 0 {
		protocols = Protocols()
	}
	var first []int
	for _, protocol := range protocols {
		m := ahead[protocol]
		if m == nil {
			return "", false // a mistake, which is reported as such
		}
		// A star of the later pattern matches any text, so that only a star can match it. The route
		// itself is among those that do.
		n := m.index.First(c.Routes[route].Model, nil)
		if n < 0 || m.routes[n] >= route {
			return "", false
		}
		first = append(first, m.routes[n])
	}
	slices.Sort(first)
	var names []string
	for _, i := range slices.Compact(first) {
		names = append(names, fmt.Sprintf("routes[%d] (%s)", i, c.Routes[i].Model))
	}
	by = strings.Join(names, ", ") + " match first"
	if len(names) == 1 {
		by = names[0] + " matches first"
	}
	if len(names) == 1 && c.Routes[first[0]].Model == c.Routes[route].Model {
		by += "; to share the load, write all targets in one route"
	}
	return by, len(names) > 0
}
