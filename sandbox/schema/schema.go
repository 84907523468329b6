// Package schema makes an instance of a JSON Schema: the arguments of a tool call or
// the structured answer that the sandbox gives where a vendor would have a model write
// one. The same schema, seed and hints always give the same bytes.
//
// It reads JSON Schema 2020-12 with what is still common of older drafts (definitions,
// tuples in items, boolean exclusiveMinimum, dependencies) and the OpenAPI subset that
// Gemini's Schema type uses (types in capitals, nullable, propertyOrdering, counts as
// strings). A value is constructed keyword by keyword and then validated by the
// package's own checker, so whatever is returned is valid; what cannot be satisfied, or
// not within the bounds of limits.go, is an error that names the place in the schema.
//
// Keywords that an SDK has moved into a description count as well (see described.go).
//
// Formats are annotations, as 2020-12 has it: generated text follows them wherever
// the length allows. Only references inside the document are followed.
//
// The package maps bytes to bytes: it must not import gen, codec or gateway.
package schema

import (
	"errors"
	"fmt"
)

// Options choose one of the many instances. The zero value makes the plainest.
type Options struct {
	// Seed varies what the schema leaves open: enum values, branches, words, numbers.
	// Zero takes the first of everything.
	Seed uint64
	// Hints are values that members should have where the schema allows it.
	Hints Hints
}

// Instance returns a compact JSON text that validates against schema.
//
// Objects have all their listed properties, in propertyOrdering or the schema's order,
// but for optional ones that cannot be had (a recursive structure ends where an
// optional member, an empty array or null lets it). Arrays have the fewest items
// allowed, though at least one. A value is, in this order: const or one of enum, a
// hint, a valid default or example, or made up.
//
// An error says that the schema is no schema, or that no instance was found, and where.
func (o Options) Instance(schema []byte) ([]byte, error) {
	root, err := parse(schema)
	if err != nil {
		return nil, fmt.Errorf("read the schema: %w", err)
	}
	doc := newDocument(root)
	out, err := o.instance(doc)
	if err != nil && doc.described {
		doc = newDocument(root)
		doc.literal = true
		out, err = o.instance(doc)
	}
	return out, err
}

func (o Options) instance(doc *document) ([]byte, error) {
	n, err := doc.compile(doc.root, "#")
	if err != nil {
		return nil, err
	}
	// A schema of many recursive members can exhaust the steps when everything optional
	// is filled; then only what is required is tried.
	for _, lean := range []bool{false, true} {
		m := &maker{doc: doc, seed: o.Seed, hints: o.Hints, lean: lean, steps: maxSteps, active: map[*node]int{}}
		doc.checks = maxChecks
		v, makeErr := m.make([]*node{n}, place{})
		if makeErr == nil && doc.valid(n, v, nil) {
			out := v.append(nil)
			if len(out) > maxBytes {
				return nil, fmt.Errorf("the instance would have %d bytes, more than %d", len(out), maxBytes)
			}
			return out, nil
		}
		exhausted := m.steps < 0 || doc.checks < 0
		switch {
		case exhausted:
			err = errors.New("no instance was found: the schema is too complex")
		case makeErr != nil:
			err = makeErr
		default:
			err = errors.New("no instance was found: the keywords of #, taken together, exclude every value tried")
		}
		if !exhausted && makeErr != nil {
			break
		}
	}
	return nil, err
}
