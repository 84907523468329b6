package fit

import (
	"fmt"
	"slices"
	"strings"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/member"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/go-json-experiment/json/jsontext"
)

// SchemaRule is what a vendor takes of the schemas of answers and of functions.
type SchemaRule int

const (
	// AnySchema takes any JSON Schema.
	AnySchema SchemaRule = iota
	// ClosedSchema is messages': objects of answers and of strict tools have no other members than those that are named,
	// and few constraints are keywords. The parameters of any tool are an object without a choice at its top, and at most
	// maxStrict tools are strict.
	ClosedSchema
	// StrictSchema is OpenAI's: what is strict has closed objects all of whose members are required. The parameters of
	// any function are an object.
	StrictSchema
)

// Schemas returns the request with schemas that the vendor takes. For messages they are rewritten as the vendor's own
// SDKs do it (transformJSONSchema of @anthropic-ai/sdk 1.14): a constraint that is no keyword there is said in the
// description, which is no loss. An object that has its members by no name can only be empty then, which is one.
// A schema that a strict mode does not take is held to no longer, and named where the caller demands it.
func Schemas(req *genwayv1.GenerateTextRequest, rules Rules, losses *codec.Losses) *genwayv1.GenerateTextRequest {
	if rules.Schemas == AnySchema {
		return req
	}
	strict := 0
	tools, changed := codec.Rewritten(req.GetTools(), func(i int, t *genwayv1.Tool) *genwayv1.Tool {
		f := t.GetFunction()
		if f == nil {
			return nil
		}
		path := member.Index("tools", i) + ".function"
		fitted := codec.Shared(f)
		fitted.ParametersJson = parameters(f.GetParametersJson(), rules.Schemas)
		switch {
		case !f.GetStrict():
		case rules.Schemas == ClosedSchema && strict >= maxStrict:
			fitted.Strict = nil
			losses.Add(path+".strict", fmt.Sprintf("the vendor takes at most %d strict tools", maxStrict))
		case rules.Schemas == ClosedSchema:
			strict++
			fitted.ParametersJson = closed(fitted.ParametersJson, path+".parameters_json", losses)
		case !allRequired(fitted.ParametersJson):
			fitted.Strict = new(bool)
			losses.Add(path+".strict", openSchema)
		}
		if fitted.ParametersJson == f.ParametersJson && fitted.GetStrict() == f.GetStrict() {
			return nil
		}
		tool := codec.Shared(t)
		tool.Kind = &genwayv1.Tool_Function{Function: fitted}
		return tool
	})
	format := fitFormat(req.GetResponseFormat(), rules.Schemas, losses)
	if !changed && format == req.GetResponseFormat() {
		return req
	}
	out := codec.Shared(req)
	out.Tools, out.ResponseFormat = tools, format
	return out
}

const openSchema = "the vendor's strict mode takes closed objects alone, all of whose members are required"

// fitFormat returns the format with a schema that the vendor takes.
func fitFormat(f *genwayv1.ResponseFormat, rule SchemaRule, losses *codec.Losses) *genwayv1.ResponseFormat {
	if f.GetKind() != genwayv1.ResponseFormat_KIND_JSON_SCHEMA || f.GetSchemaJson() == "" || f.GetNative() != nil {
		return f
	}
	out := codec.Shared(f)
	switch {
	case rule == ClosedSchema:
		out.SchemaJson = closed(f.GetSchemaJson(), "response_format.schema_json", losses)
	case f.Strict != nil && !f.GetStrict() || allRequired(f.GetSchemaJson()):
		return f
	default:
		if out.Strict = new(bool); f.GetStrict() {
			losses.Add("response_format.strict", openSchema)
		}
	}
	return out
}

// choices are the keywords that combine schemas.
var choices = []string{"anyOf", "oneOf", "allOf"}

