package config_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"flag"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/invopop/jsonschema"

	"github.com/genway/genway/core/config"
	"github.com/genway/genway/core/upstream/provider"
)

var update = flag.Bool("update", false, "rewrite schema.json and schema.json.gz")

// The schema in the commands matches the configuration.
func TestSchemaIsFresh(t *testing.T) {
	want, err := reflected()
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		var packed bytes.Buffer
		z, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
		if err != nil {
			t.Fatal(err)
		}
		_, err = z.Write(want)
		if err := errors.Join(err, z.Close(), os.WriteFile("schema.json", want, 0o600), os.WriteFile("schema.json.gz", packed.Bytes(), 0o600)); err != nil {
			t.Fatal(err)
		}
	} else if readable, err := os.ReadFile("schema.json"); err != nil || !bytes.Equal(config.Schema(), want) || !bytes.Equal(readable, want) {
		t.Error("schema.json is stale: go test ./core/config -run TestSchemaIsFresh -update")
	}
}

// amountSchema is the schema of an amount that is a number, or a text with a unit.
func amountSchema(examples ...any) *jsonschema.Schema {
	return &jsonschema.Schema{OneOf: []*jsonschema.Schema{{Type: "number"}, {Type: "string"}}, Examples: examples}
}

func reflected() ([]byte, error) {
	reflector := jsonschema.Reflector{
		FieldNameTag: "yaml", DoNotReference: false, ExpandedStruct: true,
		Mapper: func(t reflect.Type) *jsonschema.Schema {
			switch t {
			case reflect.TypeFor[config.Duration]():
				return &jsonschema.Schema{Type: "string", Examples: []any{"30s", "5m", "30d"}}
			case reflect.TypeFor[config.Bytes]():
				return amountSchema("65536", "64KiB", "1MiB")
			case reflect.TypeFor[config.Share]():
				return amountSchema("0.5", "70%")
			case reflect.TypeFor[config.Days]():
				return amountSchema("30", "30d")
			case reflect.TypeFor[config.Moment]():
				return &jsonschema.Schema{Type: "string", Examples: []any{"2027-01-31T12:00:00Z", "2027-01-31"}}
			case reflect.TypeFor[config.Bound]():
				return boundSchema()
			case reflect.TypeFor[config.Models]():
				return modelsSchema()
			}
			return nil
		},
	}
	schema := reflector.Reflect(&config.Config{})
	oneOf(schema.Definitions["Upstream"], "kind", config.Kinds())
	protocols, _ := schema.Definitions["Route"].Properties.Get("protocols")
	protocols.Items.Enum = words(config.Protocols())
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

// modelsSchema takes what Models does: a list of names, or one word.
func modelsSchema() *jsonschema.Schema {
	return &jsonschema.Schema{OneOf: []*jsonschema.Schema{
		{Type: "array", Items: &jsonschema.Schema{Type: "string"}},
		{Type: "string", Enum: []any{config.Discover}},
	}}
}

// oneOf holds a property to words.
func oneOf(object *jsonschema.Schema, name string, list []string) {
	property, _ := object.Properties.Get(name)
	property.Enum = words(list)
}

func words(list []string) []any {
	var all []any
	for _, word := range list {
		all = append(all, word)
	}
	return all
}

// Providers in the schema are those that there are.
func TestSchemaNamesProviders(t *testing.T) {
	tag, _ := reflect.TypeFor[config.Upstream]().FieldByName("Provider")
	want := "enum=" + strings.Join(provider.Names(), ",enum=")
	if got := tag.Tag.Get("jsonschema"); got != want {
		t.Errorf("the tag jsonschema of Upstream.Provider in config.go is stale\ngot  %s\nwant %s", got, want)
	}
}
