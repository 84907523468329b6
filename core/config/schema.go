package config

import _ "embed" // the schema

// What reflects on Config to make the schema is in the test, and 0.5 MB of a command that
// holds it.
//
//go:embed schema.json
var schema []byte

// Schema is the JSON Schema of the file, for editors. It must not be changed.
func Schema() []byte { return schema }