// parameters returns the schema of a function's parameters, of the type object at its top.
func parameters(schema string, rule SchemaRule) string {
	top := member.Value([]byte(schema), "type")
	combined := strings.Contains(schema, `Of"`)
	if schema == "" || string(top) == `"object"` && (!combined || rule == StrictSchema) {
		return schema
	}
	n, err := member.ReadNode(jsontext.Value(schema))
	switch {
	case err != nil || n.Kind() == 'f':
		return schema // the encoder refuses it
	case n.Kind() != '{':
		return `{"type":"object"}`
	case rule == StrictSchema && (top != nil || n.Member("$ref") != nil || slices.ContainsFunc(choices, func(c string) bool { return n.Member(c) != nil })):
		return schema
	}
	return flat(n, rule == ClosedSchema)
}

// flat returns the schema of an object with what its choices allow: the members of each, of which those are required
// that each requires. What they say beyond that goes into the description.
func flat(n *member.Node, merges bool) string {
	f := flattened{root: n, names: map[string]int{}}
	var description, said string
	var required []string
	w := member.NewWriter(len(n.Raw))
	w.Begin()
	w.Str("type", "object")
	for i, name := range n.Names {
		v := n.Values[i]
		switch {
		case name == "type":
		case name == "properties" && v.Kind() == '{':
			f.take(v)
		case name == "required" && v.Kind() == '[':
			required = append(required, textsIn(v)...)
		case name == "description":
			description = v.Text()
		case merges && slices.Contains(choices, name) && v.Kind() == '[':
			required = append(required, f.merge(v, name == "allOf")...)
			said = constraint(said, name, v)
		default:
			w.KeyOf(name)
			w.Value(v.Raw)
		}
	}
	w.StrOpt("description", described(description, said))
	if len(f.order) > 0 || n.Member("properties") != nil {
		w.Object("properties")
		for i, name := range f.order {
			w.KeyOf(name)
			writeAny(w, f.values[i])
		}
		w.End()
	}
	slices.Sort(required)
	w.StrsOpt("required", slices.Compact(required))
	w.End()
	out, err := w.Finish()
	if err != nil {
		return string(n.Raw) // a member is there twice, which the encoder refuses
	}
	return string(out)
}

// flattened gathers the members of an object.
type flattened struct {
	root   *member.Node
	order  []string
	names  map[string]int
	values [][]jsontext.Value
}

// take adds members. One that is there already may be of either schema.
func (f *flattened) take(properties *member.Node) {
	for i, name := range properties.Names {
		schema := properties.Values[i].Raw
		at, known := f.names[name]
		if !known {
			f.names[name] = len(f.order)
			f.order, f.values = append(f.order, name), append(f.values, []jsontext.Value{schema})
			continue
		}
		if !slices.ContainsFunc(f.values[at], func(other jsontext.Value) bool { return string(other) == string(schema) }) {
			f.values[at] = append(f.values[at], schema)
		}
	}
}

// maxMerged is how many schemas of a choice are merged: each is looked up.
const maxMerged = 100

// merge adds the members of schemas, and returns those that all of them require, or for all any of them.
func (f *flattened) merge(list *member.Node, all bool) (required []string) {
	if len(list.Values) > maxMerged {
		return nil
	}
	for i, n := range list.Values {
		n = f.resolved(n)
		if p := n.Member("properties"); p.Kind() == '{' {
			f.take(p)
		}
		own := textsIn(n.Member("required"))
		if all || i == 0 {
			required = append(required, own...)
			continue
		}
		kept := setOf(own)
		required = slices.DeleteFunc(required, func(name string) bool { return !kept[name] })
	}
	return required
}

func setOf(names []string) map[string]bool {
	set := make(map[string]bool, len(names))
	for _, name := range names {
		set[name] = true
	}
	return set
}

// resolved follows references within the schema.
func (f *flattened) resolved(n *member.Node) *member.Node {
	for range 8 {
		steps, ok := strings.CutPrefix(n.Member("$ref").Text(), "#/")
		if !ok {
			break
		}
		n = f.root
		for step := range strings.SplitSeq(steps, "/") {
			n = n.Member(step)
		}
	}
	return n
}

// writeAny writes one schema, or the choice among several.
func writeAny(w *member.Writer, schemas []jsontext.Value) {
	if len(schemas) == 1 {
		w.Value(schemas[0])
		return
	}
	w.Begin()
	w.List("anyOf")
	for _, s := range schemas {
		w.Value(s)
	}
	w.EndList()
	w.End()
}

