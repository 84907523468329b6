package schema

import (
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

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

// nextKeyword is what stands between two keywords.
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

// afterValue is where the next keyword begins; ok is false where something else stands.
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
