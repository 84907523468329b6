package schema

import (
	"fmt"
	"math/big"
	"strconv"
)

// compile reads a schema and everything nested in it; what it refers to is compiled
// when it is needed. The result is cached.
func (d *document) compile(v *value, where string) (*node, error) {
	if n, ok := d.nodes[v]; ok {
		return n, nil
	}
	n := newNode(where)
	switch v.kind {
	case kindBoolean:
		n.never = v.text == "false"
	case kindObject:
		r := &reader{doc: d, node: n}
		full := d.withDescribed(v, where)
		for _, m := range full.members {
			if err := r.keyword(m.name, m.value); err != nil {
				return nil, err
			}
		}
		r.finish(full)
	default:
		return nil, fmt.Errorf("%s: a schema is an object or a boolean", where)
	}
	d.nodes[v] = n
	return n, nil
}

// reader reads the keywords of one schema; err keeps the first failure.
type reader struct {
	doc  *document
	node *node
	name string // the keyword being read
	err  error
}

// keyword reads one keyword. Unknown ones are annotations, as JSON Schema has it.
func (r *reader) keyword(name string, v *value) error {
	n := r.node
	r.name = name
	switch name {
	case "type":
		n.kinds, r.err = kindsOf(v, n.where)
	case "enum":
		n.enum = append([]*value{}, r.list(v)...)
	case "default", "example":
		n.suggests = append(n.suggests, v)
	case "examples":
		n.suggests = append(n.suggests, v.items...)
	case "minLength":
		n.minLength = r.count(v)
	case "maxLength":
		n.maxLength = r.count(v)
	case "pattern":
		n.pattern = newPattern(r.text(v))
	case "format":
		n.format = r.text(v)
	case "minItems":
		n.minItems = r.count(v)
	case "maxItems":
		n.maxItems = r.count(v)
	case "minContains":
		n.minContains = r.count(v)
	case "maxContains":
		n.maxContains = r.count(v)
	case "minProperties":
		n.minMembers = r.count(v)
	case "maxProperties":
		n.maxMembers = r.count(v)
	case "uniqueItems":
		n.unique = v.text == "true"
	case "minimum":
		n.lower.value = r.number(v)
	case "maximum":
		n.upper.value = r.number(v)
	case "multipleOf":
		if n.multiple = r.number(v); r.err == nil && n.multiple.Sign() <= 0 {
			r.fail("must be above zero")
		}
	case "required":
		// Draft 3 and some OpenAPI documents have a boolean here, which says nothing.
		if v.kind == kindArray {
			n.required = r.texts(v)
		}
	case "propertyOrdering":
		n.ordering = r.texts(v)
	case "$ref", "$dynamicRef", "$recursiveRef":
		n.references = append(n.references, r.text(v))
	default:
		r.applicator(name, v)
	}
	return r.err
}

// applicator reads the keywords that hold schemas.
func (r *reader) applicator(name string, v *value) {
	n := r.node
	switch name {
	case "properties":
		n.properties = r.schemas(v)
	case "patternProperties":
		for _, p := range r.schemas(v) {
			n.patterns = append(n.patterns, patternProperty{newPattern(p.name), p.schema})
		}
	case "additionalProperties":
		n.additional = r.schema(v, "")
	case "propertyNames":
		n.names = r.schema(v, "")
	case "unevaluatedProperties":
		n.unevaluatedProperties = r.schema(v, "")
	case "unevaluatedItems":
		n.unevaluatedItems = r.schema(v, "")
	case "dependentRequired", "dependentSchemas", "dependencies":
		for _, m := range r.members(v) {
			if m.value.kind == kindArray {
				n.dependentRequired = append(n.dependentRequired, dependency{m.name, r.texts(m.value)})
			} else {
				n.dependentSchemas = append(n.dependentSchemas, property{m.name, r.schema(m.value, m.name)})
			}
		}
	case "prefixItems":
		n.prefix = r.schemaList(v)
	case "items":
		if v.kind == kindArray {
			n.prefix = r.schemaList(v)
		} else {
			n.items = r.schema(v, "")
		}
	case "contains":
		n.contains = r.schema(v, "")
	case "allOf":
		n.allOf = r.schemaList(v)
	case "anyOf":
		n.anyOf = r.schemaList(v)
	case "oneOf":
		n.oneOf = r.schemaList(v)
	case "not":
		n.not = r.schema(v, "")
	case "if":
		n.condition = r.schema(v, "")
	case "then":
		n.yes = r.schema(v, "")
	case "else":
		n.no = r.schema(v, "")
	}
}

