package generatecontent

import (
	"strings"
	"testing"

	"github.com/genway/genway/codec/codectest"
	"github.com/go-json-experiment/json/jsontext"
)

// Schemas cost what they are long, however deep they are.
func TestU43DeepSchemasAreCheap(t *testing.T) {
	const deep = 2000
	for _, c := range [][2]string{{`{"type":"OBJECT","properties":{"a":`, `}}`}, {`{"type":"ARRAY","items":`, `}`}, {`{"anyOf":[`, `]}`}} {
		schema := strings.Repeat(c[0], deep) + `{"type":"STRING"}` + strings.Repeat(c[1], deep)
		codectest.CostsItsLength(t, len(schema), func() {
			if _, err := jsonSchema(jsontext.Value(schema), "p"); err != nil {
				t.Error(err)
			}
		})
	}
}
