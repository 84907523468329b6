package strict

import (
	"encoding/json"
	"maps"
	"slices"
)

func sorted(object map[string]any) []string { return slices.Sorted(maps.Keys(object)) }

// Members of a schema whose values are data, not schemas, and those whose members' names are the caller's.
var (
	schemaData  = []string{"const", "default", "enum", "example", "examples", "required"}
	schemaNamed = []string{"$defs", "definitions", "dependentSchemas", "patternProperties", "properties"}
)

// schemas returns a schema with all schemas in it.
func schemas(s value) []value {
	object, ok := s.v.(map[string]any)
	if !ok {
		return nil
	}
	all := []value{s}
	for _, name := range sorted(object) {
		member := s.at(name)
		switch {
		case slices.Contains(schemaData, name):
		case slices.Contains(schemaNamed, name):
			for _, named := range member.members() {
				all = append(all, schemas(named)...)
			}
		default:
			all = append(all, schemas(member)...)
			for _, e := range member.list() {
				all = append(all, schemas(e)...)
			}
		}
	}
	return all
}

// describesObject reports whether a schema is one of objects.
func describesObject(s value) bool {
	types := append(s.at("type").list(), s.at("type"))
	return slices.ContainsFunc(types, func(t value) bool { return t.text() == "object" }) || s.at("properties").isObject()
}

// open returns the schemas of objects that take members which they do not name.
func open(s value) []value {
	return where(schemas(s), func(s value) bool { return describesObject(s) && s.at("additionalProperties").v != false })
}

// keywords returns the keywords in a schema that are among those named.
func keywords(s value, names ...string) []value {
	var found []value
	for _, sub := range schemas(s) {
		for _, name := range names {
			found = append(found, when(sub.has(name), sub.at(name))...)
		}
	}
	return found
}

// optional returns the schemas of objects that do not require each of their properties.
func optional(s value) []value {
	return where(schemas(s), func(s value) bool {
		var required []string
		for _, r := range s.at("required").list() {
			required = append(required, r.text())
		}
		properties, _ := s.at("properties").v.(map[string]any)
		return slices.ContainsFunc(sorted(properties), func(name string) bool { return !slices.Contains(required, name) })
	})
}

// manyItems returns each minItems above 1.
func manyItems(s value) []value {
	return where(keywords(s, "minItems"), func(v value) bool { return v.v != json.Number("0") && v.v != json.Number("1") })
}
