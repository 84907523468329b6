package fit_test

import (
	"strings"
	"testing"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/fit"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"google.golang.org/protobuf/proto"
)

// asked returns a request for an answer of a schema.
func asked(schema string, strict *bool) *genwayv1.GenerateTextRequest {
	return &genwayv1.GenerateTextRequest{ResponseFormat: &genwayv1.ResponseFormat{Kind: genwayv1.ResponseFormat_KIND_JSON_SCHEMA, SchemaJson: schema, Strict: strict}}
}

// offering returns a request with a function.
func offering(schema string, strict *bool) *genwayv1.GenerateTextRequest {
	f := &genwayv1.FunctionTool{Name: "f", ParametersJson: schema, Strict: strict}
	return &genwayv1.GenerateTextRequest{Tools: []*genwayv1.Tool{{Kind: &genwayv1.Tool_Function{Function: f}}}}
}

// Schemas of answers and of strict tools become what the messages protocol takes, as its vendor's SDK rewrites them.
func TestClosedSchemas(t *testing.T) {
	for name, c := range map[string]struct {
		in, out string
		lost    bool
	}{
		"closed":         {`{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]}`, `{"type":"object","properties":{"a":{"type":"string"}},"required":["a"],"additionalProperties":false}`, false},
		"constraints":    {`{"type":"integer","minimum":1,"maximum":5,"description":"d"}`, `{"type":"integer","description":"d\n\n{minimum: 1, maximum: 5}"}`, false},
		"no description": {`{"type":"string","minLength":1,"pattern":"^a"}`, `{"type":"string","description":"{minLength: 1, pattern: \"^a\"}"}`, false},
		"formats":        {`{"type":"object","properties":{"a":{"type":"string","format":"date"},"b":{"type":"integer","format":"int64"}}}`, `{"type":"object","properties":{"a":{"type":"string","format":"date"},"b":{"type":"integer","description":"{format: \"int64\"}"}},"additionalProperties":false}`, false},
		"one of":         {`{"oneOf":[{"type":"object","properties":{"a":{"const":1}}},{"type":"null"}],"discriminator":{"propertyName":"a"}}`, `{"anyOf":[{"type":"object","properties":{"a":{"const":1}},"additionalProperties":false},{"type":"null"}],"description":"{discriminator: {\"propertyName\":\"a\"}}"}`, false},
		"items":          {`{"type":"array","items":{"type":"object","properties":{"a":{}}},"minItems":1,"maxItems":3,"uniqueItems":true}`, `{"type":"array","items":{"type":"object","properties":{"a":{}},"additionalProperties":false},"minItems":1,"description":"{maxItems: 3, uniqueItems: true}"}`, false},
		"many items":     {`{"type":"array","items":{"type":"string"},"minItems":2}`, `{"type":"array","items":{"type":"string"},"description":"{minItems: 2}"}`, false},
		"references":     {`{"$ref":"#/$defs/x","$defs":{"x":{"type":"object","properties":{"a":{"allOf":[{"$ref":"#/$defs/y"}],"default":"b"}}},"y":{"enum":["a","b"],"type":"string"}}}`, `{"$defs":{"x":{"type":"object","properties":{"a":{"$ref":"#/$defs/y"}},"additionalProperties":false},"y":{"type":"string","enum":["a","b"]}},"$ref":"#/$defs/x"}`, false},
		"upper case":     {`{"type":"OBJECT","properties":{"a":{"type":"STRING","nullable":true}},"propertyOrdering":["a"],"$schema":"s"}`, `{"type":"object","properties":{"a":{"type":["string","null"]}},"additionalProperties":false}`, false},
		"nullable":       {`{"anyOf":[{"type":"string"}],"nullable":true}`, `{"anyOf":[{"type":"string"},{"type":"null"}]}`, false},
		"types":          {`{"type":["object","null"],"properties":{"a":{"type":"string"}}}`, `{"type":["object","null"],"properties":{"a":{"type":"string"}},"additionalProperties":false}`, false},
		"inferred":       {`{"properties":{"a":{"items":{"type":"string"}}}}`, `{"type":"object","properties":{"a":{"type":"array","items":{"type":"string"}}},"additionalProperties":false}`, false},
		"choice beside":  {`{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"string"}},"anyOf":[{"required":["a"]},{"required":["b"]}]}`, `{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"string"}},"additionalProperties":false,"description":"{anyOf: [{\"required\":[\"a\"]},{\"required\":[\"b\"]}]}"}`, false},
		"typed choice":   {`{"type":"object","anyOf":[{"properties":{"a":{"type":"string"}}}]}`, `{"anyOf":[{"type":"object","properties":{"a":{"type":"string"}},"additionalProperties":false}]}`, false},
		"objects":        {`{"enum":[{"a":1}],"type":"object","properties":{"a":{}}}`, `{"type":"object","properties":{"a":{}},"additionalProperties":false,"description":"{enum: [{\"a\":1}]}"}`, false},
		"empty object":   {`{"type":"object","additionalProperties":false}`, `{"type":"object","additionalProperties":false}`, false},
		"free":           {`{"type":"object"}`, `{"type":"object","additionalProperties":false}`, true},
		"map":            {`{"type":"object","additionalProperties":{"type":"number"}}`, `{"type":"object","additionalProperties":false,"description":"{additionalProperties: {\"type\":\"number\"}}"}`, true},
		"open":           {`{"type":"object","properties":{"a":{}},"additionalProperties":true}`, `{"type":"object","properties":{"a":{}},"additionalProperties":false}`, true},
		"anything":       {`{"type":"object","properties":{"a":true}}`, `{"type":"object","properties":{"a":true},"additionalProperties":false}`, false},
		"no schema":      {`[1]`, `[1]`, false},
		"no JSON":        {`{"type":`, `{"type":`, false},
	} {
		var losses codec.Losses
		req := asked(c.in, nil)
		before := proto.CloneOf(req)
		got := fit.Schemas(req, rulesOf(messages), &losses)
		if schema := got.ResponseFormat.SchemaJson; schema != c.out || (losses.List() != nil) != c.lost {
			t.Errorf("%s:\n%s became\n%s, not\n%s; lost %v", name, c.in, schema, c.out, losses.List())
		}
		if again := fit.Schemas(got, rulesOf(messages), nil); again.ResponseFormat.SchemaJson != c.out && !c.lost {
			t.Errorf("%s: and then %s", name, again.ResponseFormat.SchemaJson)
		}
		if !proto.Equal(req, before) {
			t.Errorf("%s: the request is changed", name)
		}
	}
	got := fit.Schemas(offering(`{"type":"object","properties":{"a":{"type":"integer","minimum":1}}}`, new(true)), rulesOf(messages), nil)
	if schema := got.Tools[0].GetFunction().GetParametersJson(); schema != `{"type":"object","properties":{"a":{"type":"integer","description":"{minimum: 1}"}},"additionalProperties":false}` {
		t.Errorf("a strict tool has %s", schema)
	}
}

