// Package foreign makes a configuration of Genway of another gateway's, and says of each path of
// the source what has become of it: a setting that is dropped in silence is an outage later.
// Nothing is guessed: what the source does not say is left to the operator, by a finding.
//
// It reads bytes that it is given and nothing else. It must not import the packages that are
// configured, but for core/upstream/provider, which is data.
package foreign

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/genway/genway/core/config"
	"github.com/genway/genway/core/config/strict"
	"github.com/goccy/go-yaml"
)

// Class is what has become of a path of the source.
type Class string

// The classes.
const (
	// Exact is in the result, with the same meaning, or is what Genway does anyway.
	Exact Class = "exact"
	// Manual is left to the operator: it is in the result in part, or not at all, and the text
	// says what to do.
	Manual Class = "manual"
	// Unsupported is what Genway does not have.
	Unsupported Class = "unsupported"
)

// Finding is what has become of a path.
type Finding struct {
	// Path is as model_list[0].litellm_params.model.
	Path string
	// Line and Column are where in the source it is, from 1.
	Line, Column int
	Class        Class
	// Text says what has become of it, or what to do. It never has a secret of the source.
	Text string
}

// Result is what has become of a source.
type Result struct {
	// Config is the configuration in YAML; nil where no route could be made.
	Config []byte
	// Findings are in the order of the source. Each scalar of it is in one of them, by its own
	// path or by one above it.
	Findings []Finding
}

// upstream is one of the result.
type upstream struct {
	name   string
	kind   string
	fields yaml.MapSlice
}

// deployment is a target, and who it serves.
type deployment struct {
	group  string // what callers name
	target yaml.MapSlice
	weight *float64
	on     []string // the causes of a fallback; nil is failure
	order  int
	kind   string
	at     *node
}

// builder collects a result.
type builder struct {
	root      *node
	findings  map[*node]Finding
	upstreams []*upstream
	taken     map[string]int // names, and how many upstreams wanted them
	kept      []string       // upstreams that a finding names for routes of the operator's
	routes    []yaml.MapSlice
}

func newBuilder(file string, text []byte) (*builder, error) {
	body, err := strict.Parse(file, text)
	if err != nil {
		return nil, err
	}
	if body == nil {
		return nil, &config.Error{File: file, Text: "it is empty"}
	}
	root, err := read(file, body)
	if err != nil {
		return nil, err
	}
	return &builder{root: root, findings: map[*node]Finding{}, taken: map[string]int{}}, nil
}

// sayf notes what has become of a node. The first word on it counts; a node that is not there has none.
func (b *builder) sayf(n *node, class Class, format string, args ...any) {
	if n == nil {
		return
	}
	if _, said := b.findings[n]; !said {
		b.findings[n] = Finding{Path: n.path, Line: n.line, Column: n.column, Class: class, Text: fmt.Sprintf(format, args...)}
	}
}

// restatef replaces what was said of a node: it is left to the operator after all.
func (b *builder) restatef(n *node, format string, args ...any) {
	delete(b.findings, n)
	b.sayf(n, Manual, format, args...)
}

// upstream returns the name of the upstream that has these fields, which is a new one where
// there is none yet.
func (b *builder) upstream(name, kind string, fields yaml.MapSlice) string {
	fields = append(yaml.MapSlice{{Key: "kind", Value: kind}}, fields...)
	written := fmt.Sprint(fields)
	for _, u := range b.upstreams {
		if fmt.Sprint(u.fields) == written {
			return u.name
		}
	}
	if b.taken[name]++; b.taken[name] > 1 {
		name = fmt.Sprint(name, "-", b.taken[name])
	}
	b.upstreams = append(b.upstreams, &upstream{name: name, kind: kind, fields: fields})
	return name
}

// has reports whether an upstream has a field.
func (u *upstream) has(key string) bool {
	return slices.ContainsFunc(u.fields, func(f yaml.MapItem) bool { return f.Key == key })
}

