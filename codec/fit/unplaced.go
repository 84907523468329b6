package fit

import (
	"slices"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/member"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

const (
	chat            = genwayv1.Protocol_PROTOCOL_CHAT_COMPLETIONS
	responses       = genwayv1.Protocol_PROTOCOL_RESPONSES
	messages        = genwayv1.Protocol_PROTOCOL_MESSAGES
	generateContent = genwayv1.Protocol_PROTOCOL_GENERATE_CONTENT
	images          = genwayv1.Protocol_PROTOCOL_IMAGES
)

// Unplaced names in losses what the parts of a request have that its protocol has no place
// for, where the part itself is carried. Encoders name what depends on how they write a part.
// docs/reference/carried.md lists both.
func Unplaced(req *genwayv1.GenerateTextRequest, protocol genwayv1.Protocol, losses *codec.Losses) {
	if losses == nil {
		return
	}
	for i, m := range req.GetMessages() {
		u := unplaced{protocol: protocol, assistant: m.GetRole() == genwayv1.Role_ROLE_ASSISTANT, losses: losses, message: i}
		u.parts(m.GetParts(), "")
	}
}

// unplaced is one pass over a message.
type unplaced struct {
	protocol  genwayv1.Protocol
	assistant bool
	losses    *codec.Losses
	message   int
	// outer is the place of the tool result that the parts are in; empty for none.
	outer string
}

func (u unplaced) parts(list []*genwayv1.Part, outer string) {
	u.outer = outer
	for i, p := range list {
		u.part(p, i)
	}
}

func (u unplaced) part(p *genwayv1.Part, i int) {
	switch k := p.GetKind().(type) {
	case *genwayv1.Part_Text:
		if len(k.Text.GetLogprobs()) > 0 && (u.protocol != responses || !u.assistant) {
			u.lose(i, ".text.logprobs")
		} else if at := slices.IndexFunc(k.Text.GetLogprobs(), hasTokenID); at >= 0 {
			u.lose(i, member.Index(".text.logprobs", at)+".token_id")
		}
		if len(k.Text.GetCitations()) > 0 && !u.assistant && u.is(chat, responses) {
			u.lose(i, ".text.citations")
		} else if u.protocol == responses {
			for _, cited := range k.Text.GetCitations() {
				for _, field := range unplacedOfCitation(cited) {
					u.lose(i, ".text.citations."+field)
				}
			}
		}
	case *genwayv1.Part_Refusal:
		if len(k.Refusal.GetLogprobs()) > 0 && u.protocol != responses {
			u.lose(i, ".refusal.logprobs")
		}
	case *genwayv1.Part_Image:
		u.media(k.Image, i, ".image", u.is(chat, responses), u.protocol == responses && u.assistant)
	case *genwayv1.Part_Audio:
		u.media(k.Audio, i, ".audio", u.protocol == chat, true)
	case *genwayv1.Part_File:
		u.media(k.File, i, ".file", false, u.protocol == chat)
	case *genwayv1.Part_Video:
		u.media(k.Video, i, ".video", false, false)
	case *genwayv1.Part_ToolResult:
		if u.outer == "" {
			u.parts(k.ToolResult.GetParts(), member.Within(member.Index("messages", u.message), ".parts", i)+".tool_result")
		}
	}
	if p.CacheControl != nil && u.losesBreakpoint(p) {
		u.lose(i, ".cache_control")
	}
	if p.ThoughtSignature != nil && u.protocol == responses && p.GetToolCall() == nil && (!u.assistant || p.GetText() == nil) {
		u.lose(i, ".thought_signature")
	}
}

// unplacedOfCitation returns the fields that a citation of responses loses. One of neither an address
// nor a file is lost as a whole, and one that an upstream of responses made is kept as it was.
func unplacedOfCitation(cited *genwayv1.Citation) (fields []string) {
	switch {
	case cited.GetNative().GetProtocol() == responses, cited.GetUrl()+cited.GetFileId() == "":
		return nil
	case cited.GetUrl() == "" && cited.GetTitle() != "":
		fields = append(fields, "title")
	}
	if cited.GetCitedText() != "" {
		fields = append(fields, "cited_text")
	}
	return fields
}

func hasTokenID(l *genwayv1.TokenLogprob) bool { return l.TokenId != nil }

// media names the members of media beside the bytes. filename and detail say that the
// protocol has no place for those.
func (u unplaced) media(m *genwayv1.Media, i int, kind string, filename, detail bool) {
	if filename && m.GetFilename() != "" {
		u.lose(i, kind+".filename")
	}
	if detail && m.GetDetail() != "" {
		u.lose(i, kind+".detail")
	}
	if m.GetTranscript() != "" && (!u.assistant || kind != ".audio") {
		u.lose(i, kind+".transcript")
	}
}

// losesBreakpoint reports whether a prompt-cache breakpoint behind the part has no place.
func (u unplaced) losesBreakpoint(p *genwayv1.Part) bool {
	switch p.GetKind().(type) {
	case *genwayv1.Part_Thinking:
		return u.protocol != generateContent
	case *genwayv1.Part_ToolCall:
		return u.is(chat, responses)
	case *genwayv1.Part_Image:
		return u.protocol == responses && u.assistant
	}
	return false
}

func (u unplaced) is(protocols ...genwayv1.Protocol) bool {
	return slices.Contains(protocols, u.protocol)
}

func (u unplaced) lose(i int, field string) {
	base := u.outer
	if base == "" {
		base = member.Index("messages", u.message)
	}
	u.losses.Add(member.Within(base, ".parts", i)+field, noPlace)
}
