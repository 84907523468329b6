package schema

import (
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
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
		where += "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(step)
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

// The SDKs of the messages protocol move keywords that the vendor's dialect lacks into
// the description, and check the answer against all of them:
//
//	{"type": "string", "description": "The mood.\n\n{enum: [\"happy\",\"sad\"]}"}
//
// (JavaScript lib/transform-json-schema, Python lib/_parse/_transform, Go
// schemautil.go). Such keywords count where the schema has no such keyword itself. They
// are prose still: one that cannot be read does not count, and none of them does where
// they exclude every value.

// describable are the keywords that are looked for.
var describable = map[string]bool{
	"enum": true, "const": true, "default": true, "examples": true,
	"minimum": true, "maximum": true, "exclusiveMinimum": true, "exclusiveMaximum": true, "multipleOf": true,
	"minLength": true, "maxLength": true, "pattern": true, "format": true,
	"minItems": true, "maxItems": true, "uniqueItems": true, "prefixItems": true,
	"contains": true, "minContains": true, "maxContains": true,
	"minProperties": true, "maxProperties": true, "propertyNames": true, "not": true,
}

// withDescribed returns a schema with the keywords of its description.
func (d *document) withDescribed(v *value, where string) *value {
	description := v.get("description")
	if d.literal || description == nil || description.kind != kindString {
		return v
	}
	full := &value{kind: v.kind, members: slices.Clip(v.members)}
	for _, m := range described(description.text) {
		if describable[m.name] && full.get(m.name) == nil && d.readable(m, where) {
			full.members = append(full.members, m)
			d.described = true
		}
	}
	return full
}

func (d *document) readable(m member, where string) bool {
	trial := &reader{doc: d, node: newNode(where)}
	if trial.keyword(m.name, m.value) != nil {
		return false
	}
	return trial.node.pattern == nil || trial.node.pattern.err == nil
}

// described reads the block at the end of a description; it is nil where there is none.
func described(description string) []member {
	start := strings.LastIndex("\n\n"+description, "\n\n{")
	block, ok := strings.CutSuffix(description, "}")
	if start < 0 || !ok {
		return nil
	}
	var list []member
	for block = block[start+1:]; block != ""; {
		name, rest, ok := strings.Cut(block, ": ")
		if !ok || strings.ContainsAny(name, " \n\"") {
			return nil
		}
		var v *value
		if v, block, ok = describedValue(rest); !ok {
			return nil
		}
		list = append(list, member{name, v})
	}
	return list
}

// nextKeyword matches what is between two keywords.
var nextKeyword = lazily(`, [$A-Za-z]+: `)

// describedValue reads a value up to the next keyword: JSON, a list or an object as
// Python shows it, or else a string without quotes. Each looks no further than it
// reads, so that a description takes time in proportion to its length.
func describedValue(text string) (v *value, rest string, ok bool) {
	dec := jsontext.NewDecoder(strings.NewReader(text), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	if raw, err := dec.ReadValue(); err == nil {
		if rest, ok = afterValue(text[dec.InputOffset():]); ok {
			v, err = parse(raw)
			return v, rest, err == nil
		}
	}
	if raw, behind, ok := pythonLiteral(text); ok {
		v, err := parse([]byte(raw))
		rest, ok = afterValue(behind)
		return v, rest, ok && err == nil
	}
	if text != "" && strings.ContainsAny(text[:1], `[{"`) {
		return nil, "", false
	}
	end := len(text)
	if at := nextKeyword().FindStringIndex(text); at != nil {
		end = at[0]
	}
	rest, _ = afterValue(text[end:])
	switch text[:end] {
	case "None":
		return &value{kind: kindNull}, rest, true
	case "True", "False":
		return boolValue(text[0] == 'T'), rest, true
	}
	return textValue(text[:end]), rest, true
}

// afterValue is where the next keyword begins; ok is false if something else follows.
func afterValue(text string) (rest string, ok bool) {
	if text == "" {
		return "", true
	}
	rest, ok = strings.CutPrefix(text, ", ")
	name, _, named := strings.Cut(rest, ": ")
	return rest, ok && named && !strings.ContainsAny(name, " \n\"")
}

// pythonToken is a string of Python's, or one of its names for what JSON has too.
var pythonToken = lazily(`^(?:'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|None\b|True\b|False\b)`)

// pythonLiteral spells the list or object that a text begins with as JSON does.
func pythonLiteral(text string) (raw, rest string, ok bool) {
	var out strings.Builder
	depth := 0
	for text != "" {
		size := 1
		switch c := text[0]; c {
		case '[', '{':
			depth++
			out.WriteByte(c)
		case ']', '}':
			depth--
			out.WriteByte(c)
		case '\'', '"', 'N', 'T', 'F':
			token := pythonToken().FindString(text)
			if token == "" {
				return "", "", false
			}
			size = len(token)
			out.WriteString(fromPython(token))
		default:
			out.WriteByte(c)
		}
		if text = text[size:]; depth <= 0 {
			break
		}
	}
	return out.String(), text, depth == 0 && strings.ContainsAny(out.String()[:min(1, out.Len())], "[{")
}

func fromPython(token string) string {
	switch token {
	case "None":
		return "null"
	case "True":
		return "true"
	case "False":
		return "false"
	}
	if token[0] == '"' {
		return token
	}
	inner := strings.ReplaceAll(token[1:len(token)-1], `\'`, "'")
	return `"` + strings.ReplaceAll(inner, `"`, `\"`) + `"`
}
