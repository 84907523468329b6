package chat_test

import (
	"encoding/json"
	"testing"

	"github.com/genway/genway/codec"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

// TestToolChoices encodes choices as other protocols give them.
func TestToolChoices(t *testing.T) {
	tools := []*genwayv1.Tool{
		{Kind: &genwayv1.Tool_Function{Function: &genwayv1.FunctionTool{Name: "f"}}},
		{Kind: &genwayv1.Tool_Custom{Custom: &genwayv1.CustomTool{Name: "c"}}},
	}
	for name, tc := range map[string]struct {
		choice *genwayv1.ToolChoice
		want   string
	}{
		"none given":       {nil, ``},
		"only parallel":    {&genwayv1.ToolChoice{Parallel: new(false)}, ``},
		"auto":             {&genwayv1.ToolChoice{Mode: genwayv1.ToolChoice_MODE_AUTO}, `"auto"`},
		"T13 any":          {&genwayv1.ToolChoice{Mode: genwayv1.ToolChoice_MODE_REQUIRED}, `"required"`},
		"a function":       {&genwayv1.ToolChoice{Mode: genwayv1.ToolChoice_MODE_REQUIRED, Names: []string{"f"}}, `{"type":"function","function":{"name":"f"}}`},
		"a custom tool":    {&genwayv1.ToolChoice{Mode: genwayv1.ToolChoice_MODE_REQUIRED, Names: []string{"c"}}, `{"type":"custom","custom":{"name":"c"}}`},
		"one allowed":      {&genwayv1.ToolChoice{Mode: genwayv1.ToolChoice_MODE_REQUIRED, Names: []string{"f"}, AllowedList: true}, `{"type":"allowed_tools","allowed_tools":{"mode":"required","tools":[{"type":"function","function":{"name":"f"}}]}}`},
		"two called":       {&genwayv1.ToolChoice{Mode: genwayv1.ToolChoice_MODE_REQUIRED, Names: []string{"f", "c"}}, `{"type":"allowed_tools","allowed_tools":{"mode":"required","tools":[{"type":"function","function":{"name":"f"}},{"type":"custom","custom":{"name":"c"}}]}}`},
		"none with names":  {&genwayv1.ToolChoice{Mode: genwayv1.ToolChoice_MODE_NONE, Names: []string{"f"}}, `"none"`},
		"F18 an open word": {&genwayv1.ToolChoice{NativeMode: "validated"}, `"validated"`},
	} {
		t.Run(name, func(t *testing.T) {
			body, err := c.EncodeRequest(&codec.Request{GenerateTextRequest: &genwayv1.GenerateTextRequest{Tools: tools, ToolChoice: tc.choice}}, nil)
			if err != nil {
				t.Fatal(err)
			}
			var r struct {
				ToolChoice json.RawMessage `json:"tool_choice"`
			}
			if err := json.Unmarshal(body, &r); err != nil {
				t.Fatal(err)
			}
			if string(r.ToolChoice) != tc.want {
				t.Errorf("%s", r.ToolChoice)
			}
		})
	}
}

func TestForeignChoicesAreRefused(t *testing.T) {
	native := &genwayv1.NativeField{Protocol: genwayv1.Protocol_PROTOCOL_RESPONSES, Name: "tool_choice", Json: []byte(`{}`), Binding: true}
	for name, req := range map[string]*genwayv1.GenerateTextRequest{
		"choice":           {ToolChoice: &genwayv1.ToolChoice{Native: native}},
		"format":           {ResponseFormat: &genwayv1.ResponseFormat{Native: native}},
		"enum":             {ResponseFormat: &genwayv1.ResponseFormat{Kind: genwayv1.ResponseFormat_KIND_ENUM}},
		"malformed schema": {Tools: []*genwayv1.Tool{{Kind: &genwayv1.Tool_Function{Function: &genwayv1.FunctionTool{Name: "f", ParametersJson: "{"}}}}},
		"smuggled tool":    {Tools: []*genwayv1.Tool{{Kind: &genwayv1.Tool_Hosted{Hosted: &genwayv1.HostedTool{Protocol: own, Json: []byte(`{}],"model":"x","y":[{}`)}}}}},
		"unknown role":     {Messages: []*genwayv1.Message{{NativeRole: "critic"}}},
		"unlinked result":  {Messages: []*genwayv1.Message{{Role: genwayv1.Role_ROLE_TOOL, Parts: []*genwayv1.Part{{Kind: &genwayv1.Part_ToolResult{ToolResult: &genwayv1.ToolResult{}}}}}}},
		"bad extra_json":   {ExtraJson: "["},
	} {
		t.Run(name, func(t *testing.T) {
			if body, err := c.EncodeRequest(&codec.Request{GenerateTextRequest: req}, nil); err == nil {
				t.Errorf("taken: %s", body)
			}
		})
	}
}
