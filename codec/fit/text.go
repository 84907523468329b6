package fit

import (
	"slices"
	"strings"
	"unicode"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/codec/member"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/go-json-experiment/json"
)

// compacted are the types of items that stand for turns which are not in the request any
// more: without them the conversation is another one.
var compacted = map[string]bool{"compaction": true, "compaction_summary": true, "context_compaction": true}

// texts says where parts keep text that any model can read, by their type: paths of
// members, each list with all its elements. The types are the vendors' SDKs'.
var texts = map[string][]string{
	// messages: ContentBlockParamUnion
	"search_result":                          {"title", "source", "content.text"},
	"document":                               {"title", "context", "source.content", "source.content.text"},
	"tool_reference":                         {"tool_name"},
	"advisor_tool_result":                    {"content.text"},
	"code_execution_tool_result":             {"content.stdout", "content.stderr"},
	"bash_code_execution_tool_result":        {"content.stdout", "content.stderr"},
	"text_editor_code_execution_tool_result": {"content.content"},
	// responses: ResponseInputItemUnionParam
	"code_interpreter_call": {"code", "outputs.logs"},
	"file_search_call":      {"results.text"},
	"shell_call_output":     {"output.stdout", "output.stderr"},
	// generateContent: Part
	"executableCode":      {"executableCode.code"},
	"codeExecutionResult": {"codeExecutionResult.output"},
}

// anyTexts are where a part of another type has its text, if it has.
var anyTexts = []string{"text", "content", "content.text", "output", "output.text"}

// text returns the text of an opaque part; "" when it has none.
func text(o *genwayv1.OpaquePart) string {
	paths, known := texts[o.GetType()]
	if !known {
		paths = anyTexts
	}
	var whole any
	if json.Unmarshal(o.GetJson(), &whole, member.Options()) != nil {
		return ""
	}
	if o.GetType() == "document" && len(gather(nil, whole, []string{"source", "content", "source", "type"})) > 0 {
		return "" // it shows images (ContentBlockSourceContentItem), without which its text is another document
	}
	var found []string
	for _, path := range paths {
		found = gather(found, whole, strings.Split(path, "."))
	}
	return strings.Join(found, "\n")
}

// resultText is the text of a tool's result.
func resultText(r *genwayv1.ToolResult) string {
	var found []string
	if r.ResultJson != nil {
		found = append(found, r.GetResultJson())
	}
	for _, p := range r.GetParts() {
		if text := p.GetText().GetText(); text != "" {
			found = append(found, text)
		}
	}
	return strings.Join(found, "\n")
}

// gather adds the texts at a path. Only white space is no text.
func gather(found []string, v any, path []string) []string {
	switch v := v.(type) {
	case []any:
		for _, element := range v {
			found = gather(found, element, path)
		}
	case map[string]any:
		if len(path) > 0 {
			found = gather(found, v[path[0]], path[1:])
		}
	case string:
		if len(path) == 0 && strings.TrimSpace(v) != "" {
			found = append(found, v)
		}
	}
	return found
}

// Texts returns the request with the texts that the vendor takes. That of messages takes none
// of only white space ("text content blocks must contain non-whitespace text"): they are
// marked as lifted, which encoders pass over. It takes no white space either at the end of a
// last turn of the assistant, which is cut off. Both are named in losses. An empty text has
// no content, and the encoder leaves it out (case F12).
func Texts(req *genwayv1.GenerateTextRequest, rules Rules, losses *codec.Losses) *genwayv1.GenerateTextRequest {
	if !rules.NoBlanks {
		return req
	}
	messages, changed := codec.RewrittenParts(req.GetMessages(), func(i, j int, p *genwayv1.Part) *genwayv1.Part {
		m := req.GetMessages()[i]
		last := i == len(req.GetMessages())-1 && m.GetRole() == genwayv1.Role_ROLE_ASSISTANT && j == len(m.GetParts())-1
		switch {
		case isBlank(p):
			return visible(p, losses, member.Within(member.Index("messages", i), ".parts", j))
		case last:
			return unended(p, losses, member.Within(member.Index("messages", i), ".parts", j))
		}
		return nil
	})
	if !changed {
		return req
	}
	out := codec.Shared(req)
	out.Messages = messages
	return out
}

// isBlank reports whether a part is a text of only white space, or has one in it.
func isBlank(p *genwayv1.Part) bool {
	if r := p.GetToolResult(); r != nil {
		return slices.ContainsFunc(r.GetParts(), isBlank)
	}
	text := p.GetText().GetText() + p.GetRefusal().GetText()
	return text != "" && blank(text)
}