// The parameters of functions are an object, for messages without a choice at its top.
func TestParameters(t *testing.T) {
	for in, want := range map[string]struct{ messages, openai string }{
		`{"type":"object","properties":{"a":{"anyOf":[{"type":"string"}]}}}`: {},
		``:     {},
		`{}`:   {`{"type":"object"}`, `{"type":"object"}`},
		`true`: {`{"type":"object"}`, `{"type":"object"}`},
		`{"properties":{"a":{}},"required":["a"]}`:     {`{"type":"object","properties":{"a":{}},"required":["a"]}`, `{"type":"object","properties":{"a":{}},"required":["a"]}`},
		`{"type":["object","null"],"minProperties":1}`: {`{"type":"object","minProperties":1}`, ``},
		`{"oneOf":[{"properties":{"k":{"const":1},"a":{}},"required":["k","a"]},{"$ref":"#/$defs/x"}],"$defs":{"x":{"properties":{"k":{"const":2}},"required":["k"]}}}`: {
			`{"type":"object","$defs":{"x":{"properties":{"k":{"const":2}},"required":["k"]}},"description":"{oneOf: [{\"properties\":{\"k\":{\"const\":1},\"a\":{}},\"required\":[\"k\",\"a\"]},{\"$ref\":\"#/$defs/x\"}]}","properties":{"k":{"anyOf":[{"const":1},{"const":2}]},"a":{}},"required":["k"]}`, ``},
		`{"type":"object","allOf":[{"properties":{"a":{}},"required":["a"]},{"required":["b"],"properties":{"b":{}}}],"description":"d"}`: {
			`{"type":"object","description":"d\n\n{allOf: [{\"properties\":{\"a\":{}},\"required\":[\"a\"]},{\"required\":[\"b\"],\"properties\":{\"b\":{}}}]}","properties":{"a":{},"b":{}},"required":["a","b"]}`, ``},
	} {
		for rule, want := range map[genwayv1.Protocol]string{messages: want.messages, chat: want.openai, responses: want.openai} {
			if want == "" {
				want = in
			}
			var losses codec.Losses
			if got := fit.Schemas(offering(in, nil), rulesOf(rule), &losses).Tools[0].GetFunction().GetParametersJson(); got != want || losses.List() != nil {
				t.Errorf("%s: %s became\n%s, not\n%s; lost %v", rule, in, got, want, losses.List())
			}
		}
		req := offering(in, nil)
		if fit.Schemas(req, rulesOf(genwayv1.Protocol_PROTOCOL_GENERATE_CONTENT), nil) != req {
			t.Errorf("generateContent takes %s", in)
		}
	}
}

