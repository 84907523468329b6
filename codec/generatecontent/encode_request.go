package generatecontent

import (
	"slices"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/codec/fit"
	"github.com/genway/genway/codec/member"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

// EncodeRequest writes a request body. The model is not in it; it is in the path.
func (Codec) EncodeRequest(req *codec.Request, losses *codec.Losses) ([]byte, error) {
	w, err := wireRequest(req.GenerateTextRequest, losses)
	if err != nil {
		return nil, err
	}
	body, err := marshal(w, member.SizeOfRequest(req.GenerateTextRequest), fault.InvalidRequest)
	if err != nil {
		return nil, err
	}
	return member.Merge(body, req.ExtraJson, "extra_json", reserved)
}

// reserved are the members of a body that fields of the contract are written to, by each
// of their spellings.
var reserved = member.ReservedBy[request]("_responseJsonSchema", "responseJsonSchema")

// reserves refuses native fields that say what the contract has a field for. A type of
// answers that the contract does not know is written in the vendor's word.
func reserves(req *genwayv1.GenerateTextRequest) error {
	config := reserved.In("generationConfig")
	if err := reserved.Fields(protocol, req.NativeFields, "", mimeTypeField); err != nil {
		return err
	}
	if err := config.In("thinkingConfig").Fields(protocol, req.GetThinking().GetNativeFields(), "thinking"); err != nil {
		return err
	}
	return config.In("speechConfig").Fields(protocol, req.GetAudioOutput().GetNativeFields(), "audio_output", "voiceConfig")
}

// wireRequest is the request without extra_json.
func wireRequest(req *genwayv1.GenerateTextRequest, losses *codec.Losses) (*request, error) {
	if err := reserves(req); err != nil {
		return nil, err
	}
	req, err := fit.Request(req, protocol, losses)
	if err != nil {
		return nil, err
	}
	lists := split(req.NativeFields, "generationConfig.", "toolConfig.functionCallingConfig.", "toolConfig.")
	w := &request{}
	w.encode(req, losses)
	if err := omitSettings(req, losses); err != nil {
		return nil, err
	}
	if w.Extra, err = member.Extra(protocol, lists[3], "", losses); err != nil {
		return nil, err
	}
	e := &writer{losses: losses, calls: map[string]writtenCall{}}
	if err := e.messages(req.Messages, w); err != nil {
		return nil, err
	}
	if w.Tools, err = encodeTools(req.Tools, losses); err != nil {
		return nil, err
	}
	if w.ToolConfig, err = encodeToolConfig(req, lists[1], lists[2], losses); err != nil {
		return nil, err
	}
	if w.GenerationConfig, err = encodeGenerationConfig(req, lists[0], losses); err != nil {
		return nil, err
	}
	return w, nil
}

// messages writes the turns, and all system text into the system instruction.
func (e *writer) messages(messages []*genwayv1.Message, w *request) error {
	var results resultTurn
	system := &content{}
	for i, m := range messages {
		if member.AllLifted(m) {
			continue
		}
		path := member.Index("messages", i)
		if m.Role != genwayv1.Role_ROLE_TOOL {
			w.Contents = results.flush(w.Contents)
		}
		if m.Role == genwayv1.Role_ROLE_ASSISTANT && (i == 0 || messages[i-1].Role != genwayv1.Role_ROLE_ASSISTANT) {
			clear(e.calls)
		}
		c, err := e.turn(m, path)
		if err != nil {
			return err
		}
		switch m.Role {
		case genwayv1.Role_ROLE_SYSTEM, genwayv1.Role_ROLE_DEVELOPER:
			if len(w.Contents) > 0 && len(c.Parts) > 0 {
				e.losses.Add(path, "the target protocol says all system text ahead of the conversation")
			}
			system.Parts = append(system.Parts, c.Parts...)
			if system.Extra == nil {
				system.Extra = c.Extra
			}
			continue
		case genwayv1.Role_ROLE_TOOL:
			results.add(e, m, c.Parts)
			continue
		default:
		}
		if len(c.Parts) == 0 && len(c.Extra) == 0 {
			continue
		}
		w.Contents = append(w.Contents, *c)
	}
	w.Contents = results.flush(w.Contents)
	if len(system.Parts) > 0 || len(system.Extra) > 0 {
		w.SystemInstruction = system
	}
	if len(w.Contents) == 0 {
		return fault.Unsupported("messages", "messages: the target protocol needs a message that is not system text")
	}
	return nil
}

// turn writes one message.
func (e *writer) turn(m *genwayv1.Message, path string) (*content, error) {
	c := &content{}
	switch m.Role {
	case genwayv1.Role_ROLE_USER, genwayv1.Role_ROLE_TOOL:
		c.Role = "user"
	case genwayv1.Role_ROLE_ASSISTANT:
		c.Role = "model"
	case genwayv1.Role_ROLE_SYSTEM, genwayv1.Role_ROLE_DEVELOPER:
	default:
		return nil, fault.Unsupported(path+".role", "%s.role: the target protocol knows no such role", path)
	}
	if m.Name != "" {
		e.losses.Add(path+".name", "the target protocol does not name speakers")
	}
	var err error
	if c.Extra, err = member.Extra(protocol, m.NativeFields, path, e.losses); err != nil {
		return nil, err
	}
	if c.Parts, err = e.parts(m.Parts, path+".parts"); err != nil {
		return nil, err
	}
	if len(c.Parts) == 0 && len(m.Parts) > 0 && c.Role == "user" && m.Parts[0].GetText() != nil {
		c.Parts = list[part]{{Text: new(string)}} // the user did say nothing
	}
	return c, nil
}

// resultTurn gathers neighbouring turns of tool results into one, in the order of
// the calls: the vendor wants the results of one turn's calls together, right
// behind it (case T17).
type resultTurn struct {
	groups []resultGroup
}

type resultGroup struct {
	order int
	parts []part
}

func (t *resultTurn) add(e *writer, m *genwayv1.Message, parts []part) {
	order := len(e.calls)
	for _, p := range m.Parts {
		if call, ok := e.calls[p.GetToolResult().GetToolCallId()]; ok && p.GetToolResult() != nil {
			order = call.order
			break
		}
	}
	t.groups = append(t.groups, resultGroup{order, parts})
}

func (t *resultTurn) flush(contents []content) []content {
	if len(t.groups) == 0 {
		return contents
	}
	slices.SortStableFunc(t.groups, func(a, b resultGroup) int { return a.order - b.order })
	c := content{Role: "user"}
	for _, g := range t.groups {
		c.Parts = append(c.Parts, g.parts...)
	}
	t.groups = nil
	if len(c.Parts) == 0 {
		return contents
	}
	return append(contents, c)
}
