package config

import (
	"errors"
	"fmt"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/agnivade/levenshtein"
	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
)

// Sandbox is the name of the upstream that is always there.
const Sandbox = "sandbox"

// Protocols are the callers a route may be limited to.
var Protocols = []string{"chat", "responses", "messages", "generatecontent", "images", "grpc"}

// problem is what is wrong at a place: a YAML path ($.routes[0].model).
type problem struct{ path, text string }

func (p *problem) Error() string { return strings.TrimPrefix(p.path, "$.") + ": " + p.text }

func wrong(path, format string, args ...any) error {
	return &problem{path: path, text: fmt.Sprintf(format, args...)}
}

// quoted gives a name as a step of a YAML path.
func quoted(name string) string {
	if strings.ContainsAny(name, ".[]*$ ") {
		return "'" + name + "'"
	}
	return name
}

// Validate demands that the parts fit together. The error names the place.
func (c *Config) Validate() error {
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
	for i, r := range c.Routes {
		if err := c.checkRoute(fmt.Sprintf("$.routes[%d]", i), r); err != nil {
			return err
		}
	}
	return nil
}

func (u Upstream) validate(at string) error {
	switch {
	case u.Kind == "":
		return wrong(at, "kind is missing; one of %s", strings.Join(Kinds, ", "))
	case !slices.Contains(Kinds, u.Kind):
		return wrong(at+".kind", "%q is no kind; one of %s", u.Kind, strings.Join(Kinds, ", "))
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
			return wrong(fmt.Sprintf("%s.protocols[%d]", at, i), "%q is no protocol; one of %s", p, strings.Join(Protocols, ", "))
		}
	}
	if len(r.Targets) == 0 {
		return wrong(at, "targets are missing")
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
	if _, ok := c.Upstreams[t.Upstream]; !ok && t.Upstream != Sandbox {
		hint := ""
		for name := range c.Upstreams {
			if levenshtein.ComputeDistance(name, t.Upstream) < 3 {
				hint = fmt.Sprintf("; did you mean %q?", name)
			}
		}
		return wrong(at+".upstream", "there is no upstream %q%s", t.Upstream, hint)
	}
	if t.Weight < 0 {
		return wrong(at+".weight", "expected at least 0, got %d", t.Weight)
	}
	return nil
}

// located gives a problem's place in the file.
func located(file string, body ast.Node, err error) error {
	var p *problem
	if !errors.As(err, &p) {
		return err
	}
	e := &Error{File: file, Text: p.Error()}
	if where, err := yaml.PathString(p.path); err == nil {
		if node, err := where.FilterNode(body); err == nil && node != nil {
			at := node.GetToken().Position
			e.Line, e.Column = at.Line, at.Column
		}
	}
	return e
}
