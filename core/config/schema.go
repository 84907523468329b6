package config

import (
	"encoding/json"
	"reflect"

	"github.com/invopop/jsonschema"
)

// Schema gives the JSON Schema of the file, for editors.
func Schema() ([]byte, error) {
	reflector := jsonschema.Reflector{
		FieldNameTag: "yaml", DoNotReference: false, ExpandedStruct: true,
		Mapper: func(t reflect.Type) *jsonschema.Schema {
			switch t {
			case reflect.TypeFor[Duration]():
				return &jsonschema.Schema{Type: "string", Examples: []any{"30s", "5m"}}
			case reflect.TypeFor[Bound]():
				return boundSchema()
			}
			return nil
		},
	}
	schema := reflector.Reflect(&Config{})
	schema.Title = "Genway configuration"
	schema.ID = ""
	return json.MarshalIndent(schema, "", "  ")
}

// boundSchema takes what Bound does: a number, or a least and a most.
func boundSchema() *jsonschema.Schema {
	number := &jsonschema.Schema{Type: "number"}
	object := &jsonschema.Schema{Type: "object", AdditionalProperties: jsonschema.FalseSchema, Properties: jsonschema.NewProperties()}
	object.Properties.Set("min", number)
	object.Properties.Set("max", number)
	return &jsonschema.Schema{OneOf: []*jsonschema.Schema{number, object}}
}
