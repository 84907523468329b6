package fit

import (
	"slices"
	"strings"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/codec/member"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

// Media refuses media that only Google's vendors can read: by an address in their storage (gs://), or by the name or the address of a
// file that was uploaded to them. protocol is the upstream's, which is not the caller's.
func Media(req *genwayv1.GenerateTextRequest, protocol genwayv1.Protocol) error {
	if googles(protocol) {
		return nil
	}
	for i, m := range req.GetMessages() {
		if err := readable(m.GetParts(), member.Index("messages", i)); err != nil {
			return err
		}
	}
	return nil
}

// googles reports whether upstreams of a protocol are Google's.
func googles(protocol genwayv1.Protocol) bool {
	return protocol == generateContent || protocol == interactions
}

func readable(parts []*genwayv1.Part, path string) error {
	for i, p := range parts {
		at := member.Within(path, ".parts", i)
		if r := p.GetToolResult(); r != nil {
			if err := readable(r.GetParts(), at+".tool_result"); err != nil {
				return err
			}
		}
		for kind, m := range map[string]*genwayv1.Media{"image": p.GetImage(), "audio": p.GetAudio(), "video": p.GetVideo(), "file": p.GetFile()} {
			field := "url"
			switch u := m.GetUrl(); {
			case strings.HasPrefix(m.GetFileId(), "files/"):
				field = "file_id"
			case strings.HasPrefix(u, "gs://"), strings.HasPrefix(u, "https://generativelanguage.googleapis.com/") && strings.Contains(u, "/files/"):
			default:
				continue
			}
			at += "." + kind + "." + field
			return fault.Unsupported(at, "%s: a file that Google keeps cannot be read by the upstream this model is routed to", at)
		}
	}
	return nil
}

// History returns the request for an encoder of the protocol, without the opaque parts of
// other protocols that are history: finished calls of hosted tools, their results, and
// references. A part that has text becomes that text; another one is marked as lifted,
// which encoders pass over. Each is named in losses. Places of parts stay the same.
//
// A part that the user says, and a compacted conversation, bear on the answer. Without
// text they stay what they are, and the encoder refuses them.
//
// The result is the request itself where there is nothing to change.
func History(req *genwayv1.GenerateTextRequest, protocol genwayv1.Protocol, losses *codec.Losses) (*genwayv1.GenerateTextRequest, error) {
	h := history{protocol: protocol, losses: losses, messages: req.GetMessages()}
	messages, changed := codec.RewrittenParts(req.GetMessages(), func(i, j int, p *genwayv1.Part) *genwayv1.Part {
		if call := p.GetToolCall(); call != nil {
			delete(h.lost, call.GetId()) // used again
		}
		if !h.concerns(p) {
			return nil
		}
		user := req.GetMessages()[i].GetRole() == genwayv1.Role_ROLE_USER
		return h.part(p, user, member.Within(member.Index("messages", i), ".parts", j))
	})
	if !changed {
		return req, nil
	}
	if !slices.ContainsFunc(messages, func(m *genwayv1.Message) bool { return !member.AllLifted(m) }) {
		return nil, fault.Unsupported(h.first, "%s is content that only its vendor can act on, and the conversation has nothing else", h.first)
	}
	out := codec.Shared(req)
	out.Messages = messages
	return out, nil
}

// history is one pass over a conversation.
type history struct {
	protocol genwayv1.Protocol
	losses   *codec.Losses
	messages []*genwayv1.Message
	// first is the path of the first part that was changed.
	first string
	// lost are the identifiers of calls that are not sent, so that their results cannot be
	// sent as such: vendors refuse a result without its call.
	lost map[string]bool
}

// concerns reports whether a part is content of another protocol, or has some in it.
func (h *history) concerns(p *genwayv1.Part) bool {
	switch k := p.GetKind().(type) {
	case *genwayv1.Part_Opaque:
		return k.Opaque.GetProtocol() != h.protocol && !member.Lifted(p)
	case *genwayv1.Part_ToolResult:
		return h.lost[k.ToolResult.GetToolCallId()] || slices.ContainsFunc(k.ToolResult.GetParts(), h.concerns)
	}
	return false
}

// part returns what a part that concerns becomes; nil where it stays.
func (h *history) part(p *genwayv1.Part, user bool, path string) *genwayv1.Part {
	if o := p.GetOpaque(); o != nil {
		return h.opaque(p, o, user, path)
	}
	path += ".tool_result"
	if r := p.GetToolResult(); !h.lost[r.GetToolCallId()] {
		return h.result(p, r, path)
	}
	h.losses.Add(path, "its call can only be read by its vendor, so that the text of the result alone is sent")
	if text := resultText(p.GetToolResult()); text != "" {
		return codec.TextPart(text)
	}
	return nothing()
}

func (h *history) opaque(p *genwayv1.Part, o *genwayv1.OpaquePart, user bool, path string) *genwayv1.Part {
	text := text(o)
	if text == "" && (user || compacted[o.GetType()]) {
		return nil
	}
	path += ".opaque"
	h.lose(o)
	if h.first == "" {
		h.first = path
	}
	if text != "" {
		h.losses.Add(path, "only its vendor can act on it, so that its text alone is sent")
		return codec.TextPart(text)
	}
	h.losses.Add(path, "only its vendor can act on it, so that it is left out")
	fields := append(slices.Clip(p.GetNativeFields()), member.Mark(o.GetProtocol(), member.LiftedMark))
	return &genwayv1.Part{Id: p.GetId(), Kind: p.GetKind(), NativeFields: fields}
}

// lose notes the identifiers of a call that is not sent.
func (h *history) lose(o *genwayv1.OpaquePart) {
	if h.lost == nil {
		h.lost = map[string]bool{}
	}
	for _, name := range []string{"id", "call_id"} {
		if id := member.Raw(member.Value(o.GetJson(), name)).String(); id != "" {
			h.lost[id] = true
		}
	}
	if o.GetType() == itemReference {
		h.loseUncalled()
	}
}

// itemReference is the type of an item of responses that stands for one of an earlier answer, by its identifier alone.
const itemReference = "item_reference"

// loseUncalled notes the results without a call in the conversation: their calls are what a reference stands for.
func (h *history) loseUncalled() {
	called := map[string]bool{}
	for _, m := range h.messages {
		for _, p := range m.GetParts() {
			if call := p.GetToolCall(); call != nil {
				called[call.GetId()] = true
			}
		}
	}
	for _, m := range h.messages {
		for _, p := range m.GetParts() {
			if r := p.GetToolResult(); r != nil && !called[r.GetToolCallId()] {
				h.lost[r.GetToolCallId()] = true
			}
		}
	}
}

// result changes the parts of a tool's result.
func (h *history) result(p *genwayv1.Part, r *genwayv1.ToolResult, path string) *genwayv1.Part {
	parts, changed := codec.Rewritten(r.GetParts(), func(i int, inner *genwayv1.Part) *genwayv1.Part {
		if !h.concerns(inner) {
			return nil
		}
		return h.part(inner, false, member.Within(path, ".parts", i))
	})
	if !changed {
		return nil
	}
	return codec.WithResult(p, func(r *genwayv1.ToolResult) { r.Parts = parts })
}
