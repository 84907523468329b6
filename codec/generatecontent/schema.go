package generatecontent

import (
	"slices"
	"strconv"
	"strings"

	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/codec/member"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/go-json-experiment/json/jsontext"
)

// jsonSchema converts a schema of the vendor's OpenAPI 3.0 dialect (SDK type
// Schema) to JSON Schema: types in lower case, nullable as one more type, counts
// given as strings as numbers, example as examples, format enum dropped. Members
// keep their order, and those that are JSON Schema already (the vendor takes
// some) stay as they are.
func jsonSchema(raw jsontext.Value, param string) (string, error) {
	var c schemaConverter
	n, err := member.ReadNode(raw)
	if err == nil {
		err = c.schema(n)
	}
	if err != nil {
		return "", fault.Invalid(param, "%s is not a schema: %v", param, err)
	}
	return member.Text(c.out), nil
}

type schemaConverter struct{ out []byte }

type schemaError string

func (e schemaError) Error() string { return string(e) }

// schemaMember is one member of a schema.
type schemaMember struct {
	name  string
	value *member.Node
}

// schemaAliases are the snake_case spellings of the members of a schema.
var schemaAliases = aliasTable("anyOf", "maxItems", "maxLength", "maxProperties", "minItems", "minLength",
	"minProperties", "propertyOrdering")

func (c *schemaConverter) schema(n *member.Node) error {
	if n.Kind() == 't' || n.Kind() == 'f' {
		c.out = append(c.out, n.Raw...) // JSON Schema's true and false
		return nil
	}
	members, err := objectMembers(n)
	if err != nil {
		return err
	}
	nullable, typed, kind := false, false, ""
	var order []*member.Node
	kept := members[:0]
	for _, m := range members {
		if to, ok := schemaAliases[m.name]; ok {
			m.name = to
		}
		switch {
		case m.value.Kind() == 'n' && m.name != "default" && m.name != "example":
			continue
		case m.name == "nullable":
			nullable = m.value.Kind() == 't'
			continue
		case m.name == "format" && string(m.value.Raw) == `"enum"`:
			continue
		case m.name == "propertyOrdering" && m.value.Kind() == '[':
			order = m.value.Values
		case m.name == "type":
			if m.value = typeOf(m.value); m.value.Kind() != '"' {
				break
			}
			if kind = lower(m.value.Raw); kind == "type_unspecified" {
				continue
			}
			typed = true
		}
		kept = append(kept, m)
	}
	c.out = append(c.out, '{')
	for i, m := range kept {
		if i > 0 {
			c.out = append(c.out, ',')
		}
		if m.name == "example" {
			c.out = append(append(append(c.out, `"examples":[`...), m.value.Raw...), ']')
			continue
		}
		if c.out, err = jsontext.AppendQuote(c.out, m.name); err != nil {
			return err
		}
		c.out = append(c.out, ':')
		if m.name == "properties" && order != nil {
			m.value = ordered(m.value, order)
		}
		if err := c.member(m, kind, nullable, typed); err != nil {
			return err
		}
	}
	c.out = append(c.out, '}')
	return nil
}

// member writes the value of one member.
func (c *schemaConverter) member(m schemaMember, kind string, nullable, typed bool) error {
	switch m.name {
	case "type":
		return c.types(m.value, nullable)
	case "enum":
		return c.elements(m.value, func(v *member.Node) error {
			c.out = append(c.out, enumValue(v.Raw, kind)...)
			return nil
		}, nullable, "null")
	case "anyOf", "oneOf":
		return c.elements(m.value, c.schema, nullable && !typed, `{"type":"null"}`)
	case "allOf", "prefixItems":
		return c.elements(m.value, c.schema, false, "")
	case "items", "not":
		return c.schema(m.value)
	case "additionalProperties":
		return c.schema(m.value)
	case "properties", "$defs", "defs", "definitions", "patternProperties":
		return c.properties(m.value)
	case "maxItems", "maxLength", "maxProperties", "minItems", "minLength", "minProperties", "maximum", "minimum":
		c.out = append(c.out, number(m.value.Raw)...)
		return nil
	}
	c.out = append(c.out, m.value.Raw...)
	return nil
}

