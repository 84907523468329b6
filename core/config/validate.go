package config

import (
	"cmp"
	"fmt"
	"maps"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/genway/genway/core/config/strict"
)

// Sandbox is the name of the upstream that is always there.
const Sandbox = "sandbox"

// Protocols are the callers a route may be limited to.
var Protocols = []string{"chat", "responses", "messages", "generatecontent", "images", "grpc"}

// What is wrong is told with its place.
var wrong, quoted = strict.Wrong, strict.Quoted

// Validate demands that the parts fit together. The error names the place.
func (c *Config) Validate() error {
	if err := checkStore(c.Store); err != nil {
		return err
	}
	names := make([]string, 0, len(c.Upstreams))
	for name := range c.Upstreams {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		if err := c.Upstreams[name].validate("$.upstreams." + quoted(name)); err != nil {
			return err
		}
	}
	if err := c.Ledger.validate("$.ledger"); err != nil {
		return err
	}
	for i, r := range c.Routes {
		if err := c.checkRoute(fmt.Sprintf("$.routes[%d]", i), r); err != nil {
			return err
		}
	}
	return c.Limits.validate("$.limits")
}

func (u Upstream) validate(at string) error {
	switch {
	case u.Kind == "":
		return wrong(at, "kind is missing; one of %s", strings.Join(Kinds, ", "))
	case !slices.Contains(Kinds, u.Kind):
		return wrong(at+".kind", "%q is no kind; one of %s%s", u.Kind, strings.Join(Kinds, ", "), strict.Meant(u.Kind, Kinds))
	case u.Kind == "generation" && u.Target == "":
		return wrong(at, "target is missing: the gRPC target of a Generation server, as in dns:///host:9090")
	case u.Kind != "generation" && u.Target != "":
		return wrong(at+".target", "only kind generation has a target; this is base_url's place")
	}
	if err := u.checkSettings(at); err != nil || u.Kind == "generation" || u.Kind == Sandbox {
		return err
	}
	if u.BaseURL == "" {
		return wrong(at, "base_url is missing")
	}
	base, err := url.Parse(u.BaseURL)
	if err != nil || base.Host == "" || (base.Scheme != "http" && base.Scheme != "https") {
		return wrong(at+".base_url", "%q is no http(s) URL", u.BaseURL)
	}
	return nil
}

func (c *Config) checkRoute(at string, r Route) error {
	if r.Model == "" {
		return wrong(at, `model is missing: a name or a glob, "*" for all`)
	}
	if _, err := path.Match(r.Model, ""); err != nil {
		return wrong(at+".model", "%q is no glob", r.Model)
	}
	for i, p := range r.Protocols {
		if !slices.Contains(Protocols, p) {
			return wrong(fmt.Sprintf("%s.protocols[%d]", at, i), "%q is no protocol; one of %s%s", p, strings.Join(Protocols, ", "), strict.Meant(p, Protocols))
		}
	}
	if len(r.Targets) == 0 {
		return wrong(at, "targets are missing")
	}
	if r.Deadline < 0 {
		return wrong(at+".deadline", "expected a time above 0")
	}
	for _, list := range []struct {
		name    string
		targets []Target
	}{{"targets", r.Targets}, {"fallback", r.Fallback}} {
		for i, t := range list.targets {
			if err := c.checkTarget(fmt.Sprintf("%s.%s[%d]", at, list.name, i), t); err != nil {
				return err
			}
		}
	}
	return nil
}

func (c *Config) checkTarget(at string, t Target) error {
	if t.Upstream == "" {
		return wrong(at, "upstream is missing")
	}
	u, ok := c.Upstreams[t.Upstream]
	if !ok && t.Upstream != Sandbox {
		return wrong(at+".upstream", "there is no upstream %q%s", t.Upstream, strict.Meant(t.Upstream, slices.Sorted(maps.Keys(c.Upstreams))))
	}
	if t.Weight < 0 {
		return wrong(at+".weight", "expected at least 0, got %d", t.Weight)
	}
	return t.check(at, cmp.Or(u.Kind, Sandbox))
}