// set sets a field of an upstream, unless it has it.
func (u *upstream) set(key string, value any) {
	if !u.has(key) {
		u.fields = append(u.fields, yaml.MapItem{Key: key, Value: value})
	}
}

// result writes the configuration, which is checked as any other.
func (b *builder) result(head string) (*Result, error) {
	r := &Result{Findings: b.all()}
	if len(b.routes) == 0 {
		return r, nil
	}
	upstreams := yaml.MapSlice{}
	written := fmt.Sprint(b.routes)
	for _, u := range b.upstreams {
		if !slices.Contains(b.kept, u.name) && !strings.Contains(written, fmt.Sprintf("{upstream %s}", u.name)) {
			continue // its only targets are left out
		}
		upstreams = append(upstreams, yaml.MapItem{Key: u.name, Value: u.fields})
	}
	text, err := yaml.MarshalWithOptions(yaml.MapSlice{{Key: "upstreams", Value: upstreams}, {Key: "routes", Value: b.routes}}, yaml.IndentSequence(true))
	if err != nil {
		return nil, fmt.Errorf("write the configuration: %w", err)
	}
	r.Config = append([]byte(head), text...)
	if _, err := config.ParseAlone("the result", r.Config); err != nil {
		return nil, fmt.Errorf("the source has values that a configuration of Genway cannot have: %w", err)
	}
	return r, nil
}

// all returns the findings in the order of the source. What nothing was said of is unsupported.
func (b *builder) all() []Finding {
	var list []Finding
	b.root.walk(func(n *node) (within bool) {
		f, said := b.findings[n]
		switch {
		case said:
			list = append(list, f)
		case n.leaf():
			list = append(list, Finding{n.path, n.line, n.column, Unsupported, "Genway has no such setting"})
		}
		return !said
	})
	return list
}

// route adds a route for a name that callers use.
func (b *builder) route(model string, targets, fallback []deployment, more ...yaml.MapItem) {
	r := yaml.MapSlice{{Key: "model", Value: model}, {Key: "targets", Value: b.weighted(targets)}}
	r = append(r, more...)
	if len(fallback) > 0 {
		var list []yaml.MapSlice
		for _, d := range fallback {
			target := slices.Clone(d.target)
			if d.on != nil {
				target = append(target, yaml.MapItem{Key: "on", Value: d.on})
			}
			list = append(list, target)
		}
		r = append(r, yaml.MapItem{Key: "fallback", Value: list})
	}
	b.routes = append(b.routes, r)
}

// weighted returns the targets of a route with their weights, in whole numbers of the same proportion.
func (b *builder) weighted(targets []deployment) []yaml.MapSlice {
	factor := 1.0
	for _, d := range targets {
		for d.weight != nil && factor < 1000 && *d.weight*factor != float64(int64(*d.weight*factor)) {
			factor *= 10
		}
	}
	var list []yaml.MapSlice
	for _, d := range targets {
		target := slices.Clone(d.target)
		if d.weight != nil && len(targets) > 1 {
			target = append(target, yaml.MapItem{Key: "weight", Value: int64(*d.weight * factor)})
		}
		list = append(list, target)
	}
	return list
}

// byPrecision sorts names that callers use: those without a * first, in their order, and then the longest, since
// the first route that matches serves a request.
func byPrecision(a, b string) int {
	stars := func(s string) int { return min(strings.Count(s, "*"), 1) }
	return cmp.Or(stars(a)-stars(b), stars(a)*(len(b)-len(a)))
}

// nonWord is what names of upstreams and of variables do not have.
var nonWord = regexp.MustCompile(`[^A-Za-z0-9]+`)

// variable returns a name of a variable of the environment, of words.
func variable(words ...string) string {
	return strings.ToUpper(strings.Trim(nonWord.ReplaceAllString(strings.Join(words, "_"), "_"), "_"))
}
