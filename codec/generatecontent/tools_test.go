package generatecontent_test

import (
	"strings"
	"testing"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/fault"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

// TestToolChoice: T13, T15 and F18 in the direction of the upstream.
func TestToolChoice(t *testing.T) {
	strict := &genwayv1.Tool{Kind: &genwayv1.Tool_Function{Function: &genwayv1.FunctionTool{Name: "f", Strict: new(true)}}}
	for _, c2 := range []struct {
		name   string
		choice *genwayv1.ToolChoice
		tools  []*genwayv1.Tool
		config string
	}{
		{"T13 required", &genwayv1.ToolChoice{Mode: genwayv1.ToolChoice_MODE_REQUIRED}, nil, `{"mode":"ANY"}`},
		{"named", &genwayv1.ToolChoice{Mode: genwayv1.ToolChoice_MODE_REQUIRED, Names: []string{"f"}}, nil, `{"mode":"ANY","allowedFunctionNames":["f"]}`},
		{"allowed", &genwayv1.ToolChoice{Mode: genwayv1.ToolChoice_MODE_AUTO, Names: []string{"f"}, AllowedList: true}, nil, `{"mode":"VALIDATED","allowedFunctionNames":["f"]}`},
		{"T15 strict", nil, []*genwayv1.Tool{strict}, `{"mode":"VALIDATED"}`},
		{"strict, none", &genwayv1.ToolChoice{Mode: genwayv1.ToolChoice_MODE_NONE}, []*genwayv1.Tool{strict}, `{"mode":"NONE"}`},
		{"F18 validated", &genwayv1.ToolChoice{NativeMode: "validated"}, nil, `{"mode":"VALIDATED"}`},
		{"F18 unknown", &genwayv1.ToolChoice{NativeMode: "sometimes"}, nil, `tool_choice`},
		{"hosted", &genwayv1.ToolChoice{Native: &genwayv1.NativeField{Name: "x"}}, nil, `tool_choice`},
	} {
		t.Run(c2.name, func(t *testing.T) {
			out, err := c.EncodeRequest(&codec.Request{GenerateTextRequest: &genwayv1.GenerateTextRequest{
				Messages: []*genwayv1.Message{{Role: genwayv1.Role_ROLE_USER, Parts: []*genwayv1.Part{textPart("x")}}}, ToolChoice: c2.choice, Tools: c2.tools}}, nil)
			if err != nil {
				if e := fault.From(err); e.Param != c2.config || e.Reason != fault.ReasonUnsupported {
					t.Errorf("%v", err)
				}
				return
			}
			if !strings.Contains(string(out), `"functionCallingConfig":`+c2.config+`}`) {
				t.Errorf("%s", out)
			}
		})
	}
}
