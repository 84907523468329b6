package chat

import (
	"slices"

	"github.com/genway/genway/codec"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"google.golang.org/protobuf/proto"
)

// waitingCall is a call that was given its identifier here.
type waitingCall struct{ id, name string }

// identified gives identifiers to the tool calls of a conversation that has none
// for them (generateContent may leave them out), and to a result without one that
// of the first call of the same name that waits. The messages themselves are not
// changed. Calls of the deprecated function_call have no identifiers.
func identified(list []*genwayv1.Message) []*genwayv1.Message {
	var waiting []waitingCall
	out := slices.Clone(list)
	for i, m := range list {
		if marked(m.GetNativeFields(), functionRole) {
			continue
		}
		for j, p := range m.GetParts() {
			var id string
			switch call, result := p.GetToolCall(), p.GetToolResult(); {
			case call != nil && call.Id == "" && !marked(p.NativeFields, functionCallName):
				id = codec.SyntheticToolID("", int32(i), int32(j))
				waiting = append(waiting, waitingCall{id, call.Name})
			case result != nil && result.ToolCallId == "":
				at := slices.IndexFunc(waiting, func(c waitingCall) bool { return c.name == result.Name })
				if at < 0 {
					continue
				}
				id = waiting[at].id
				waiting = slices.Delete(waiting, at, at+1)
			default:
				continue
			}
			if out[i] == m {
				out[i] = &genwayv1.Message{Role: m.Role, Name: m.Name, NativeRole: m.NativeRole, Parts: slices.Clone(m.Parts), NativeFields: m.NativeFields}
			}
			p = proto.CloneOf(p)
			if call := p.GetToolCall(); call != nil {
				call.Id = id
			} else {
				p.GetToolResult().ToolCallId = id
			}
			out[i].Parts[j] = p
		}
	}
	return out
}
