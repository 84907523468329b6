package schema

import (
	"encoding/json"
	"fmt"
	"testing"

	"pgregory.net/rapid"
)

type object = map[string]any

// satisfiable draws schemas that have instances by construction: no bound contradicts
// another, and branches are as good as what they are branches of.
func satisfiable(t *rapid.T, depth int) any {
	sorts := []string{"string", "integer", "number", "boolean", "null", "enum", "const", "format", "pattern", "types", "true"}
	if depth > 0 {
		sorts = append(sorts, "object", "object", "object", "array", "array", "tuple", "anyOf", "oneOf", "allOf", "ref", "if", "not")
	}
	switch sort := rapid.SampledFrom(sorts).Draw(t, "sort"); sort {
	case "true":
		return true
	case "string":
		low := rapid.IntRange(0, 40).Draw(t, "minLength")
		return object{"type": "string", "minLength": low, "maxLength": low + rapid.IntRange(0, 9).Draw(t, "more")}
	case "integer", "number":
		low := rapid.IntRange(-1000, 1000).Draw(t, "minimum")
		multiple := rapid.SampledFrom([]float64{1, 2, 7, 0.5, 0.01, 1.25}).Draw(t, "multipleOf")
		s := object{"type": sort, "multipleOf": multiple}
		s[rapid.SampledFrom([]string{"minimum", "exclusiveMinimum"}).Draw(t, "lower")] = low
		s[rapid.SampledFrom([]string{"maximum", "exclusiveMaximum"}).Draw(t, "upper")] = low + rapid.IntRange(12, 50).Draw(t, "span")
		return s
	case "enum":
		return object{"enum": []any{"a", nil, 1.5, object{"k": []any{1}}}}
	case "const":
		return object{"const": rapid.SampledFrom([]any{"x", 0, false, []any{}}).Draw(t, "const")}
	case "format":
		return object{"type": "string", "format": rapid.SampledFrom([]string{
			"date", "date-time", "time", "duration", "email", "hostname", "ipv4", "ipv6", "uri",
			"uri-reference", "uuid", "json-pointer", "relative-json-pointer", "regex",
		}).Draw(t, "format")}
	case "pattern":
		return object{"type": "string", "pattern": rapid.SampledFrom([]string{
			`^[a-z]+$`, `^\d{3}-\d{4}$`, `^(foo|bar)+$`, `a.*b`, `^\w+@\w+\.com$`, `^[^a-z]{2,}$`, `^#[0-9A-F]{6}$`, `\S`, `^$`,
		}).Draw(t, "pattern")}
	case "object":
		s := object{"type": "object"}
		properties, required := object{}, []any{}
		for i := range rapid.IntRange(0, 4).Draw(t, "properties") {
			name := fmt.Sprintf("p%d", i)
			properties[name] = satisfiable(t, depth-1)
			if rapid.Bool().Draw(t, "required") {
				required = append(required, name)
			}
		}
		s["properties"], s["required"] = properties, required
		switch rapid.IntRange(0, 3).Draw(t, "closed") {
		case 0:
			s["additionalProperties"] = false
		case 1:
			s["minProperties"] = len(properties) + 1
			s["additionalProperties"] = satisfiable(t, depth-1)
		case 2:
			s["maxProperties"] = len(required)
			s["patternProperties"] = object{"^x_": false}
		case 3:
			s["propertyNames"] = object{"maxLength": 4}
			s["unevaluatedProperties"] = false
		}
		return s
	case "array":
		s := object{"type": "array", "items": satisfiable(t, depth-1)}
		least := rapid.IntRange(0, 3).Draw(t, "minItems")
		s["minItems"], s["maxItems"] = least, least+rapid.IntRange(0, 2).Draw(t, "more")
		if rapid.Bool().Draw(t, "distinct") {
			s = object{"type": "array", "items": object{"type": "integer", "minimum": 3}, "uniqueItems": true, "minItems": least}
		}
		return s
	case "tuple":
		return object{"prefixItems": []any{satisfiable(t, depth-1), satisfiable(t, depth-1)}, "type": "array", "minItems": 2, "unevaluatedItems": false}
	case "anyOf":
		return object{"anyOf": []any{false, satisfiable(t, depth-1), satisfiable(t, depth-1)}}
	case "oneOf":
		a, b := satisfiable(t, depth-1), satisfiable(t, depth-1)
		return object{"oneOf": []any{
			object{"type": "object", "properties": object{"kind": object{"const": "a"}, "value": a}, "required": []any{"kind", "value"}},
			object{"type": "object", "properties": object{"kind": object{"const": "b"}, "value": b}, "required": []any{"kind"}},
		}}
	case "allOf":
		return object{"allOf": []any{
			object{"type": "object", "properties": object{"a": satisfiable(t, depth-1)}, "required": []any{"a"}},
			object{"properties": object{"b": satisfiable(t, depth-1)}, "dependentRequired": object{"b": []any{"c"}}},
		}}
	case "ref":
		return object{"$ref": "#/$defs/" + rapid.SampledFrom([]string{"list", "tree", "leaf"}).Draw(t, "ref")}
	case "if":
		return object{"if": object{"type": "object"}, "then": object{"required": []any{"t"}}, "else": satisfiable(t, 0)}
	case "not":
		return object{"type": []any{"string", "integer", "object"}, "not": object{"type": rapid.SampledFrom([]string{"string", "object"}).Draw(t, "not")}}
	default:
		return object{"type": []any{"null", rapid.SampledFrom([]string{"string", "integer", "array", "object"}).Draw(t, "type")}}
	}
}

var definitions = object{
	"list": object{"type": "object", "properties": object{"next": object{"anyOf": []any{object{"$ref": "#/$defs/list"}, object{"type": "null"}}}}, "required": []any{"next"}},
	"tree": object{"type": "object", "properties": object{"kids": object{"type": "array", "items": object{"$ref": "#/$defs/tree"}}, "leaf": object{"$ref": "#/$defs/leaf"}}},
	"leaf": object{"type": "string", "minLength": 1},
}

func TestSatisfiableSchemasHaveInstances(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		root := object{"$defs": definitions, "allOf": []any{satisfiable(t, 3)}}
		schema, err := json.Marshal(root)
		if err != nil {
			t.Fatalf("%v", err)
		}
		options := Options{Seed: rapid.Uint64().Draw(t, "seed")}
		if rapid.Bool().Draw(t, "hinted") {
			options.Hints = FromPrompt(`"quoted" 12 in Paris p1: 7 and 0.5`)
		}
		instance, err := options.Instance(schema)
		if err != nil {
			t.Fatalf("%v\nschema %s", err, schema)
		}
		validate(t, schema, instance, true)
	})
}

// TestAnyInstanceIsValid conjoins schemas that may contradict each other: an error is
// an answer then, a wrong instance never is.
func TestAnyInstanceIsValid(t *testing.T) {
	made := 0
	rapid.Check(t, func(t *rapid.T) {
		combine := rapid.SampledFrom([]string{"allOf", "anyOf", "oneOf"}).Draw(t, "combine")
		root := object{"$defs": definitions, combine: []any{satisfiable(t, 2), satisfiable(t, 2)}, "not": satisfiable(t, 1)}
		schema, err := json.Marshal(root)
		if err != nil {
			t.Fatalf("%v", err)
		}
		instance, err := Options{Seed: rapid.Uint64().Draw(t, "seed")}.Instance(schema)
		if err != nil {
			return
		}
		made++
		validate(t, schema, instance, false)
	})
	if made == 0 {
		t.Error("no instance was made at all")
	}
}
