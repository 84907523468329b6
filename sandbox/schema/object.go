package schema

import (
	"fmt"
	"slices"
	"strconv"
)

// object makes an object with every listed and required member that can be had.
func (m *maker) object(g *goal, at place) (*value, error) {
	required := g.required(nil)
	if len(required.list) > maxMade || g.minMembers > maxMade {
		return nil, fmt.Errorf("%s: an object of more than %d members is asked for", g.where, maxMade)
	}
	v := &value{kind: kindObject}
	for _, name := range g.names(required) {
		needed := required.has[name]
		// Variants other than the first leave more and more out, down to what is required.
		if !needed && (m.lean || at.variant%2 == 1) {
			continue
		}
		before := m.used
		made, err := m.member(g, name, at)
		if err == nil {
			v.members = append(v.members, member{name, made})
			continue
		}
		if m.used = before; needed {
			return nil, err
		}
	}
	v.members = g.trim(v.members, required)
	return v, m.pad(g, v, at)
}

// member makes the value of one member.
func (m *maker) member(g *goal, name string, at place) (*value, error) {
	var schemas []*node
	for _, n := range g.nodes {
		if n.names != nil && !m.doc.valid(n.names, textValue(name), nil) {
			return nil, fmt.Errorf("%s/propertyNames: excludes the member %.60q", n.where, name)
		}
		schemas = append(schemas, n.schemasOf(name)...)
	}
	if schemas == nil {
		// Only unevaluatedProperties can bear on a member that no other keyword names.
		for _, n := range g.nodes {
			if n.unevaluatedProperties != nil && !n.unevaluatedProperties.never {
				schemas = append(schemas, n.unevaluatedProperties)
			}
		}
	}
	if schemas == nil {
		schemas = []*node{m.doc.anything}
	}
	at.name, at.path, at.index = name, at.path+"/"+name, 0
	at.depth++
	return m.make(schemas, at)
}

// names is an ordered set of member names.
type names struct {
	list []string
	has  map[string]bool
}

func (n *names) add(more ...string) {
	for _, name := range more {
		if !n.has[name] {
			n.has[name] = true
			n.list = append(n.list, name)
		}
	}
}

// required are the names given and those of the members that must be there with them.
func (g *goal) required(present []string) *names {
	out := &names{has: map[string]bool{}}
	out.add(present...)
	for _, n := range g.nodes {
		out.add(n.required...)
	}
	for size := -1; size != len(out.list); {
		size = len(out.list)
		for _, n := range g.nodes {
			for _, dep := range n.dependentRequired {
				if out.has[dep.name] {
					out.add(dep.needs...)
				}
			}
		}
	}
	return out
}

// names are the members to make in their order: propertyOrdering, then the order of
// the schemas, then what is required without being listed.
func (g *goal) names(required *names) []string {
	declared, out := &names{has: map[string]bool{}}, &names{has: map[string]bool{}}
	for _, n := range g.nodes {
		for _, p := range n.properties {
			declared.add(p.name)
		}
	}
	for _, n := range g.nodes {
		for _, name := range n.ordering {
			if declared.has[name] {
				out.add(name)
			}
		}
	}
	out.add(declared.list...)
	out.add(required.list...)
	// What a listed member requires beside itself comes last.
	return g.required(out.list).list
}

// trim drops optional members, the last ones first, until maxProperties holds.
func (g *goal) trim(members []member, required *names) []member {
	for i := len(members) - 1; i >= 0 && g.maxMembers >= 0 && len(members) > g.maxMembers; i-- {
		if !required.has[members[i].name] {
			members = slices.Delete(members, i, i+1)
		}
	}
	return members
}

// pad adds members of made-up names until minProperties holds.
func (m *maker) pad(g *goal, v *value, at place) error {
	var failed error
	for i := 1; len(v.members) < g.minMembers; i++ {
		if i > 2*g.minMembers+maxVariants || m.steps < 0 {
			return fmt.Errorf("%s/minProperties: too few members are allowed: %w", g.where, failed)
		}
		name, err := m.freshName(g, i, at)
		if err == nil && v.get(name) == nil {
			var made *value
			if made, err = m.member(g, name, at); err == nil {
				v.members = append(v.members, member{name, made})
			}
		}
		if err != nil {
			failed = err
		} else if failed == nil {
			failed = fmt.Errorf("no other name than %.60q is allowed", name)
		}
	}
	return nil
}

// freshName makes the i-th name that propertyNames and patternProperties may allow.
func (m *maker) freshName(g *goal, i int, at place) (string, error) {
	at.name, at.index, at.variant = "name", i, i
	var schemas []*node
	for _, n := range g.nodes {
		if n.names != nil {
			schemas = append(schemas, n.names)
		}
	}
	if schemas != nil {
		at.depth++
		v, err := m.make(append(schemas, m.doc.name), at)
		if err != nil {
			return "", err
		}
		return v.text, nil
	}
	for _, n := range g.nodes {
		if n.additional == nil || !n.additional.never {
			continue
		}
		for _, p := range n.patterns {
			return p.pattern.generate(i, 1)
		}
	}
	return "key" + strconv.Itoa(i), nil
}
