package fit_test

import (
	"regexp"
	"testing"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/fit"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"
)

var rules = map[genwayv1.Protocol]*regexp.Regexp{
	chat:      regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`),
	responses: regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`),
	messages:  regexp.MustCompile(`^[a-zA-Z0-9_-]{1,128}$`),
	genwayv1.Protocol_PROTOCOL_GENERATE_CONTENT: regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_.:-]{0,63}$`),
}

// Whatever the names are, those that are sent keep to the rule, no two are the same, and
// calls come back under the caller's, unary and streamed.
func TestNamesAreBijective(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		given := rapid.SliceOfNDistinct(rapid.OneOf(rapid.StringMatching(`[a-z_.:/ 1-]{1,80}`), rapid.StringN(1, 140, 300)), 1, 8, rapid.ID).Draw(t, "names")
		req := &genwayv1.GenerateTextRequest{ToolChoice: &genwayv1.ToolChoice{Names: given[:1]}}
		for _, name := range given {
			req.Tools = append(req.Tools, &genwayv1.Tool{Kind: &genwayv1.Tool_Function{Function: &genwayv1.FunctionTool{Name: name}}})
			req.Messages = append(req.Messages, turn(genwayv1.Role_ROLE_ASSISTANT, codec.CallPart(name, "{}")))
		}
		before := proto.CloneOf(req)
		for protocol, rule := range rules {
			names := fit.NewNames(req, rulesOf(protocol).Names)
			sent := names.Request(req)
			seen := map[string]bool{}
			for i, tool := range sent.Tools {
				name := tool.GetFunction().GetName()
				if !rule.MatchString(name) || seen[name] {
					t.Fatalf("%v: %q is sent as %q", protocol, given[i], name)
				}
				if rule.MatchString(given[i]) && name != given[i] {
					t.Fatalf("%v: %q is sent as %q without need", protocol, given[i], name)
				}
				if call := sent.Messages[i].Parts[0].GetToolCall().GetName(); call != name || i == 0 && sent.ToolChoice.Names[0] != name {
					t.Fatalf("%v: the tool is %q, its call %q", protocol, name, call)
				}
				seen[name] = true
				resp := &genwayv1.GenerateTextResponse{Candidates: []*genwayv1.Candidate{{Parts: []*genwayv1.Part{codec.CallPart(name, "{}")}}}}
				events := []*genwayv1.StreamGenerateTextResponse{codec.Event(&genwayv1.PartStarted{Part: codec.CallPart(name, "")})}
				names.Response(resp)
				events = names.Events(events)
				unary, streamed := resp.Candidates[0].Parts[0].GetToolCall().Name, events[0].GetPartStarted().Part.GetToolCall().Name
				if unary != given[i] || streamed != given[i] {
					t.Fatalf("%v: %q comes back as %q, streamed %q", protocol, given[i], unary, streamed)
				}
			}
		}
		if !proto.Equal(req, before) {
			t.Fatal("the request is changed")
		}
	})
}

// A request without names, or with names that fit, has nothing to restore.
func TestNamesThatFit(t *testing.T) {
	for _, req := range []*genwayv1.GenerateTextRequest{
		nil, {}, {Messages: []*genwayv1.Message{turn(genwayv1.Role_ROLE_USER, codec.TextPart("hi"), result("c"))}},
		{Tools: []*genwayv1.Tool{{}, {Kind: &genwayv1.Tool_Custom{Custom: &genwayv1.CustomTool{Name: "a-b_C9"}}}}},
	} {
		for protocol := range rules {
			if names := fit.NewNames(req, rulesOf(protocol).Names); names != nil || names.Request(req) != req {
				t.Errorf("%v over %v: %v", req, protocol, names)
			}
		}
	}
	if fit.NewNames(&genwayv1.GenerateTextRequest{Tools: []*genwayv1.Tool{{Kind: &genwayv1.Tool_Custom{Custom: &genwayv1.CustomTool{Name: "a b"}}}}}, rulesOf(0).Names) != nil {
		t.Error("a target that takes the contract has no rule")
	}
}
