package generatecontent

import (
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"pgregory.net/rapid"
)

func TestCamelCase(t *testing.T) {
	for name, c := range map[string]struct{ in, out string }{
		"known":            {`{"top_p":1,"a":{"mime_type" : "x"}}`, `{"topP":1,"a":{"mimeType" : "x"}}`},
		"value":            {`{"a":"top_p","b":["top_p"]}`, `{"a":"top_p","b":["top_p"]}`},
		"unknown":          {`{"top_x":1}`, `{"top_x":1}`},
		"caller's":         {`{"args":{"top_p":{"top_p":1}},"top_p":2}`, `{"args":{"top_p":{"top_p":1}},"topP":2}`},
		"caller's, snake":  {`{"parameters_json_schema":[{"top_p":"}"}],"top_k":2}`, `{"parametersJsonSchema":[{"top_p":"}"}],"topK":2}`},
		"caller's, scalar": {`{"args":"top_p","top_p":1}`, `{"args":"top_p","topP":1}`},
		"earlier word":     {`{"_responseJsonSchema":{}}`, `{"responseJsonSchema":{}}`},
		"escapes":          {`{"a":"\\","top_p":"\"top_k\":"}`, `{"a":"\\","topP":"\"top_k\":"}`},
		"cut":              {`{"top_p":1,"top_`, `{"topP":1,"top_`},
		"cut after a name": {`{"args"`, `{"args"`},
		"cut in args":      {`{"args":{"a":"`, `{"args":{"a":"`},
		"empty":            {``, ``},
	} {
		t.Run(name, func(t *testing.T) {
			if got := string(camelCase([]byte(c.in))); got != c.out {
				t.Errorf("%s became %s, not %s", c.in, got, c.out)
			}
		})
	}
}

// TestCamelCaseKeepsJSON: whatever is JSON stays JSON, but for names that become
// duplicates.
func TestCamelCaseKeepsJSON(t *testing.T) {
	value := rapid.SampledFrom([]string{`"x"`, `"\\\""`, `{"top_p":[1,{"args":{}}]}`, `[]`, `1.5`, `null`})
	name := rapid.SampledFrom([]string{"top_p", "args", "response", "x_y", "mime_type", `a\"b`})
	rapid.Check(t, func(t *rapid.T) {
		body := `{"` + name.Draw(t, "name") + `" : ` + value.Draw(t, "value") + `,"z":` + value.Draw(t, "other") + `}`
		if out := camelCase([]byte(body)); !jsontext.Value(out).IsValid() {
			t.Fatalf("%s became %s", body, out)
		}
	})
}
