package schema

import (
	"errors"
	"fmt"
	"hash/fnv"
	"math/big"
	"slices"
)

// maker makes values. One call of make answers one place in the instance, for all the
// schemas that apply there at once.
type maker struct {
	doc    *document
	seed   uint64
	hints  Hints
	lean   bool // leave out whatever may be left out
	steps  int
	active map[*node]int // references being followed
	used   used          // hints given away
}

// place is where in the instance a value goes.
type place struct {
	name    string // of the member the value is, or is an item of
	path    string
	index   int // in an array
	depth   int
	variant int // which of several values to make, from 0
}

// alternatives are schemas of which one has to hold: a branch is chosen by trying.
type alternatives struct {
	keyword  string
	where    string
	branches [][]*node
}

// conjunction are schemas that all hold at one place, with their references and allOf
// followed, and the choices among branches that are still open.
type conjunction struct {
	nodes   []*node
	open    []alternatives
	entered []*node
}

var (
	errRecursive = errors.New("the schema requires a value nested in itself without end")
	errSteps     = errors.New("too many values were tried")
)

// make returns a value for which every one of the nodes holds.
func (m *maker) make(nodes []*node, at place) (*value, error) {
	if m.steps--; m.steps < 0 {
		return nil, errSteps
	}
	if at.depth > deepestValue {
		return nil, fmt.Errorf("more than %d values would be nested", deepestValue)
	}
	var c conjunction
	err := m.gather(&c, nodes)
	defer m.leave(&c, 0)
	if err != nil {
		return nil, err
	}
	return m.choose(c, at)
}

// gather adds nodes to c with everything that follows from them.
func (m *maker) gather(c *conjunction, nodes []*node) error {
	for _, n := range nodes {
		if m.steps -= len(c.nodes) / 64; m.steps < 0 {
			return errSteps
		}
		if slices.Contains(c.nodes, n) {
			continue
		}
		if n.never {
			return fmt.Errorf("%s: the schema false allows nothing", n.where)
		}
		c.nodes = append(c.nodes, n)
		for _, reference := range n.references {
			target, err := m.doc.resolve(reference)
			if err != nil {
				return fmt.Errorf("%s/$ref: %w", n.where, err)
			}
			if slices.Contains(c.nodes, target) {
				continue
			}
			if m.active[target] >= refsActive {
				return fmt.Errorf("%s: %w", n.where, errRecursive)
			}
			m.active[target]++
			c.entered = append(c.entered, target)
			if err := m.gather(c, []*node{target}); err != nil {
				return err
			}
		}
		if err := m.gather(c, n.allOf); err != nil {
			return err
		}
		for _, dep := range n.dependentSchemas {
			if err := m.gather(c, []*node{dep.schema}); err != nil {
				return err
			}
		}
		c.open = append(c.open, n.choices()...)
	}
	return nil
}

// leave marks the references that c entered, from the given one on, as left.
func (m *maker) leave(c *conjunction, from int) {
	for _, target := range c.entered[from:] {
		m.active[target]--
	}
}

func (n *node) choices() []alternatives {
	var out []alternatives
	branches := func(keyword string, schemas []*node) {
		if schemas == nil {
			return
		}
		a := alternatives{keyword: keyword, where: n.where}
		for _, schema := range schemas {
			a.branches = append(a.branches, []*node{schema})
		}
		out = append(out, a)
	}
	branches("anyOf", n.anyOf)
	branches("oneOf", n.oneOf)
	if n.condition != nil {
		a := alternatives{keyword: "if", where: n.where, branches: [][]*node{{n.condition}, nil}}
		if n.yes != nil {
			a.branches[0] = append(a.branches[0], n.yes)
		}
		if n.no != nil {
			a.branches[1] = []*node{n.no}
		}
		out = append(out, a)
	}
	return out
}

