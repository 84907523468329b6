package schema

import (
	"errors"
	"fmt"
	"hash/fnv"
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
