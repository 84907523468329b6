package fit_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/fit"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

// A function is made strict when every vendor's strict mode takes its schema, and left as it
// is otherwise.
func TestValidated(t *testing.T) {
	object := func(properties, required string) string {
		return `{"type":"object","properties":` + properties + `,"required":` + required + `,"additionalProperties":false}`
	}
	inner := object(`{"x":{"type":"number"}}`, `["x"]`)
	for schema, fits := range map[string]bool{
		object(`{}`, `[]`): true,
		object(`{"a":{"type":["string","null"],"description":"d","enum":["x",null]}}`, `["a"]`): true,
		object(`{"a":{"type":"array","items":`+inner+`},"b":`+inner+`}`, `["b","a"]`):           true,
		object(`{"a":{"anyOf":[`+inner+`,{"type":"null"}]}}`, `["a"]`):                          true,
		`{"type":"object","additionalProperties":false}`:                                        true,
		object(`{"a":{"type":"string"}}`, `[]`):                                                 false,
		object(`{"a":{"type":"string"}}`, `["b"]`):                                              false,
		object(`{"a":{"type":"string"}}`, `["a","b"]`):                                          false,
		object(`{"a":{"type":"object"}}`, `["a"]`):                                              false,
		object(`{"a":{"type":["object","null"]}}`, `["a"]`):                                     false,
		object(`{"a":{"anyOf":[{"type":"object"}]}}`, `["a"]`):                                  false,
		object(`{"a":{"anyOf":[]}}`, `["a"]`):                                                   false,
		object(`{"a":{"type":"array"}}`, `["a"]`):                                               false,
		object(`{"a":{"type":"array","items":{"type":"object"}}}`, `["a"]`):                     false,
		object(`{"a":{}}`, `["a"]`):                                                             false,
		object(`{"a":true}`, `["a"]`):                                                           false,
		object(`{"a":null}`, `["a"]`):                                                           false,
		object(`{"a":{"type":"string","pattern":"x"}}`, `["a"]`):                                false,
		object(`{"a":{"$ref":"#"}}`, `["a"]`):                                                   false,
		object(`{"a":{"type":"word"}}`, `["a"]`):                                                false,
		object(`{"a":{"type":[]}}`, `["a"]`):                                                    false,
		object(`{"a":{"type":1}}`, `["a"]`):                                                     false,
		object(`[]`, `[]`):                                                                      false,
		`{"type":"object","properties":{},"additionalProperties":true}`:                         false,
		`{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]}`:               false,
		`{"type":"string"}`:                                                                     false,
		`{"anyOf":[` + inner + `]}`:                                                             false,
		`{"type":"object","type":"object","additionalProperties":false}`:                        false,
		`[]`: false, `null`: false, `{`: false, ``: false,
		strings.Repeat(`{"type":"array","items":`, 1<<12):                                                                   false,
		object(`{"a":`+strings.Repeat(`{"type":"array","items":`, 9)+`{"type":"null"}`+strings.Repeat(`}`, 9)+`}`, `["a"]`): false,
	} {
		f := &genwayv1.FunctionTool{Name: "f", ParametersJson: schema}
		req := &genwayv1.GenerateTextRequest{Tools: []*genwayv1.Tool{{Kind: &genwayv1.Tool_Function{Function: f}}},
			ToolChoice: &genwayv1.ToolChoice{Mode: genwayv1.ToolChoice_MODE_AUTO, NativeMode: "VALIDATED"}}
		var losses codec.Losses
		out, err := fit.Request(req, chat, &losses)
		if err != nil || out.Tools[0].GetFunction().GetStrict() != fits || (len(losses.List()) == 0) != fits {
			t.Errorf("%.200s: strict %v, lost %v, %v", schema, out.GetTools()[0].GetFunction().GetStrict(), losses.List(), err)
		}
		if f.Strict != nil {
			t.Errorf("%.200s: the caller's own request was changed", schema)
		}
	}
}

// What says false stays, and messages takes twenty strict tools.
func TestValidatedKeeps(t *testing.T) {
	for protocol, most := range map[genwayv1.Protocol]int{chat: 21, responses: 21, genwayv1.Protocol_PROTOCOL_MESSAGES: 20, genwayv1.Protocol_PROTOCOL_GENERATE_CONTENT: 0} {
		no := false
		tools := []*genwayv1.Tool{{Kind: &genwayv1.Tool_Function{Function: &genwayv1.FunctionTool{Name: "n", Strict: &no, ParametersJson: `{"type":"object","additionalProperties":false}`}}}}
		for i := range 21 {
			tools = append(tools, &genwayv1.Tool{Kind: &genwayv1.Tool_Function{Function: &genwayv1.FunctionTool{Name: fmt.Sprint("f", i), ParametersJson: `{"type":"object","additionalProperties":false}`}}})
		}
		req := &genwayv1.GenerateTextRequest{Tools: tools, ToolChoice: &genwayv1.ToolChoice{Mode: genwayv1.ToolChoice_MODE_AUTO, NativeMode: "VALIDATED"}}
		var losses codec.Losses
		out, err := fit.Request(req, protocol, &losses)
		strict := slices.DeleteFunc(slices.Clone(out.GetTools()), func(t *genwayv1.Tool) bool { return !t.GetFunction().GetStrict() })
		if err != nil || len(strict) != most || out.Tools[0].GetFunction().Strict != &no || (len(losses.List()) > 0) != (most > 0) {
			t.Errorf("%s: %d strict, %v, %v", protocol, len(strict), losses.List(), err)
		}
	}
}