// choose closes the open choices of c one by one, going back on those that fail.
func (m *maker) choose(c conjunction, at place) (*value, error) {
	if len(c.open) == 0 {
		return m.settle(c.nodes, at)
	}
	choice := c.open[0]
	var first error
	for _, branch := range m.order(choice.branches, at) {
		if m.steps--; m.steps < 0 {
			return nil, errSteps
		}
		next := conjunction{
			nodes: slices.Clone(c.nodes), open: slices.Clone(c.open[1:]), entered: slices.Clone(c.entered),
		}
		before := m.used
		err := m.gather(&next, branch)
		var v *value
		if err == nil {
			v, err = m.choose(next, at)
		}
		m.leave(&next, len(c.entered))
		if err == nil {
			return v, nil
		}
		m.used = before
		if first == nil {
			first = err
		}
	}
	if first == nil {
		return nil, fmt.Errorf("%s/%s: no branch to choose", choice.where, choice.keyword)
	}
	return nil, fmt.Errorf("%s/%s: no branch fits: %w", choice.where, choice.keyword, first)
}

// order puts the branches in the order of trial: from the one the seed picks on, with
// those that can only be null at the end, since null has the least content.
func (m *maker) order(branches [][]*node, at place) [][]*node {
	var telling, null [][]*node
	for _, b := range branches {
		if len(b) == 1 && b[0].kinds == kindNull {
			null = append(null, b)
		} else {
			telling = append(telling, b)
		}
	}
	if n := len(telling); n > 0 {
		from := m.pick(at, n)
		telling = append(slices.Clone(telling[from:]), telling[:from]...)
	}
	return append(telling, null...)
}

// pick returns a number below n that depends on the seed and the place; the seed 0
// picks 0.
func (m *maker) pick(at place, n int) int {
	if m.seed == 0 || n <= 1 {
		return 0
	}
	h := fnv.New64a()
	fmt.Fprintf(h, "%d %s", m.seed, at.path)
	return int(h.Sum64() % uint64(n))
}

// goal is what a conjunction asks of one value, as one set of keywords.
type goal struct {
	nodes []*node
	where string
	kinds kind
	// choices are the values of the first enum or const, or nil.
	choices  []*value
	suggests []*value

	lower, upper bound
	multiple     *big.Rat

	minLength, maxLength   int // maxLength and the other maxima are -1 when absent
	patterns               []*pattern
	format                 string
	minItems, maxItems     int
	minMembers, maxMembers int
	unique                 bool
	// tricky is whether a value has to be checked as a whole.
	tricky bool
}

func newGoal(nodes []*node) (*goal, error) {
	g := &goal{nodes: nodes, where: nodes[0].where, kinds: kindAny, maxLength: -1, maxItems: -1, maxMembers: -1}
	for _, n := range nodes {
		g.kinds &= n.kinds
		if g.choices == nil {
			g.choices = n.enum
		}
		g.suggests = append(g.suggests, n.suggests...)
		g.lower = stricter(g.lower, n.lower, 1)
		g.upper = stricter(g.upper, n.upper, -1)
		var err error
		if g.multiple, err = commonMultiple(g.multiple, n.multiple); err != nil {
			return nil, fmt.Errorf("%s: %w", n.where, err)
		}
		g.minLength, g.maxLength = max(g.minLength, n.minLength), lower(g.maxLength, n.maxLength)
		if n.pattern != nil {
			g.patterns = append(g.patterns, n.pattern)
		}
		if g.format == "" {
			g.format = n.format
		}
		g.minItems, g.maxItems = max(g.minItems, n.minItems), lower(g.maxItems, n.maxItems)
		g.minMembers, g.maxMembers = max(g.minMembers, n.minMembers), lower(g.maxMembers, n.maxMembers)
		g.unique = g.unique || n.unique
		g.tricky = g.tricky || n.tricky()
	}
	if g.kinds == 0 {
		return nil, fmt.Errorf("%s: no type is allowed by all of its schemas", g.where)
	}
	return g, nil
}

// lower returns the smaller of two maxima that are -1 when absent.
func lower(a, b int) int {
	if a < 0 || b >= 0 && b < a {
		return b
	}
	return a
}