// What OpenAI's strict mode does not take is not strict, and named where it was demanded.
func TestStrictSchemas(t *testing.T) {
	const closed = `{"type":"object","properties":{"a":{"type":["string","null"],"pattern":"x"},"b":{"$ref":"#/$defs/b"}},"required":["b","a"],"additionalProperties":false,"$defs":{"b":{"type":"integer","minimum":1}}}`
	for schema, fits := range map[string]bool{
		closed: true,
		strings.Replace(closed, `["b","a"]`, `["b"]`, 1):                                                                   false,
		strings.Replace(closed, `false`, `true`, 1):                                                                        false,
		strings.Replace(closed, `"minimum":1`, `"not":{}`, 1):                                                              false,
		`{"type":"object","properties":{"oneOf":{"type":"string"}},"required":["oneOf"],"additionalProperties":false}`:     true,
		`{"type":"object","properties":{"a":{"oneOf":[{"type":"string"}]}},"required":["a"],"additionalProperties":false}`: false,
		`{"type":"object","properties":{"a":{"items":{"type":"object"}}},"required":["a"],"additionalProperties":false}`:   false,
		`{"type":"object"}`: false,
	} {
		for _, rule := range []genwayv1.Protocol{chat, responses} {
			for _, strict := range []*bool{nil, new(bool), new(true)} {
				var losses codec.Losses
				got := fit.Schemas(asked(schema, strict), rulesOf(rule), &losses).ResponseFormat
				if want := fits && strict != nil && *strict; got.GetStrict() != want || got.SchemaJson != schema || !fits && got.Strict == nil {
					t.Errorf("%s: %s is strict: %v", rule, schema, got.Strict)
				}
				if lost := strict != nil && *strict && !fits; lost != (losses.List() != nil) || lost && losses.List()[0].Member != "response_format.strict" {
					t.Errorf("%s: lost %v", schema, losses.List())
				}
				losses = codec.Losses{}
				tool := fit.Schemas(offering(schema, strict), rulesOf(rule), &losses).Tools[0].GetFunction()
				if want := fits && strict != nil && *strict; tool.GetStrict() != want {
					t.Errorf("%s: a function of %s is strict: %v", rule, schema, tool.Strict)
				}
			}
		}
	}
}

// Messages takes twenty strict tools.
func TestManyStrict(t *testing.T) {
	req := offering(`{"type":"object","additionalProperties":false}`, new(true))
	for range 21 {
		req.Tools = append(req.Tools, req.Tools[0])
	}
	var losses codec.Losses
	got := fit.Schemas(req, rulesOf(messages), &losses)
	for i, tool := range got.Tools {
		if tool.GetFunction().GetStrict() != (i < 20) {
			t.Errorf("tool %d is strict: %v", i, tool)
		}
	}
	if l := losses.List(); len(l) != 2 || l[0].Member != "tools[20].function.strict" {
		t.Errorf("lost %v", l)
	}
}

// Schemas of strangers may be large, deep or circular.
func TestHostileSchemas(t *testing.T) {
	var many, refs, required strings.Builder
	for i := range 5000 {
		name := strings.Repeat("x", i%7) + string(rune('a'+i%26)) + strings.Repeat("y", i%50)
		many.WriteString(`,"` + name + string(rune(0x4e00+i)) + `":{"type":"string"}`)
		required.WriteString(`,"` + name + `"`)
		refs.WriteString(`,{"$ref":"#/$defs/b"}`)
	}
	for _, schema := range map[string]string{
		"wide":       `{"type":"object","properties":{"a":{}` + many.String() + `},"required":["a"` + required.String() + `],"additionalProperties":false}`,
		"choice":     `{"anyOf":[{"$ref":"#/$defs/a"}` + refs.String() + `],"$defs":{"a":{"type":"object"}` + many.String() + `}}`,
		"deep":       strings.Repeat(`{"type":"array","items":`, 5000) + `{}` + strings.Repeat(`}`, 5000),
		"circular":   `{"allOf":[{"$ref":"#/$defs/a"},{"$ref":"#"}],"$defs":{"a":{"$ref":"#/$defs/a"}}}`,
		"unresolved": `{"anyOf":[{"$ref":"#/nothing/there"},{"$ref":"http://x"},{"$ref":1},null,1],"required":{"a":1},"properties":[]}`,
	} {
		for _, rule := range []genwayv1.Protocol{messages, responses} {
			fit.Schemas(asked(schema, nil), rulesOf(rule), nil)
			fit.Schemas(offering(schema, new(true)), rulesOf(rule), nil)
			fit.Schemas(offering(schema, nil), rulesOf(rule), nil)
		}
	}
}
