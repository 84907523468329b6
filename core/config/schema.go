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
			if t == reflect.TypeFor[Duration]() {
				return &jsonschema.Schema{Type: "string", Examples: []any{"30s", "5m"}}
			}
			return nil
		},
	}
	schema := reflector.Reflect(&Config{})
	schema.Title = "Genway configuration"
	schema.ID = ""
	return json.MarshalIndent(schema, "", "  ")
}