// textsIn returns the texts in a list.
func textsIn(list *member.Node) []string {
	var out []string
	if list.Kind() != '[' {
		return nil
	}
	for _, v := range list.Values {
		if v.Kind() == '"' {
			out = append(out, v.Text())
		}
	}
	return out
}

// constraint adds a constraint to those that the description says.
func constraint(said, name string, v *member.Node) string {
	if said != "" {
		said += ", "
	}
	return said + name + ": " + string(v.Raw)
}

// described returns a description with the constraints that are no keywords, as the vendor's SDKs write it.
func described(description, said string) string {
	switch {
	case said == "":
		return description
	case description == "":
		return "{" + said + "}"
	}
	return description + "\n\n{" + said + "}"
}

// closed returns a schema as the messages protocol takes it.
func closed(schema, path string, losses *codec.Losses) string {
	n, err := member.ReadNode(jsontext.Value(schema))
	if err != nil || n.Kind() != '{' {
		return schema // the encoder refuses what is no JSON
	}
	c := closing{w: member.NewWriter(len(schema))}
	c.schema(n)
	if c.free {
		losses.Add(path, "the vendor's structured output has no members that are not named")
	}
	out, err := c.w.Finish()
	if err != nil {
		return schema
	}
	return string(out)
}

// closing rewrites one schema.
type closing struct {
	w *member.Writer
	// free reports that an object has members that are not named.
	free bool
}

// closedFormats are the formats of strings that the vendor takes (its SDK's SUPPORTED_STRING_FORMATS).
var closedFormats = []string{"date-time", "time", "date", "duration", "email", "hostname", "uri", "ipv4", "ipv6", "uuid"}

// skippedKeywords constrain nothing, or are written otherwise.
var skippedKeywords = []string{"type", "nullable", "description", "$schema", "$id", "$comment", "propertyOrdering"}

func (c *closing) schema(n *member.Node) {
	if n.Kind() != '{' {
		c.w.Value(n.Raw)
		return
	}
	if ref := onlyReference(n); ref != nil { // which takes no other keyword beside it
		c.w.Begin()
		for _, name := range definitions {
			c.definitions(name, n.Member(name))
		}
		c.w.KeyOf("$ref")
		c.w.Value(ref.Raw)
		c.w.End()
		return
	}
	types := kinds(n)
	choice := chosen(n, types)
	if choice != "" {
		types = nil // the schemas of the choice have them
	}
	object := slices.Contains(types, "object")
	said := ""
	c.w.Begin()
	c.types(types)
	for i, name := range n.Names {
		v := n.Values[i]
		switch {
		case slices.Contains(skippedKeywords, name), name == "additionalProperties" && v.Kind() != '{':
		case slices.Contains(definitions, name):
			c.definitions(name, v)
		case name == choice:
			c.list(strings.Replace(name, "oneOf", "anyOf", 1), v, n.Member("nullable").Kind() == 't')
		case object && name == "properties" && v.Kind() == '{':
			c.definitions(name, v)
		case name == "items" && slices.Contains(types, "array") && v.Kind() == '{':
			c.w.KeyOf(name)
			c.schema(v)
		case taken(name, v, types):
			c.w.KeyOf(name)
			c.w.Value(v.Raw)
		default:
			said = constraint(said, name, v)
		}
	}
	if object {
		more := n.Member("additionalProperties")
		c.free = c.free || more.Kind() == '{' || more.Kind() == 't' || more == nil && (n.Member("properties") == nil || len(n.Member("properties").Names) == 0)
		c.w.Bool("additionalProperties", false)
	}
	c.w.StrOpt("description", described(n.Member("description").Text(), said))
	c.w.End()
}

// definitions are the members whose own members are schemas to refer to.
var definitions = []string{"$defs", "definitions"}

// definitions writes an object of schemas; nothing for any other value.
func (c *closing) definitions(name string, v *member.Node) {
	if v.Kind() != '{' {
		return
	}
	c.w.Object(name)
	for i, own := range v.Names {
		c.w.KeyOf(own)
		c.schema(v.Values[i])
	}
	c.w.End()
}

