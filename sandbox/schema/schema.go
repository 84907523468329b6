// Package schema makes an instance of a JSON Schema: the arguments of a tool call or
// the structured answer that the sandbox writes where a vendor would have a model write
// one. The same schema, seed and hints always give the same bytes.
//
// It reads JSON Schema 2020-12 with what is still common of older drafts (definitions,
// tuples in items, boolean exclusiveMinimum, dependencies) and the OpenAPI subset that
// Gemini's Schema type uses (types in capitals, nullable, propertyOrdering, counts as
// strings). A value is constructed keyword by keyword and then validated by the
// package's own checker, so whatever is returned is valid; what cannot be satisfied, or
// not within the bounds below, is an error that names the place in the schema.
//
// Keywords that an SDK has moved into a description count as well (see withDescribed).
//
// Formats are annotations, as 2020-12 has it: generated text follows them wherever
// the length allows. Only references inside the document are followed.
//
// The package maps bytes to bytes: it must not import gen, codec or gateway.
package schema

import (
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
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

// The bounds of the work and of its result. Schemas come from callers.
const (
	deepestSchema = 256     // nested values in a schema or an instance
	deepestValue  = 64      // nested values that are made
	maxSteps      = 20_000  // values tried for one instance
	maxChecks     = 400_000 // schemas checked against a value for one instance
	maxBytes      = 1 << 20 // of the instance
	longestText   = 64 << 10
	maxMade       = 4096    // of one array or object that is made
	longestNumber = 400     // characters of a number, and its largest exponent
	maxBits       = 8192    // of a common multiple
	maxMatching   = 1 << 24 // bytes of a pattern times bytes of a string
	maxWriting    = 1 << 18 // nodes of a pattern visited to write one string
	maxVariants   = 12      // different values tried where keywords exclude some
	refsActive    = 2       // times one reference may be nested in itself
)

// document is one schema text: its values, the schemas compiled of them, and the
// names under which parts of it can be referred to.
type document struct {
	root    *value
	nodes   map[*value]*node
	anchors map[string]*value // by "#name" ($anchor, $dynamicAnchor) and by $id
	checks  int               // left for valid
	depth   int               // of valid

	literal   bool // leave descriptions alone (see withDescribed)
	described bool // a description gave a keyword

	anything, name *node // schemas for what no schema of the document describes
}

func newDocument(root *value) *document {
	d := &document{root: root, nodes: map[*value]*node{}, anchors: map[string]*value{}}
	d.anything, d.name = newNode("#"), newNode("#")
	d.name.kinds = kindString
	d.index(root)
	return d
}

func (d *document) index(v *value) {
	for _, item := range v.items {
		d.index(item)
	}
	for _, m := range v.members {
		if m.value.kind == kindString {
			switch m.name {
			case "$anchor", "$dynamicAnchor":
				d.anchors["#"+m.value.text] = v
			case "$id", "id":
				d.anchors[m.value.text] = v
			}
		}
		d.index(m.value)
	}
}

// resolve finds the schema a $ref of the document means: #, a JSON pointer (RFC 6901)
// into the document, an anchor, or an $id in it with a pointer into that.
func (d *document) resolve(reference string) (*node, error) {
	base, fragment, _ := strings.Cut(reference, "#")
	at := d.root
	if base != "" {
		at = d.anchors[base]
	}
	if v, ok := d.anchors["#"+fragment]; ok && fragment != "" {
		at, fragment = v, ""
	}
	if unescaped, err := url.PathUnescape(fragment); err == nil {
		fragment = unescaped
	}
	if fragment != "" && fragment[0] != '/' {
		at = nil
	}
	for step := range strings.SplitSeq(strings.TrimPrefix(fragment, "/"), "/") {
		if fragment == "" || at == nil {
			break
		}
		at = at.step(strings.NewReplacer("~1", "/", "~0", "~").Replace(step))
	}
	if at == nil {
		return nil, fmt.Errorf("%.200q refers to nothing in the schema", reference)
	}
	return d.compile(at, reference)
}

func (v *value) step(name string) *value {
	if v.kind == kindArray {
		if i, err := strconv.Atoi(name); err == nil && i >= 0 && i < len(v.items) {
			return v.items[i]
		}
		return nil
	}
	return v.get(name)
}