func (c *schemaConverter) types(v *member.Node, nullable bool) error {
	if v.Kind() == '[' {
		return c.elements(v, func(t *member.Node) error {
			c.out = append(c.out, strings.ToLower(string(typeOf(t).Raw))...)
			return nil
		}, false, "")
	}
	if v.Kind() != '"' {
		return schemaError("type must be a string")
	}
	if kind := strings.ToLower(string(v.Raw)); nullable && kind != `"null"` {
		c.out = append(append(append(c.out, '['), kind...), `,"null"]`...)
	} else {
		c.out = append(c.out, kind...)
	}
	return nil
}

// elements writes a list, each element by write, and one more when more is set.
func (c *schemaConverter) elements(v *member.Node, write func(*member.Node) error, more bool, last string) error {
	if v.Kind() != '[' {
		return schemaError("a list is expected")
	}
	c.out = append(c.out, '[')
	first, had := true, false
	for _, element := range v.Values {
		if !first {
			c.out = append(c.out, ',')
		}
		first = false
		had = had || string(element.Raw) == last
		if err := write(element); err != nil {
			return err
		}
	}
	if more && !had {
		if !first {
			c.out = append(c.out, ',')
		}
		c.out = append(c.out, last...)
	}
	c.out = append(c.out, ']')
	return nil
}

// ordered returns properties in the order that the vendor would have them written in (SDK: Schema.PropertyOrdering). All
// others write them in the order of the schema.
func ordered(properties *member.Node, order []*member.Node) *member.Node {
	places := make(map[string]int, len(order))
	for i, n := range slices.Backward(order) {
		places[n.Text()] = i - len(order)
	}
	at := make([]int, len(properties.Names))
	for i := range at {
		at[i] = i
	}
	slices.SortStableFunc(at, func(a, b int) int { return places[properties.Names[a]] - places[properties.Names[b]] })
	out := *properties
	out.Names, out.Values = make([]string, len(at)), make([]*member.Node, len(at))
	for to, from := range at {
		out.Names[to], out.Values[to] = properties.Names[from], properties.Values[from]
	}
	return &out
}

// properties writes an object whose values are schemas and whose names are the
// caller's.
func (c *schemaConverter) properties(v *member.Node) error {
	members, err := objectMembers(v)
	if err != nil {
		return err
	}
	c.out = append(c.out, '{')
	for i, m := range members {
		if i > 0 {
			c.out = append(c.out, ',')
		}
		if c.out, err = jsontext.AppendQuote(c.out, m.name); err != nil {
			return err
		}
		c.out = append(c.out, ':')
		if err := c.schema(m.value); err != nil {
			return err
		}
	}
	c.out = append(c.out, '}')
	return nil
}

// typeNumbers are the words for the numbers of the vendor's enumeration Type, which proto3's JSON takes as well.
var typeNumbers = []string{"type_unspecified", "string", "number", "integer", "boolean", "array", "object", "null"}

// typeOf is the word for a type that is given by its number; an unknown number stays one.
func typeOf(v *member.Node) *member.Node {
	n, err := strconv.Atoi(string(v.Raw))
	if err != nil || n < 0 || n >= len(typeNumbers) {
		return v
	}
	return &member.Node{Raw: jsontext.Value(strconv.Quote(typeNumbers[n]))}
}

func objectMembers(v *member.Node) ([]schemaMember, error) {
	if v.Kind() != '{' {
		return nil, schemaError("an object is expected")
	}
	members := make([]schemaMember, len(v.Values))
	for i, value := range v.Values {
		members[i] = schemaMember{v.Names[i], value}
	}
	return members, nil
}

func lower(v jsontext.Value) string { return strings.ToLower(strings.Trim(string(v), `"`)) }

// enumValue returns the number in place of its text for enums of numbers: the
// dialect knows only enums of strings.
func enumValue(v jsontext.Value, kind string) jsontext.Value {
	if kind == "integer" || kind == "number" {
		return number(v)
	}
	return v
}