// list writes a choice among schemas, and null where it may be that as well.
func (c *closing) list(name string, v *member.Node, null bool) {
	c.w.List(name)
	for _, s := range v.Values {
		c.schema(s)
	}
	if null {
		c.w.Value([]byte(`{"type":"null"}`))
	}
	c.w.EndList()
}

func (c *closing) types(types []string) {
	if len(types) == 1 {
		c.w.Str("type", types[0])
		return
	}
	c.w.StrsOpt("type", types)
}

// onlyReference returns the $ref of a schema that is a reference, also as the only element of allOf; nil for other schemas.
func onlyReference(n *member.Node) *member.Node {
	if ref := n.Member("$ref"); ref != nil {
		return ref
	}
	if all := n.Member("allOf"); all.Kind() == '[' && len(all.Values) == 1 && n.Member("properties") == nil {
		return all.Values[0].Member("$ref")
	}
	return nil
}

// kinds returns the types of a schema, or those that its keywords are about.
func kinds(n *member.Node) []string {
	var types []string
	switch t := n.Member("type"); {
	case t.Kind() == '"':
		types = []string{strings.ToLower(t.Text())}
	case t.Kind() == '[':
		for _, text := range textsIn(t) {
			types = append(types, strings.ToLower(text))
		}
	case n.Member("properties") != nil, n.Member("additionalProperties") != nil, n.Member("required") != nil:
		types = []string{"object"}
	case n.Member("items") != nil:
		types = []string{"array"}
	}
	if len(types) > 0 && n.Member("nullable").Kind() == 't' && !slices.Contains(types, "null") {
		types = append(types, "null")
	}
	return types
}

// chosen returns the one choice of a schema that stays a choice; "" for none. A choice beside members is about those.
func chosen(n *member.Node, types []string) string {
	if p := n.Member("properties"); slices.Contains(types, "object") && p != nil && len(p.Names) > 0 {
		return ""
	}
	for _, name := range choices {
		if v := n.Member(name); v.Kind() == '[' && len(v.Values) > 0 {
			return name
		}
	}
	return ""
}

// taken reports whether the vendor takes a keyword of schemas of the types, as it is.
func taken(name string, v *member.Node, types []string) bool {
	is := func(t string) bool { return slices.Contains(types, t) }
	switch name {
	case "title":
		return true
	case "enum":
		return v.Kind() == '[' && len(v.Values) > 0 && !slices.ContainsFunc(v.Values, compound)
	case "const":
		return !compound(v)
	case "required":
		return is("object")
	case "format":
		return is("string") && slices.Contains(closedFormats, v.Text())
	case "minItems":
		return is("array") && (string(v.Raw) == "0" || string(v.Raw) == "1")
	}
	return false
}

func compound(v *member.Node) bool { return v.Kind() == '{' || v.Kind() == '[' }

// untaken are keywords that OpenAI's strict mode refuses.
var untaken = []string{"allOf", "oneOf", "not", "if", "then", "else", "dependentRequired", "dependentSchemas", "dependencies", "patternProperties"}

// allRequired reports whether OpenAI's strict mode takes a schema: all members of its objects are required, and they
// have no others.
func allRequired(schema string) bool {
	n, err := member.ReadNode(jsontext.Value(schema))
	return err == nil && n.Kind() == '{' && meetsStrict(n)
}

func meetsStrict(n *member.Node) bool {
	if n.Kind() != '{' {
		return n.Kind() != 'f' && n.Kind() != 't'
	}
	if slices.ContainsFunc(n.Names, func(name string) bool { return slices.Contains(untaken, name) }) {
		return false
	}
	properties := n.Member("properties")
	if properties != nil || slices.Contains(kinds(n), "object") {
		required := setOf(textsIn(n.Member("required")))
		if n.Member("additionalProperties").Kind() != 'f' || properties == nil || slices.ContainsFunc(properties.Names, func(name string) bool { return !required[name] }) {
			return false
		}
	}
	within := []*member.Node{n.Member("items")}
	for _, name := range []string{"properties", "$defs", "definitions", "anyOf"} {
		if v := n.Member(name); v != nil {
			within = append(within, v.Values...)
		}
	}
	return !slices.ContainsFunc(within, func(in *member.Node) bool { return in != nil && !meetsStrict(in) })
}
