package config

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/genway/genway/core/config/strict"
	"github.com/genway/genway/core/glob"
	"github.com/goccy/go-yaml/ast"
)

// Warnings are what is allowed in the file and most likely not meant: routes that nothing
// can reach, weights without an effect, budgets without prices.
func (c *Config) Warnings() Errors { return c.warnings }

func (c *Config) findWarnings(file string, body ast.Node) {
	var all checks
	ahead := c.ahead()
	for _, name := range slices.Sorted(maps.Keys(c.Upstreams)) {
		c.Upstreams[name].warnOfClearText(&all, "$.upstreams."+quoted(name))
	}
	for i, r := range c.Routes {
		at := fmt.Sprintf("$.routes[%d]", i)
		if by, shadowed := c.shadowing(i, ahead); shadowed {
			all.wrongf(at+".model", "nothing comes to this route: %s", by)
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

// shadowing reports whether routes ahead of one match all that it does, and which they are, in words.
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
		// A star of the later pattern stands for any text, so that only a star can match it. The route
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
	return strings.Join(names, ", ") + " ahead of it takes all that it matches", len(names) > 0
}
