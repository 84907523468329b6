package schema

import (
	"fmt"
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