// visible returns a blank part without its blank text, or a result without its blank parts.
func visible(p *genwayv1.Part, losses *codec.Losses, path string) *genwayv1.Part {
	if p.GetToolResult() == nil {
		losses.Add(path, "the messages protocol takes no text of white space alone")
		return nothing()
	}
	return codec.WithResult(p, func(r *genwayv1.ToolResult) {
		r.Parts, _ = codec.Rewritten(r.GetParts(), func(i int, inner *genwayv1.Part) *genwayv1.Part {
			if !isBlank(inner) {
				return nil
			}
			return visible(inner, losses, member.Within(path+".tool_result", ".parts", i))
		})
	})
}

// nothing is a part that encoders pass over.
func nothing() *genwayv1.Part {
	return &genwayv1.Part{
		Kind:         &genwayv1.Part_Opaque{Opaque: &genwayv1.OpaquePart{}},
		NativeFields: []*genwayv1.NativeField{member.Mark(genwayv1.Protocol_PROTOCOL_UNSPECIFIED, member.LiftedMark)},
	}
}

// unended returns the last part of a last turn without the white space at its end; nil where it
// has none.
func unended(p *genwayv1.Part, losses *codec.Losses, path string) *genwayv1.Part {
	text := p.GetText().GetText()
	kept := strings.TrimRightFunc(text, unicode.IsSpace)
	if kept == text {
		return nil
	}
	losses.Add(path, "the messages protocol takes no white space at the end of the last turn of the assistant")
	out, own := codec.Shared(p), codec.Shared(p.GetText())
	own.Text = kept
	out.Kind = &genwayv1.Part_Text{Text: own}
	return out
}

// Stops returns the request with the stop sequences that the vendor takes. Those of only white
// space that it refuses are left out and named, as the vendor of messages leaves them out at
// its own endpoint for callers of chat completions. More of them than a vendor takes are
// refused: the gateway does not choose which ones to leave out.
func Stops(req *genwayv1.GenerateTextRequest, rules Rules, losses *codec.Losses) (*genwayv1.GenerateTextRequest, error) {
	stops := req.GetStopSequences()
	if rules.NoBlanks && slices.ContainsFunc(stops, blank) {
		out := codec.Shared(req)
		out.StopSequences = nil
		for i, s := range stops {
			if blank(s) {
				losses.Add(member.Index("stop_sequences", i), "the messages protocol takes no stop sequence of white space alone")
				continue
			}
			out.StopSequences = append(out.StopSequences, s)
		}
		return out, nil
	}
	if most := rules.MaxStops; most > 0 && len(stops) > most {
		return nil, fault.Unsupported("stop_sequences", "stop_sequences: the upstream this model is routed to takes at most %d, got %d", most, len(stops))
	}
	return req, nil
}

// billing begins the line of system text in which Claude Code tells the vendor of messages whose use it is. It changes
// with each request, so that no prompt cache of another vendor would find the text after it again.
const billing = "x-anthropic-billing-header:"

// Unframed returns the request without such lines, which say nothing to a model and are no loss. Upstreams of messages get
// them.
func Unframed(req *genwayv1.GenerateTextRequest, protocol genwayv1.Protocol) *genwayv1.GenerateTextRequest {
	if protocol == messages || !slices.ContainsFunc(req.GetMessages(), bills) {
		return req
	}
	out := codec.Shared(req)
	out.Messages, _ = codec.RewrittenParts(req.GetMessages(), func(i, _ int, p *genwayv1.Part) *genwayv1.Part {
		if !bills(req.GetMessages()[i]) || !strings.HasPrefix(p.GetText().GetText(), billing) {
			return nil
		}
		_, rest, _ := strings.Cut(p.GetText().GetText(), "\n")
		if rest = strings.TrimLeft(rest, "\n"); rest == "" {
			return nothing()
		}
		own, text := codec.Shared(p), codec.Shared(p.GetText())
		text.Text = rest
		own.Kind = &genwayv1.Part_Text{Text: text}
		return own
	})
	return out
}

// bills reports whether a message is system text with such a line.
func bills(m *genwayv1.Message) bool {
	return (m.GetRole() == genwayv1.Role_ROLE_SYSTEM || m.GetRole() == genwayv1.Role_ROLE_DEVELOPER) &&
		slices.ContainsFunc(m.GetParts(), func(p *genwayv1.Part) bool { return strings.HasPrefix(p.GetText().GetText(), billing) })
}

func blank(s string) bool { return strings.TrimSpace(s) == "" }
