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
	interactions    = genwayv1.Protocol_PROTOCOL_INTERACTIONS
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
	if detail && codec.Detail(m) != "" {
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

const noPlace = "the target protocol has no place for it"

// UnplacedInAnswer names in losses the fields of an answer that the caller's protocol has no
// place for, where what they belong to is carried. Encoders name what depends on how they write
// a part. docs/reference/carried.md lists both.
func UnplacedInAnswer(resp *genwayv1.GenerateTextResponse, protocol genwayv1.Protocol, losses *codec.Losses) {
	if losses == nil {
		return
	}
	u := unplacedInAnswer{protocol, losses}
	u.fingerprint(resp.GetSystemFingerprint())
	for i, c := range resp.GetCandidates() {
		for j, p := range c.GetParts() {
			u.part(int32(i), int32(j), p)
		}
		u.end(int32(i), c.GetStopReason(), c.GetNativeStopReason())
	}
	u.usage(resp.GetUsage())
	u.feedback(resp.GetPromptFeedback())
}

// UnplacedInEvent does the same as UnplacedInAnswer for an event of a stream.
func UnplacedInEvent(ev *genwayv1.StreamGenerateTextResponse, protocol genwayv1.Protocol, losses *codec.Losses) {
	if losses == nil {
		return
	}
	u := unplacedInAnswer{protocol, losses}
	switch p := ev.GetPayload().(type) {
	case *genwayv1.StreamGenerateTextResponse_PartDelta:
		u.delta(p.PartDelta)
	case *genwayv1.StreamGenerateTextResponse_PartStarted:
		u.part(p.PartStarted.GetCandidate(), p.PartStarted.GetIndex(), p.PartStarted.GetPart())
	case *genwayv1.StreamGenerateTextResponse_ImagePreview:
		losses.Add("image_preview", noPlace)
	case *genwayv1.StreamGenerateTextResponse_Started:
		u.fingerprint(p.Started.GetSystemFingerprint())
	case *genwayv1.StreamGenerateTextResponse_Completed:
		for _, end := range p.Completed.GetCandidates() {
			u.end(end.GetIndex(), end.GetStopReason(), end.GetNativeStopReason())
		}
		u.usage(p.Completed.GetUsage())
		u.feedback(p.Completed.GetPromptFeedback())
	}
}

// unplacedInAnswer is one pass over an answer or an event.
type unplacedInAnswer struct {
	protocol genwayv1.Protocol
	losses   *codec.Losses
}

func (u unplacedInAnswer) is(protocols ...genwayv1.Protocol) bool {
	return slices.Contains(protocols, u.protocol)
}

func (u unplacedInAnswer) lose(candidate, part int32, field string) {
	u.losses.Add(member.Within(member.Index("candidates", int(candidate)), ".parts", int(part))+field, noPlace)
}

func (u unplacedInAnswer) fingerprint(value string) {
	if value != "" && u.protocol != chat {
		u.losses.Add("system_fingerprint", noPlace)
	}
}

func (u unplacedInAnswer) part(c, i int32, p *genwayv1.Part) {
	switch k := p.GetKind().(type) {
	case *genwayv1.Part_Text:
		u.logprobs(c, i, ".text.logprobs", k.Text.GetLogprobs())
		for _, cited := range k.Text.GetCitations() {
			u.citation(c, i, cited)
		}
	case *genwayv1.Part_Refusal:
		u.logprobs(c, i, ".refusal.logprobs", k.Refusal.GetLogprobs())
	case *genwayv1.Part_Image:
		u.media(c, i, ".image", k.Image, u.is(chat, responses))
		if u.protocol == responses && k.Image.GetDetail() != "" {
			u.lose(c, i, ".image.detail")
		}
	case *genwayv1.Part_Audio:
		u.media(c, i, ".audio", k.Audio, u.is(chat, responses))
		if u.protocol == chat && k.Audio.GetMimeType() != "" {
			u.lose(c, i, ".audio.mime_type")
		}
		if u.protocol == chat && k.Audio.GetDetail() != "" {
			u.lose(c, i, ".audio.detail")
		}
	case *genwayv1.Part_File:
		u.media(c, i, ".file", k.File, false)
	case *genwayv1.Part_Video:
		u.media(c, i, ".video", k.Video, false)
	}
	if p.GetCacheControl() != nil {
		u.lose(c, i, ".cache_control") // breakpoints are of requests
	}
	for _, f := range p.GetNativeFields() {
		u.native(c, i, f)
	}
}

func (u unplacedInAnswer) delta(d *genwayv1.PartDelta) {
	if len(d.GetLogprobs()) > 0 {
		field := ".text.logprobs"
		if _, ok := d.GetDelta().(*genwayv1.PartDelta_Refusal); ok {
			field = ".refusal.logprobs"
		}
		u.logprobs(d.GetCandidate(), d.GetIndex(), field, d.GetLogprobs())
	}
	switch v := d.GetDelta().(type) {
	case *genwayv1.PartDelta_Citation:
		u.citation(d.GetCandidate(), d.GetIndex(), v.Citation)
	case *genwayv1.PartDelta_Native:
		u.native(d.GetCandidate(), d.GetIndex(), v.Native)
	}
}

// native names a member of another protocol. Marks say how a part was written, not what.
func (u unplacedInAnswer) native(c, i int32, f *genwayv1.NativeField) {
	if f.GetProtocol() != u.protocol && !member.IsMark(f) {
		u.lose(c, i, "."+f.GetName())
	}
}

// logprobs names log probabilities that are lost as a whole, or members of them. The bytes of
// a token that is a text of its own say nothing more.
func (u unplacedInAnswer) logprobs(c, i int32, field string, list []*genwayv1.TokenLogprob) {
	switch {
	case len(list) == 0:
	case u.is(messages, interactions):
		u.lose(c, i, field)
	case u.protocol == generateContent:
		if slices.ContainsFunc(list, func(l *genwayv1.TokenLogprob) bool { return l.Utf8 != nil && string(l.Utf8) != l.Token }) {
			u.lose(c, i, field+".utf8")
		}
	case slices.ContainsFunc(list, hasTokenID):
		u.lose(c, i, field+".token_id")
	}
}

// citation names the members of a citation that Google's protocols and responses have no place for.
// The others carry citations with an address, and name all others.
func (u unplacedInAnswer) citation(c, i int32, cited *genwayv1.Citation) {
	if u.protocol == responses {
		for _, field := range unplacedOfCitation(cited) {
			u.lose(c, i, ".text.citations."+field)
		}
	}
	if !googles(u.protocol) || u.protocol == interactions && (cited.GetNative().GetProtocol() == interactions || cited.GetUrl()+cited.GetFilename() == "") {
		return
	}
	if u.protocol == interactions && cited.GetUrl() == "" && cited.GetTitle() != "" {
		u.lose(c, i, ".text.citations.title")
	}
	if (cited.GetUrl() != "" || u.protocol == interactions) && cited.GetCitedText() != "" {
		u.lose(c, i, ".text.citations.cited_text") // a chunk of the web has none
	}
	switch {
	case cited.GetFileId() != "":
		u.lose(c, i, ".text.citations.file_id")
	case cited.DocumentIndex != nil:
		u.lose(c, i, ".text.citations.document_index")
	case cited.StartIndex != nil && cited.EndIndex == nil:
		u.lose(c, i, ".text.citations.start_index")
	case cited.StartIndex == nil && cited.EndIndex != nil:
		u.lose(c, i, ".text.citations.end_index")
	}
}

func (u unplacedInAnswer) media(c, i int32, kind string, m *genwayv1.Media, filename bool) {
	if filename && m.GetFilename() != "" {
		u.lose(c, i, kind+".filename")
	}
	if m.GetTranscript() != "" && kind != ".audio" {
		u.lose(c, i, kind+".transcript")
	}
}

// end names how a candidate ended where the protocol says something else for it.
func (u unplacedInAnswer) end(c int32, reason genwayv1.StopReason, native string) {
	switch reason { //nolint:exhaustive // the others have a word everywhere, or the vendor's
	case genwayv1.StopReason_STOP_REASON_PAUSE:
		if u.protocol == responses || u.protocol == chat && native == "" {
			u.losses.Add(member.Index("candidates", int(c))+".stop_reason", "the target protocol cannot say that a turn is paused")
		}
	case genwayv1.StopReason_STOP_REASON_OTHER:
		if native == "" && u.is(chat, messages) {
			u.losses.Add(member.Index("candidates", int(c))+".stop_reason", "the vendor gave no word for it")
		}
	}
}

func (u unplacedInAnswer) feedback(f *genwayv1.PromptFeedback) {
	if f == nil {
		return
	}
	if u.protocol == responses && f.GetBlockReason()+f.GetMessage() != "" {
		u.losses.Add("prompt_feedback", "the target protocol says only that a filter ended the answer")
	}
	for _, native := range f.GetNativeFields() {
		if native.GetProtocol() != u.protocol {
			u.losses.Add("prompt_feedback."+native.GetName(), noPlace)
		}
	}
}

// counts are the counts of tokens that not every protocol has. Counts of only texts are not
// among them: the totals and the other counts say it.
var counts = []struct {
	name   string
	of     func(*genwayv1.Usage) int64
	lostIn []genwayv1.Protocol
}{
	{"cache_read_input_tokens", (*genwayv1.Usage).GetCacheReadInputTokens, []genwayv1.Protocol{images}},
	{"cache_write_input_tokens", (*genwayv1.Usage).GetCacheWriteInputTokens, []genwayv1.Protocol{generateContent, interactions, images}},
	{"thinking_tokens", (*genwayv1.Usage).GetThinkingTokens, []genwayv1.Protocol{images}},
	{"input_image_tokens", (*genwayv1.Usage).GetInputImageTokens, []genwayv1.Protocol{responses, messages}},
	{"input_audio_tokens", (*genwayv1.Usage).GetInputAudioTokens, []genwayv1.Protocol{responses, messages, images}},
	{"output_image_tokens", (*genwayv1.Usage).GetOutputImageTokens, []genwayv1.Protocol{responses, messages}},
	{"output_audio_tokens", (*genwayv1.Usage).GetOutputAudioTokens, []genwayv1.Protocol{responses, messages, images}},
	{"tool_use_input_tokens", (*genwayv1.Usage).GetToolUseInputTokens, []genwayv1.Protocol{chat, responses, messages, images}},
	{"accepted_prediction_tokens", (*genwayv1.Usage).GetAcceptedPredictionTokens, []genwayv1.Protocol{responses, messages, generateContent, interactions, images}},
	{"rejected_prediction_tokens", (*genwayv1.Usage).GetRejectedPredictionTokens, []genwayv1.Protocol{responses, messages, generateContent, interactions, images}},
}

// lifetimes are the lifetimes of writes to a cache that a protocol counts apart.
var lifetimes = map[genwayv1.Protocol][]string{messages: {"5m", "1h"}, responses: {"30m", "12h"}}

// unplacedWrite reports whether the protocol has no count for a write to a cache. That all of it is kept for five
// minutes need not be said, since that is the vendor's default.
func unplacedWrite(u *genwayv1.Usage, w *genwayv1.CacheWrite, protocol genwayv1.Protocol) bool {
	default5m := w.GetTtl() == "5m" && w.GetTokens() == u.GetCacheWriteInputTokens()
	return w.GetTokens() != 0 && !default5m && !slices.Contains(lifetimes[protocol], w.GetTtl())
}

// UnplacedCounts names in losses the counts that are not zero and that the protocol does not have.
func UnplacedCounts(usage *genwayv1.Usage, protocol genwayv1.Protocol, losses *codec.Losses) {
	for _, c := range counts {
		if c.of(usage) != 0 && slices.Contains(c.lostIn, protocol) {
			losses.Add("usage."+c.name, apart)
		}
	}
	for _, w := range usage.GetCacheWrites() {
		if unplacedWrite(usage, w, protocol) {
			losses.Add("usage.cache_writes", apart)
			break
		}
	}
}

const apart = "the target protocol does not count these apart"

// usage names what of a usage the protocol does not have.
func (u unplacedInAnswer) usage(usage *genwayv1.Usage) {
	UnplacedCounts(usage, u.protocol, u.losses)
	for _, f := range usage.GetNativeFields() {
		if f.GetProtocol() != u.protocol && !member.IsMark(f) {
			u.losses.Add("usage."+f.GetName(), noPlace)
		}
	}
}
