package generatecontent

import (
	"testing"

	"github.com/genway/genway/codec/fault"
	"github.com/go-json-experiment/json/jsontext"
)

func TestJSONSchema(t *testing.T) {
	for name, c := range map[string]struct{ in, out string }{
		"types":           {`{"type":"OBJECT","properties":{"a":{"type":"STRING"},"b":{"type":"Array","items":{"type":"NUMBER"}}}}`, `{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"array","items":{"type":"number"}}}}`},
		"order":           {`{"required":["z"],"type":"OBJECT","propertyOrdering":["z","a"],"properties":{"z":{},"a":{}}}`, `{"required":["z"],"type":"object","propertyOrdering":["z","a"],"properties":{"z":{},"a":{}}}`},
		"nullable":        {`{"nullable":true,"type":"STRING"}`, `{"type":["string","null"]}`},
		"not nullable":    {`{"type":"STRING","nullable":false}`, `{"type":"string"}`},
		"nullable enum":   {`{"type":"STRING","format":"enum","enum":["a"],"nullable":true}`, `{"type":["string","null"],"enum":["a",null]}`},
		"nullable anyOf":  {`{"any_of":[{"type":"STRING"},{"type":"INTEGER"}],"nullable":true}`, `{"anyOf":[{"type":"string"},{"type":"integer"},{"type":"null"}]}`},
		"null type":       {`{"type":"NULL","nullable":true}`, `{"type":"null"}`},
		"counts":          {`{"type":"ARRAY","minItems":"1","max_items":"9007199254740993","maximum":1.50}`, `{"type":"array","minItems":1,"maxItems":9007199254740993,"maximum":1.50}`},
		"enum of numbers": {`{"enum":["101","2"],"type":"INTEGER"}`, `{"enum":[101,2],"type":"integer"}`},
		"example":         {`{"example":{"a":null},"title":"T"}`, `{"examples":[{"a":null}],"title":"T"}`},
		"unspecified":     {`{"type":"TYPE_UNSPECIFIED","description":"d"}`, `{"description":"d"}`},
		"default":         {`{"default":null,"pattern":null}`, `{"default":null}`},
		"format":          {`{"type":"INTEGER","format":"int64"}`, `{"type":"integer","format":"int64"}`},
		"names stay":      {`{"properties":{"min_items":{"type":"STRING"},"type":{"type":"OBJECT"}}}`, `{"properties":{"min_items":{"type":"string"},"type":{"type":"object"}}}`},
		"JSON Schema":     {`{"type":["string","null"],"additionalProperties":false,"$defs":{"x":{"type":"STRING"}},"$ref":"#/$defs/x","oneOf":[{"const":1.0}]}`, `{"type":["string","null"],"additionalProperties":false,"$defs":{"x":{"type":"string"}},"$ref":"#/$defs/x","oneOf":[{"const":1.0}]}`},
		"white space":     {` { "type" : "STRING" , "title" : "a  b" } `, `{"type":"string","title":"a  b"}`},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := jsonSchema(jsontext.Value(c.in), "p")
			if err != nil || got != c.out {
				t.Errorf("%s became\n%s, not\n%s (%v)", c.in, got, c.out, err)
			}
			if again, err := jsonSchema(jsontext.Value(got), "p"); err != nil || again != got {
				t.Errorf("and then %s (%v)", again, err)
			}
		})
	}
}

func TestJSONSchemaRefuses(t *testing.T) {
	for _, in := range []string{`[]`, `"x"`, `{"type":8}`, `{"properties":[]}`, `{"anyOf":{}}`, `{"items":1}`} {
		_, err := jsonSchema(jsontext.Value(in), "tools[0].parameters")
		if e := fault.From(err); e == nil || e.Param != "tools[0].parameters" || e.Kind != fault.InvalidRequest {
			t.Errorf("%s: %v", in, err)
		}
	}
}