// number takes the quotes off a number.
func number(v jsontext.Value) jsontext.Value {
	text := strings.Trim(string(v), `"`)
	if _, err := strconv.ParseFloat(text, 64); err == nil && jsontext.Value(text).IsValid() {
		return jsontext.Value(text)
	}
	return v
}

// The types of answers (SDK field GenerationConfig.ResponseMIMEType; text/x.enum
// from the API's reference).
const (
	plainType = "text/plain"
	jsonType  = "application/json"
	enumType  = "text/x.enum"

	// mimeTypeField is the native field of a type that this version does not know.
	mimeTypeField = "generationConfig.responseMimeType"
)

// decodeFormat reads the wanted shape of the answer. A type this version does not
// know stays a native field that binds.
func (w *generationConfig) decodeFormat(req *genwayv1.GenerateTextRequest, path string) error {
	schema, err := w.schema(path)
	if err != nil {
		return err
	}
	f := &genwayv1.ResponseFormat{SchemaJson: schema}
	switch w.ResponseMIMEType {
	case "", jsonType:
		switch {
		case schema != "":
			f.Kind = genwayv1.ResponseFormat_KIND_JSON_SCHEMA
		case w.ResponseMIMEType == "":
			return nil
		default:
			f.Kind = genwayv1.ResponseFormat_KIND_JSON_OBJECT
		}
	case enumType:
		f.Kind = genwayv1.ResponseFormat_KIND_ENUM
	default:
		if schema != "" {
			return fault.Invalid(path+".responseMimeType", "%s.responseMimeType must be %s or %s for an answer with a schema", path, jsonType, enumType)
		}
		if f.Kind = genwayv1.ResponseFormat_KIND_TEXT; w.ResponseMIMEType == plainType {
			break
		}
		word, err := jsontext.AppendQuote(nil, w.ResponseMIMEType)
		if err != nil {
			return fault.Invalid(path+".responseMimeType", "%s.responseMimeType is not text", path)
		}
		field := native(mimeTypeField, word)
		field.Binding = true
		req.NativeFields = append(req.NativeFields, field)
		return nil
	}
	req.ResponseFormat = f
	return nil
}

// schema returns the schema of the answer as JSON Schema; "" when there is none.
func (w *generationConfig) schema(path string) (string, error) {
	switch {
	case present(w.ResponseSchema) && present(w.ResponseJSONSchema):
		return "", fault.Invalid(path+".responseJsonSchema", "%s has both responseSchema and responseJsonSchema", path)
	case present(w.ResponseSchema):
		return jsonSchema(w.ResponseSchema, path+".responseSchema")
	case present(w.ResponseJSONSchema):
		return member.Text(w.ResponseJSONSchema), nil
	}
	return "", nil
}

// encodeFormat writes the wanted shape of the answer. Schemas go as JSON Schema,
// but for enums: those the vendor takes in its own dialect only, in which an enum
// is spelled the same.
func (w *generationConfig) encodeFormat(f *genwayv1.ResponseFormat) error {
	if f == nil {
		return nil
	}
	if f.Native != nil {
		return fault.Unsupported("response_format", "response_format: the target protocol has no such format")
	}
	var schema jsontext.Value
	if f.SchemaJson != "" {
		if schema = jsontext.Value(f.SchemaJson); !member.Valid(schema) {
			return fault.Invalid("response_format.schema_json", "response_format.schema_json is not JSON")
		}
	}
	switch f.Kind {
	case genwayv1.ResponseFormat_KIND_JSON_SCHEMA:
		w.ResponseMIMEType, w.ResponseJSONSchema = jsonType, schema
	case genwayv1.ResponseFormat_KIND_JSON_OBJECT:
		w.ResponseMIMEType = jsonType
	case genwayv1.ResponseFormat_KIND_ENUM:
		w.ResponseMIMEType, w.ResponseSchema = enumType, schema
	case genwayv1.ResponseFormat_KIND_TEXT:
		w.ResponseMIMEType = plainType
	default:
	}
	return nil
}
