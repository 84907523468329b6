package fit

import (
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// deepest is how deep a schema of a strict function may nest objects and arrays, for the
// vendor that takes the least.
const deepest = 5

// strictTypes are the types of values that strict schemas may have.
var strictTypes = []string{"object", "array", "string", "number", "integer", "boolean", "null"}

// takesStrict reports whether every vendor's strict mode takes the schema of a function's
// parameters. A schema in doubt is not taken, since the vendor would refuse the call.
func takesStrict(schema string) bool {
	s, ok := readSchema(jsontext.Value(schema))
	return ok && len(s.types) == 1 && s.types[0] == "object" && s.AnyOf == nil && s.fits(0)
}

// strictSchema has the keywords that all strict modes take; another one is an error.
type strictSchema struct {
	Type                 jsontext.Value            `json:"type"`
	Title                string                    `json:"title"`
	Description          string                    `json:"description"`
	Properties           map[string]jsontext.Value `json:"properties"`
	Required             []string                  `json:"required"`
	AdditionalProperties *bool                     `json:"additionalProperties"`
	Items                jsontext.Value            `json:"items"`
	AnyOf                []jsontext.Value          `json:"anyOf"`
	Enum                 []jsontext.Value          `json:"enum"`
	Const                jsontext.Value            `json:"const"`
	types                []string
}

func readSchema(raw jsontext.Value) (*strictSchema, bool) {
	s := new(strictSchema)
	if raw.Kind() != '{' || json.Unmarshal(raw, s, json.RejectUnknownMembers(true)) != nil {
		return nil, false
	}
	switch s.Type.Kind() {
	case '"':
		s.types = make([]string, 1)
		return s, json.Unmarshal(s.Type, &s.types[0]) == nil
	case '[':
		return s, json.Unmarshal(s.Type, &s.types) == nil
	}
	return s, s.Type == nil
}

// fits reports whether every object has all its properties and no others, and every value
// one of the types, or one of several schemas.
func (s *strictSchema) fits(depth int) bool {
	if depth > deepest || len(s.types) == 0 && len(s.AnyOf) == 0 {
		return false
	}
	object := slices.Contains(s.types, "object")
	closed := s.AdditionalProperties != nil && !*s.AdditionalProperties
	if object != closed || !object && (s.Properties != nil || s.Required != nil || s.AdditionalProperties != nil) ||
		slices.Contains(s.types, "array") != (s.Items != nil) {
		return false
	}
	for _, t := range s.types {
		if !slices.Contains(strictTypes, t) {
			return false
		}
	}
	if len(s.Required) != len(s.Properties) {
		return false
	}
	within := slices.Clone(s.AnyOf)
	for name, p := range s.Properties {
		if !slices.Contains(s.Required, name) {
			return false
		}
		within = append(within, p)
	}
	if s.Items != nil {
		within = append(within, s.Items)
	}
	return !slices.ContainsFunc(within, func(raw jsontext.Value) bool {
		in, ok := readSchema(raw)
		return !ok || !in.fits(depth+1)
	})
}
