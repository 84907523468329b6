package schema

import "fmt"

// array makes an array of the fewest items allowed, but of one if it may have one, and
// of all those that prefixItems lists.
func (m *maker) array(g *goal, at place) (*value, error) {
	count, contained, prefix := g.minItems, 0, 0
	for _, n := range g.nodes {
		prefix = max(prefix, len(n.prefix))
		if n.contains != nil {
			contained += n.minContained()
		}
	}
	if !m.lean && at.variant%2 == 0 {
		count = max(count, prefix, 1)
	}
	count = max(count, contained)
	if g.maxItems >= 0 {
		count = min(count, g.maxItems)
	}
	least := max(g.minItems, min(contained, count))
	if least > maxMade || g.minItems > count {
		return nil, fmt.Errorf("%s: an array of %d items is asked for, of at most %d", g.where, least, min(count, maxMade))
	}
	count = min(count, maxMade)

	v := &value{kind: kindArray}
	for i := range count {
		before := m.used
		item, err := m.item(g, v.items, at)
		if err != nil {
			if m.used = before; i < least {
				return nil, err
			}
			break
		}
		v.items = append(v.items, item)
	}
	return v, nil
}

// item makes the item that follows those made, and differs from them if it has to.
func (m *maker) item(g *goal, made []*value, at place) (*value, error) {
	index := len(made)
	schemas := m.itemSchemas(g, index)
	at.path, at.index = fmt.Sprintf("%s/%d", at.path, index), index
	at.depth++
	variants := 1
	if g.unique {
		variants = maxVariants + 2*index
	}
	for range variants {
		v, err := m.make(schemas, at)
		if err != nil {
			return nil, err
		}
		if m.steps -= index / 1024; !g.unique || !contains(made, v) {
			return v, nil
		}
		at.variant++
	}
	return nil, fmt.Errorf("%s/uniqueItems: %d different items could not be found", g.where, index+1)
}

// itemSchemas are the schemas of the item at index. The first items are also those
// that contains asks for, of one schema after the other.
func (m *maker) itemSchemas(g *goal, index int) []*node {
	var schemas []*node
	reserved := 0
	for _, n := range g.nodes {
		if s := n.schemaAt(index); s != nil {
			schemas = append(schemas, s)
		}
		if n.contains != nil {
			if from := reserved; index >= from && index < from+n.minContained() {
				schemas = append(schemas, n.contains)
			}
			reserved += n.minContained()
		}
	}
	for _, n := range g.nodes {
		if len(schemas) == 0 && n.unevaluatedItems != nil {
			schemas = append(schemas, n.unevaluatedItems)
		}
	}
	if schemas == nil {
		schemas = []*node{m.doc.anything}
	}
	return schemas
}