// finish settles the keywords that bear on each other.
func (r *reader) finish(v *value) {
	n := r.node
	if c := v.get("const"); c != nil {
		n.enum = []*value{c}
	}
	if v.get("nullable") != nil && v.get("nullable").text == "true" {
		n.kinds |= kindNull
	}
	n.lower = r.exclusive(n.lower, v.get("exclusiveMinimum"), 1)
	n.upper = r.exclusive(n.upper, v.get("exclusiveMaximum"), -1)
	if a := v.get("additionalItems"); a != nil && v.get("items") != nil && v.get("items").kind == kindArray {
		r.name = "additionalItems"
		n.items = r.schema(a, "")
	}
	if n.condition == nil {
		n.yes, n.no = nil, nil
	}
	n.enumText = map[string]bool{}
	for _, e := range n.enum {
		if e.kind == kindString {
			n.enumText[e.text] = true
		}
	}
	n.propertyIndex = make(map[string]*node, len(n.properties))
	for _, p := range n.properties {
		n.propertyIndex[p.name] = p.schema
	}
}

// exclusive adds an exclusive bound, of either draft, to b; sign is the direction in
// which a bound of this side is stricter.
func (r *reader) exclusive(b bound, v *value, sign int) bound {
	switch {
	case v == nil:
	case v.kind == kindBoolean:
		b.open = v.text == "true" && b.value != nil
	case v.number != nil && (b.value == nil || v.number.Cmp(b.value)*sign >= 0):
		return bound{v.number, true}
	}
	return b
}

func (r *reader) fail(what string) {
	if r.err == nil {
		r.err = fmt.Errorf("%s/%s: %s", r.node.where, r.name, what)
	}
}

// count reads a number of things, also spelt as a string (Gemini's int64 in JSON).
// Counts too large for an int are the largest int.
func (r *reader) count(v *value) int {
	number := v.number
	if v.kind == kindString {
		if n, err := strconv.ParseUint(v.text, 10, 63); err == nil {
			number = new(big.Rat).SetUint64(n)
		}
	}
	if number == nil || !number.IsInt() || number.Sign() < 0 {
		r.fail("not a count")
		return 0
	}
	const largest = 1<<31 - 1
	if !number.Num().IsInt64() || number.Num().Int64() > largest {
		return largest
	}
	return int(number.Num().Int64())
}

func (r *reader) number(v *value) *big.Rat {
	if v.number == nil {
		r.fail("not a number")
		return new(big.Rat)
	}
	return v.number
}

func (r *reader) text(v *value) string {
	if v.kind != kindString {
		r.fail("not a string")
	}
	return v.text
}

func (r *reader) list(v *value) []*value {
	if v.kind != kindArray {
		r.fail("not an array")
	}
	return v.items
}

func (r *reader) members(v *value) []member {
	if v.kind != kindObject {
		r.fail("not an object")
	}
	return v.members
}

func (r *reader) texts(v *value) []string {
	var out []string
	for _, item := range r.list(v) {
		out = append(out, r.text(item))
	}
	return out
}

func (r *reader) schema(v *value, step string) *node {
	where := r.node.where + "/" + r.name
	if step != "" {
		where += "/" + escape(step)
	}
	n, err := r.doc.compile(v, where)
	if err != nil {
		if r.err == nil {
			r.err = err
		}
		return newNode(where)
	}
	return n
}

func (r *reader) schemas(v *value) []property {
	var out []property
	for _, m := range r.members(v) {
		out = append(out, property{m.name, r.schema(m.value, m.name)})
	}
	return out
}

func (r *reader) schemaList(v *value) []*node {
	var out []*node
	for i, item := range r.list(v) {
		out = append(out, r.schema(item, strconv.Itoa(i)))
	}
	return out
}
