package fit_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/codec/fit"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

// Hosted tools of another vendor are named when they are offered, and refused when they
// are demanded; without any tool there is no choice.
func TestTools(t *testing.T) {
	search := &genwayv1.Tool{Kind: &genwayv1.Tool_Hosted{Hosted: &genwayv1.HostedTool{Protocol: responses, Type: "web_search"}}}
	own := &genwayv1.Tool{Kind: &genwayv1.Tool_Hosted{Hosted: &genwayv1.HostedTool{Protocol: chat, Type: "t"}}}
	f := &genwayv1.Tool{Kind: &genwayv1.Tool_Function{Function: &genwayv1.FunctionTool{Name: "f"}}}
	c := &genwayv1.Tool{Kind: &genwayv1.Tool_Custom{Custom: &genwayv1.CustomTool{Name: "c"}}}
	const auto, none, required = genwayv1.ToolChoice_MODE_AUTO, genwayv1.ToolChoice_MODE_NONE, genwayv1.ToolChoice_MODE_REQUIRED
	native := &genwayv1.ToolChoice{Native: &genwayv1.NativeField{Protocol: responses, Name: "tool_choice", Json: []byte(`{"type":"web_search"}`)}}
	for name, tt := range map[string]struct {
		tools   []*genwayv1.Tool
		choice  *genwayv1.ToolChoice
		lost    int
		refused string
		// chosen says that the choice stays.
		chosen bool
	}{
		"no tools":              {nil, &genwayv1.ToolChoice{Mode: required}, 0, "", true},
		"callable alone":        {[]*genwayv1.Tool{f, own}, &genwayv1.ToolChoice{Mode: required}, 0, "", true},
		"offered, no choice":    {[]*genwayv1.Tool{search}, nil, 1, "", false},
		"offered, auto":         {[]*genwayv1.Tool{search}, &genwayv1.ToolChoice{Mode: auto}, 1, "", false},
		"offered, none":         {[]*genwayv1.Tool{search}, &genwayv1.ToolChoice{Mode: none}, 1, "", false},
		"offered, required":     {[]*genwayv1.Tool{search}, &genwayv1.ToolChoice{Mode: required}, 0, "tools[0].type", false},
		"beside, auto":          {[]*genwayv1.Tool{f, search, search}, &genwayv1.ToolChoice{Mode: auto}, 2, "", true},
		"beside, required":      {[]*genwayv1.Tool{c, search}, &genwayv1.ToolChoice{Mode: required}, 1, "", true},
		"beside its own":        {[]*genwayv1.Tool{own, search}, &genwayv1.ToolChoice{Mode: required}, 1, "", true},
		"another one by name":   {[]*genwayv1.Tool{search, c}, &genwayv1.ToolChoice{Mode: required, Names: []string{"c"}}, 1, "", true},
		"itself by name":        {[]*genwayv1.Tool{f, search}, &genwayv1.ToolChoice{Mode: required, Names: []string{"web_search"}}, 0, "tools[1].type", false},
		"a choice of its own":   {[]*genwayv1.Tool{search}, native, 1, "", true},
		"allowed, nothing must": {[]*genwayv1.Tool{f, search}, &genwayv1.ToolChoice{Mode: auto, Names: []string{"f"}, AllowedList: true}, 1, "", true},
	} {
		t.Run(name, func(t *testing.T) {
			var losses codec.Losses
			got, err := fit.Tools(&genwayv1.GenerateTextRequest{Tools: tt.tools, ToolChoice: tt.choice}, chat, &losses)
			if tt.refused != "" {
				var f *fault.Error
				if !errors.As(err, &f) || f.Param != tt.refused {
					t.Fatalf("%v", err)
				}
				return
			}
			if err != nil || len(losses.List()) != tt.lost || (got.ToolChoice != nil) != tt.chosen {
				t.Errorf("%v, lost %v, %v", got, losses.List(), err)
			}
		})
	}
}

// Vendors that take a name of a tool once get it once: an equal second tool is left out and named, another one of that name
// refused, by the caller's place. Vendors that say nothing of it get what was sent.
func TestDistinct(t *testing.T) {
	function := func(name, description string) *genwayv1.Tool {
		return &genwayv1.Tool{Kind: &genwayv1.Tool_Function{Function: &genwayv1.FunctionTool{Name: name, Description: description}}}
	}
	custom := &genwayv1.Tool{Kind: &genwayv1.Tool_Custom{Custom: &genwayv1.CustomTool{Name: "f"}}}
	hosted := &genwayv1.Tool{Kind: &genwayv1.Tool_Hosted{Hosted: &genwayv1.HostedTool{Protocol: responses, Type: "web_search"}}}
	for name, tt := range map[string]struct {
		tools   []*genwayv1.Tool
		lost    []string
		refused string
	}{
		"none":                 {nil, nil, ""},
		"different names":      {[]*genwayv1.Tool{function("f", ""), function("F", "")}, nil, ""},
		"without names":        {[]*genwayv1.Tool{hosted, hosted, {}, {}}, nil, ""},
		"equal":                {[]*genwayv1.Tool{function("f", "a"), function("g", ""), function("f", "a"), function("f", "a")}, []string{"tools[2]", "tools[3]"}, ""},
		"of another text":      {[]*genwayv1.Tool{function("f", "a"), function("f", "a"), function("f", "b")}, nil, "tools[2]"},
		"a function, a custom": {[]*genwayv1.Tool{custom, function("f", "")}, nil, "tools[1]"},
	} {
		t.Run(name, func(t *testing.T) {
			for _, protocol := range []genwayv1.Protocol{messages, genwayv1.Protocol_PROTOCOL_GENERATE_CONTENT} {
				var losses codec.Losses
				got, err := fit.Distinct(&genwayv1.GenerateTextRequest{Tools: tt.tools}, rulesOf(protocol), &losses)
				if tt.refused != "" {
					if fault.From(err).Param != tt.refused {
						t.Errorf("%v: %v", protocol, err)
					}
					continue
				}
				var lost []string
				for _, l := range losses.List() {
					lost = append(lost, l.GetMember())
				}
				names := map[string]int{}
				for _, tool := range got.GetTools() {
					names[tool.GetFunction().GetName()]++
				}
				if err != nil || !slices.Equal(lost, tt.lost) || len(got.GetTools()) != len(tt.tools) || names["f"] > 1 {
					t.Errorf("%v: %v, lost %v, %v", protocol, got, lost, err)
				}
			}
			for _, protocol := range []genwayv1.Protocol{chat, responses} {
				req := &genwayv1.GenerateTextRequest{Tools: tt.tools}
				if got, err := fit.Distinct(req, rulesOf(protocol), nil); got != req || err != nil {
					t.Errorf("%v: %v, %v", protocol, got, err)
				}
			}
		})
	}
}
