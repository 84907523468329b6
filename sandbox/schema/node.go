package schema

import (
	"fmt"
	"math/big"
	"strings"
)

// node is a schema whose keywords have been read. Counts that a schema may leave out
// are -1 when absent.
type node struct {
	where string // a JSON pointer in the document, for errors
	never bool   // the schema false

	kinds    kind
	enum     []*value // nil without enum and const
	enumText map[string]bool
	suggests []*value // default, example, examples

	lower, upper bound
	multiple     *big.Rat

	minLength, maxLength int
	pattern              *pattern
	format               string

	prefix                   []*node
	items, contains          *node
	unevaluatedItems         *node
	minItems, maxItems       int
	minContains, maxContains int
	unique                   bool

	properties              []property
	patterns                []patternProperty
	additional, names       *node
	unevaluatedProperties   *node
	required, ordering      []string
	minMembers, maxMembers  int
	dependentRequired       []dependency
	dependentSchemas        []property
	allOf, anyOf, oneOf     []*node
	not, condition, yes, no *node
	references              []string
	propertyIndex           map[string]*node
}

type property struct {
	name   string
	schema *node
}

type patternProperty struct {
	pattern *pattern
	schema  *node
}

type dependency struct {
	name  string
	needs []string
}

// bound is one end of a range of numbers; open excludes the value itself.
type bound struct {
	value *big.Rat
	open  bool
}

// newNode is a schema that allows everything.
func newNode(where string) *node {
	return &node{
		where: where, kinds: kindAny, minContains: -1,
		maxLength: -1, maxItems: -1, maxContains: -1, maxMembers: -1,
	}
}

// tricky reports whether values built keyword by keyword may still be invalid.
func (n *node) tricky() bool {
	return n.oneOf != nil || n.not != nil || n.condition != nil || n.contains != nil || n.dependentSchemas != nil ||
		n.dependentRequired != nil || n.unevaluatedItems != nil || n.unevaluatedProperties != nil || n.names != nil
}

// schemasOf are the schemas n has for the member of that name.
func (n *node) schemasOf(name string) []*node {
	var out []*node
	if s, ok := n.propertyIndex[name]; ok {
		out = append(out, s)
	}
	for _, p := range n.patterns {
		if p.pattern.matches(name) {
			out = append(out, p.schema)
		}
	}
	if out == nil && n.additional != nil {
		out = append(out, n.additional)
	}
	return out
}

// schemaAt is the schema n has for the item at index, or nil.
func (n *node) schemaAt(index int) *node {
	if index < len(n.prefix) {
		return n.prefix[index]
	}
	return n.items
}

// kindNames are the type names of JSON Schema; Gemini's are the same in capitals.
var kindNames = map[string]kind{
	"null": kindNull, "boolean": kindBoolean, "integer": kindInteger, "number": kindNumber,
	"string": kindString, "array": kindArray, "object": kindObject,
	"type_unspecified": kindAny, "": kindAny,
}

func kindsOf(v *value, where string) (kind, error) {
	names := v.items
	if v.kind == kindString {
		names = []*value{v}
	}
	var kinds kind
	for _, n := range names {
		k, ok := kindNames[strings.ToLower(n.text)]
		if n.kind != kindString || !ok {
			return 0, fmt.Errorf("%s/type: %.60s is not a type", where, n.append(nil))
		}
		kinds |= k
	}
	if kinds == 0 {
		return 0, fmt.Errorf("%s/type: neither a type nor a list of types", where)
	}
	return kinds, nil
}
