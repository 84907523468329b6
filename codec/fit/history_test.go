package fit_test

import (
	"errors"
	"testing"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/codec/fit"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"google.golang.org/protobuf/proto"
)

const (
	chat      = genwayv1.Protocol_PROTOCOL_CHAT_COMPLETIONS
	responses = genwayv1.Protocol_PROTOCOL_RESPONSES
	messages  = genwayv1.Protocol_PROTOCOL_MESSAGES
)

func opaque(kind, json string) *genwayv1.Part {
	return &genwayv1.Part{Kind: &genwayv1.Part_Opaque{Opaque: &genwayv1.OpaquePart{Protocol: responses, Type: kind, Json: []byte(json)}}}
}

func turn(role genwayv1.Role, parts ...*genwayv1.Part) *genwayv1.Message {
	return &genwayv1.Message{Role: role, Parts: parts}
}

func result(id string, parts ...*genwayv1.Part) *genwayv1.Part {
	return &genwayv1.Part{Kind: &genwayv1.Part_ToolResult{ToolResult: &genwayv1.ToolResult{ToolCallId: id, Parts: parts}}}
}

// What is history becomes text or is passed over; what the user says, and a compacted
// conversation, stay for the encoder to refuse.
func TestHistory(t *testing.T) {
	const user, model, tool = genwayv1.Role_ROLE_USER, genwayv1.Role_ROLE_ASSISTANT, genwayv1.Role_ROLE_TOOL
	for name, tt := range map[string]struct {
		message *genwayv1.Message
		// text is what the first part becomes; "-" is left out, "=" is the same.
		text string
	}{
		"a call without text":      {turn(model, opaque("web_search_call", `{"action":{"query":"q"}}`)), "-"},
		"a call with text":         {turn(model, opaque("code_interpreter_call", `{"code":"1+1","outputs":[{"logs":"2"},{"url":"u"}]}`)), "1+1\n2"},
		"of tomorrow, with text":   {turn(model, opaque("x", `{"output":[{"type":"t","text":"a"},{"text":" "}]}`)), "a"},
		"white space":              {turn(model, opaque("x", `{"text":" \n"}`)), "-"},
		"no JSON":                  {turn(model, opaque("x", `{`)), "-"},
		"of a tool":                {turn(tool, opaque("shell_call_output", `{"output":[{"stdout":"o","stderr":"e"}]}`)), "o\ne"},
		"of the user":              {turn(user, opaque("x", `{"file_id":"f"}`)), "="},
		"of the user, with text":   {turn(user, opaque("x", `{"text":"t"}`)), "t"},
		"a compacted conversation": {turn(model, opaque("compaction", `{"encrypted_content":"e"}`)), "="},
		"a summary":                {turn(model, opaque("compaction", `{"content":"we talked"}`)), "we talked"},
		"a text":                   {turn(model, codec.TextPart("t")), "="},
	} {
		t.Run(name, func(t *testing.T) {
			req := &genwayv1.GenerateTextRequest{Messages: []*genwayv1.Message{turn(user, codec.TextPart("hi")), tt.message}}
			before := proto.CloneOf(req)
			var losses codec.Losses
			got, err := fit.History(req, chat, &losses)
			if err != nil || !proto.Equal(req, before) {
				t.Fatalf("%v; the request is changed: %t", err, !proto.Equal(req, before))
			}
			if got == req != (tt.text == "=") || got == req != (len(losses.List()) == 0) {
				t.Fatalf("%v, lost %v", got, losses.List())
			}
			switch p := got.Messages[1].Parts[0]; tt.text {
			case "=":
			case "-":
				if p.GetOpaque() == nil || p.GetText() != nil {
					t.Errorf("%v", p)
				}
			default:
				if p.GetText().GetText() != tt.text {
					t.Errorf("%v, want %q", p, tt.text)
				}
			}
			if l := losses.List(); got != req && l[0].Member != "messages[1].parts[0].opaque" {
				t.Errorf("lost %v", l)
			}
			if own, err := fit.History(req, responses, nil); err != nil || own != req {
				t.Errorf("its own vendor gets %v, %v", own, err)
			}
		})
	}
}

// A result whose call is not sent is sent as its text: vendors refuse one without a call.
func TestResultsOfCallsThatAreLeftOut(t *testing.T) {
	req := &genwayv1.GenerateTextRequest{Messages: []*genwayv1.Message{
		turn(genwayv1.Role_ROLE_USER, codec.TextPart("hi")),
		turn(genwayv1.Role_ROLE_ASSISTANT, opaque("tool_search_call", `{"call_id":"c1","id":"i1"}`), codec.CallPart("f", "{}")),
		turn(genwayv1.Role_ROLE_TOOL, result("c1", codec.TextPart("found")), result("c1"), result("c2", codec.TextPart("kept"))),
	}}
	req.Messages[1].Parts[1].GetToolCall().Id = "c2"
	var losses codec.Losses
	got, err := fit.History(req, messages, &losses)
	if err != nil {
		t.Fatal(err)
	}
	parts := got.Messages[2].Parts
	if parts[0].GetText().GetText() != "found" || parts[1].GetToolResult() != nil || parts[2] != req.Messages[2].Parts[2] {
		t.Errorf("%v", parts)
	}
	if n := len(losses.List()); n != 3 {
		t.Errorf("lost %v", losses.List())
	}
}

// A conversation of nothing else is refused by the name of the first such part.
func TestNothingElse(t *testing.T) {
	_, err := fit.History(&genwayv1.GenerateTextRequest{Messages: []*genwayv1.Message{turn(genwayv1.Role_ROLE_ASSISTANT, opaque("item_reference", `{"id":"rs_1"}`))}}, chat, nil)
	var f *fault.Error
	if !errors.As(err, &f) || f.Kind != fault.InvalidRequest || f.Param != "messages[0].parts[0].opaque" {
		t.Errorf("%v", err)
	}
}
