package chat

import (
	"fmt"

	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/codec/member"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

// result writes a tool result as a message. Its content is text only
// (ChatCompletionToolMessageParam): media goes into the user's message behind
// the results, and the result's text says so.
func (t *turns) result(p *genwayv1.Part, m *genwayv1.Message, path string) (message, error) {
	r := p.GetToolResult()
	out := message{Role: roleTool, ToolCallID: r.ToolCallId}
	if marked(m.NativeFields, functionRole) {
		out.Role, out.Name, out.ToolCallID = functionRole, r.Name, ""
	} else if r.ToolCallId == "" {
		return message{}, fault.Invalid(path+".tool_result.tool_call_id", "%s.tool_result.tool_call_id is empty; chat completions links results by it", path)
	}
	if marked(p.NativeFields, nameName) {
		out.Name = r.Name
	} else if r.Name != "" && out.Name == "" && t.called[r.ToolCallId] != r.Name {
		// The call says the same.
		t.losses.Add(path+".tool_result.name", "chat completions names the function in its call only")
	}
	if r.IsError {
		t.losses.Add(path+".tool_result.is_error", "chat completions has no flag for failed calls; the text is kept")
	}
	if p.CacheControl != nil {
		t.losses.Add(path+".cache_control", "messages of tools have no cache breakpoints in chat completions")
	}
	// Fields of this protocol are the message's, so that extra can only note others.
	if _, err := extra(p.NativeFields, path, t.losses, nameName); err != nil {
		return message{}, err
	}
	var parts []part
	if r.ResultJson != nil {
		parts = append(parts, part{Type: "text", Text: r.ResultJson})
	}
	moved := 0
	for i, inside := range r.Parts {
		if member.Lifted(inside) {
			continue
		}
		at := member.Within(path, ".tool_result.parts", i)
		written, err := t.part(inside, at)
		if err != nil {
			return message{}, err
		}
		if written.Type == "text" || written.verbatim.raw != nil {
			parts = append(parts, written)
			continue
		}
		moved++
		kind := written.mediaWord()
		here := fmt.Sprintf("[%s %d of tool result follows]", kind, moved)
		there := fmt.Sprintf("[%s %d of tool result %s]", kind, moved, r.ToolCallId)
		parts = append(parts, part{Type: "text", Text: &here})
		t.waiting = append(t.waiting, part{Type: "text", Text: &there}, written)
	}
	out.Content = t.contentOf(parts, "\n")
	if len(parts) == 0 {
		out.Content = content{is: isText}
	}
	return out, nil
}

func (p *part) mediaWord() string {
	switch p.Type {
	case "image_url":
		return "image"
	case "video_url":
		return "video"
	case "input_audio", "audio_url":
		return "audio"
	}
	return "file"
}