// settle makes a value for schemas without open choices, in the order of preference
// that Options.Instance states.
func (m *maker) settle(nodes []*node, at place) (*value, error) {
	g, err := newGoal(nodes)
	if err != nil {
		return nil, err
	}
	if g.choices != nil {
		return m.enumerated(g, at)
	}
	if at.variant == 0 {
		for _, v := range append(m.hinted(g, at), g.suggests...) {
			if m.holds(g, v) && (v.kind != kindString || conforms(g.format, v.text)) {
				m.take(v)
				return v, nil
			}
		}
	}
	variants := 1
	if g.tricky {
		variants = maxVariants
	}
	var first error
	for range variants {
		before := m.used
		v, err := m.build(g, at)
		if err == nil && (!g.tricky || m.holds(g, v)) {
			return v, nil
		}
		m.used = before
		if err == nil {
			err = fmt.Errorf("%s: its keywords, taken together, exclude every value tried", g.where)
		}
		if first == nil {
			first = err
		}
		if m.steps < 0 {
			break
		}
		at.variant++
	}
	return nil, first
}

func (m *maker) holds(g *goal, v *value) bool {
	for _, n := range g.nodes {
		if !m.doc.valid(n, v, nil) {
			return false
		}
	}
	return true
}

// enumerated picks one of the values listed that satisfies all else: one the prompt
// names, or the one the seed picks. Null comes last.
func (m *maker) enumerated(g *goal, at place) (*value, error) {
	var fit, null []*value
	for _, v := range g.choices {
		if !m.holds(g, v) {
			continue
		}
		if v.kind == kindNull {
			null = append(null, v)
		} else {
			fit = append(fit, v)
		}
	}
	if at.variant == 0 {
		if v := m.hints.named(fit); v != nil {
			return v, nil
		}
	}
	if fit = append(fit, null...); len(fit) == 0 {
		return nil, fmt.Errorf("%s: no value of enum or const satisfies the rest of the schema", g.where)
	}
	return fit[(m.pick(at, max(len(fit)-len(null), 1))+at.variant)%len(fit)], nil
}

// kindOrder is the order in which types are tried where several are allowed.
var kindOrder = []kind{kindString, kindObject, kindArray, kindInteger, kindFraction, kindBoolean, kindNull}

// order is kindOrder with the types first that the keywords speak about.
func (g *goal) order() []kind {
	var out []kind
	constrained := kind(0)
	for _, n := range g.nodes {
		switch {
		case n.properties != nil || n.required != nil || n.minMembers > 0 || n.patterns != nil:
			constrained |= kindObject
		case n.items != nil || n.prefix != nil || n.contains != nil || n.minItems > 0:
			constrained |= kindArray
		case n.lower.value != nil || n.upper.value != nil || n.multiple != nil:
			constrained |= kindNumber
		}
	}
	if g.minLength > 0 || g.patterns != nil || g.format != "" {
		constrained |= kindString
	}
	for _, pass := range []kind{constrained, kindAny &^ constrained} {
		for _, k := range kindOrder {
			if g.kinds&pass&k != 0 {
				out = append(out, k)
			}
		}
	}
	return out
}

// build makes a value of the first type that can be made; variants begin with others.
func (m *maker) build(g *goal, at place) (*value, error) {
	kinds := g.order()
	var first error
	for i := range kinds {
		v, err := m.buildKind(g, kinds[(i+at.variant)%len(kinds)], at)
		if err == nil {
			return v, nil
		}
		if first == nil || errors.Is(first, errRecursive) {
			first = err
		}
	}
	return nil, first
}

func (m *maker) buildKind(g *goal, k kind, at place) (*value, error) {
	wish := int64(1 + m.pick(at, 9) + at.index + at.variant)
	var v *value
	var err error
	switch k {
	case kindNull:
		return &value{kind: kindNull}, nil
	case kindBoolean:
		// False first: it is the harmless answer to "force" and the like.
		return boolValue((m.pick(at, 2)+at.index+at.variant)%2 == 1), nil
	case kindInteger, kindFraction:
		v, err = g.number(k == kindInteger, wish)
	case kindString:
		v, err = m.text(g, at)
	case kindArray:
		return m.array(g, at)
	default:
		return m.object(g, at)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", g.where, err)
	}
	return v, nil
}
