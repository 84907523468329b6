package messages_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/codec/messages"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

// Members of messages that become no turn of their own have no place: system text, results of
// tools, and what joins them.
func TestMembersOfJoinedMessagesAreLost(t *testing.T) {
	call := &genwayv1.Part{Kind: &genwayv1.Part_ToolCall{ToolCall: &genwayv1.ToolCall{Id: "t", Name: "f", Arguments: &genwayv1.ToolCall_ArgumentsJson{ArgumentsJson: "{}"}}}}
	result := &genwayv1.Part{Kind: &genwayv1.Part_ToolResult{ToolResult: &genwayv1.ToolResult{ToolCallId: "t", Parts: []*genwayv1.Part{codec.TextPart("r")}}}}
	for _, protocol := range []genwayv1.Protocol{genwayv1.Protocol_PROTOCOL_CHAT_COMPLETIONS, genwayv1.Protocol_PROTOCOL_MESSAGES} {
		request := func(at int, binding bool) *codec.Request {
			r := &genwayv1.GenerateTextRequest{Model: "m", Messages: []*genwayv1.Message{
				{Role: genwayv1.Role_ROLE_SYSTEM, Parts: []*genwayv1.Part{codec.TextPart("s")}},
				{Role: genwayv1.Role_ROLE_DEVELOPER, Parts: []*genwayv1.Part{codec.TextPart("d")}},
				{Role: genwayv1.Role_ROLE_ASSISTANT, Parts: []*genwayv1.Part{call}},
				{Role: genwayv1.Role_ROLE_USER, Parts: []*genwayv1.Part{codec.TextPart("before")}},
				{Role: genwayv1.Role_ROLE_TOOL, Parts: []*genwayv1.Part{result}},
				{Role: genwayv1.Role_ROLE_USER, Parts: []*genwayv1.Part{codec.TextPart("behind")}},
			}}
			r.Messages[at].NativeFields = []*genwayv1.NativeField{{Protocol: protocol, Name: "novel", Json: []byte(`1`), Binding: binding}}
			return &codec.Request{GenerateTextRequest: r}
		}
		for at := range request(0, false).Messages {
			var losses codec.Losses
			body, err := messages.Codec{}.EncodeRequest(request(at, false), &losses)
			var named []string
			for _, l := range losses.List() {
				named = append(named, l.Member)
			}
			if err != nil || strings.Contains(string(body), "novel") == strings.Contains(strings.Join(named, " "), ".novel") {
				t.Errorf("%s, message %d: %v, lost %q in %s", protocol, at, err, named, body)
			}
			if _, err := (messages.Codec{}).EncodeRequest(request(at, true), nil); protocol != genwayv1.Protocol_PROTOCOL_MESSAGES {
				if f, ok := errors.AsType[*fault.Error](err); !ok || !strings.HasSuffix(f.Param, ".novel") {
					t.Errorf("%s, message %d: a binding member is left out: %v", protocol, at, err)
				}
			}
		}
	}
}
