package chat

import (
	"errors"
	"strings"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/dialect"
	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/codec/fit"
	"github.com/genway/genway/codec/member"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/go-json-experiment/json/jsontext"
)

// encoder writes requests for upstreams and, with answer set, answers for
// callers. They differ in what becomes of foreign signatures: an upstream cannot
// use them, a caller has to bring them back.
type encoder struct {
	losses *codec.Losses
	answer bool
	// deprecated says that the caller knows function_call and not tool_calls.
	deprecated bool
	// id is the answer's, from which identifiers it lacks are derived.
	id string
	// dialect is what the upstream takes. Nil is for answers and for what OpenAI takes.
	dialect *dialect.Chat
}

// EncodeRequest implements codec.Codec. The limit on tokens is written as
// max_tokens, which every engine knows, unless the request came with
// max_completion_tokens or asks for thinking (reasoning models of the vendor
// refuse max_tokens). What the upstream's dialect does not take is left out, and
// noted.
func (Codec) EncodeRequest(req *codec.Request, losses *codec.Losses) ([]byte, error) {
	if err := reserves(req.GenerateTextRequest); err != nil {
		return nil, err
	}
	e := &encoder{losses: losses, dialect: req.Dialect}
	fitted, err := fit.Request(req.GenerateTextRequest, protocol, losses)
	if err != nil {
		return nil, err
	}
	if fitted != req.GenerateTextRequest {
		req = &codec.Request{GenerateTextRequest: fitted, Stream: req.Stream, IncludeUsage: req.IncludeUsage, Dialect: req.Dialect}
	}
	r, err := e.request(req)
	if err != nil {
		return nil, err
	}
	w := member.NewWriter(member.SizeOfRequest(req.GenerateTextRequest))
	r.write(w)
	body, err := w.Finish()
	if err != nil {
		return nil, unwritable(err)
	}
	return member.Merge(body, req.ExtraJson, "extra_json", reserved)
}

// reserved are the members of a body that fields of the contract are written to.
var reserved = member.ReservedBy[request]()

// reserves refuses native fields that say what the contract has a field for. function_call
// is the deprecated choice beside tool_choice.
func reserves(req *genwayv1.GenerateTextRequest) error {
	if err := reserved.Fields(protocol, req.NativeFields, "", functionCallName); err != nil {
		return err
	}
	return reserved.In("audio").Fields(protocol, req.GetAudioOutput().GetNativeFields(), "audio_output", "voice")
}

// unwritable is a message with JSON in it that is none, or with a member twice, which the
// text names.
func unwritable(err error) error {
	e := fault.Wrap(err, fault.InvalidRequest, fault.ReasonInvalidMember, "the request cannot be written as JSON")
	if syntax, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		e.Param = member.Path(string(syntax.JSONPointer))
		if errors.Is(err, jsontext.ErrDuplicateName) {
			e.Param = e.Param[:strings.LastIndexByte(e.Param, ']')+1]
		}
	}
	return e
}

func (e *encoder) request(req *codec.Request) (*request, error) {
	r := &request{
		Model:           req.Model,
		ReasoningEffort: e.effort(req.Thinking),
	}
	r.encode(req.GenerateTextRequest, e.losses)
	err := omitSettings(req.GenerateTextRequest, e.losses)
	if err != nil {
		return nil, err
	}
	if r.Messages, err = e.messages(e.shortened(identified(req.Messages))); err != nil {
		return nil, err
	}
	if err := e.tools(r, req.Tools); err != nil {
		return nil, err
	}
	if err := e.toolChoice(r, req.GenerateTextRequest); err != nil {
		return nil, err
	}
	if err := e.responseFormat(r, req.GenerateTextRequest); err != nil {
		return nil, err
	}
	if err := e.audioOutput(r, req.AudioOutput); err != nil {
		return nil, err
	}
	older, newer := marked(req.NativeFields, maxTokensName), marked(req.NativeFields, maxCompletionTokensName)
	if newer || req.Thinking != nil && !older {
		r.MaxCompletionTokens = req.MaxOutputTokens
	}
	if older || r.MaxCompletionTokens == nil {
		r.MaxTokens = req.MaxOutputTokens
	}
	if req.Stream {
		r.Stream = &req.Stream
	}
	if options := inner(req.NativeFields, "stream_options."); req.IncludeUsage || options != nil {
		r.StreamOptions = &streamOptions{IncludeUsage: req.IncludeUsage, Extra: options}
	}
	if r.Extra, err = extra(req.NativeFields, "", e.losses, "stream_options.", "response_format."); err != nil || e.dialect == nil {
		return r, err
	}
	return r, e.settings(r)
}

// effort returns the word for a thinking configuration. A budget becomes the word
// for about as much.
func (e *encoder) effort(t *genwayv1.ThinkingConfig) string {
	if t == nil {
		return ""
	}
	word, ok := codec.Effort(t)
	if t.Effort == "" && t.GetBudgetTokens() > 0 {
		e.losses.Add("thinking.budget_tokens", "chat completions has an effort in its place")
	}
	if !ok && t.Mode == genwayv1.ThinkingConfig_MODE_ENABLED {
		e.losses.Add("thinking.mode", "chat completions can ask for an effort only")
	}
	// Fields of this protocol have no place here, so Extra can only note others.
	if _, err := extra(t.NativeFields, "thinking", e.losses); err != nil {
		e.losses.Add("thinking", "a member of it has no place in chat completions")
	}
	return word
}

func (e *encoder) audioOutput(r *request, a *genwayv1.AudioOutput) (err error) {
	if a == nil {
		return nil
	}
	out := &audioOutput{Format: a.Format}
	if a.Voice != "" {
		out.Voice = textOf(a.Voice)
	} else if raw := member.Native(protocol, a.NativeFields, "voice"); len(raw) > 0 {
		out.Voice = text{is: isOther, raw: raw}
	}
	out.Extra, err = extra(a.NativeFields, "audio_output", e.losses, "voice")
	r.Audio = out
	return err
}

// seal spells a seal for the receiver; "" for an upstream that did not make it (R7).
func (e *encoder) seal(s *genwayv1.Seal) string {
	if s == nil || !e.answer && s.Protocol != protocol {
		return ""
	}
	return codec.SealText(s, protocol, false)
}

// tellSeals names the seals of a part that its upstream does not get.
func (e *encoder) tellSeals(p *genwayv1.Part, path string) {
	t := p.GetThinking()
	for _, s := range []struct {
		*genwayv1.Seal
		member string
	}{{p.ThoughtSignature, ".thought_signature"}, {t.GetSignature(), ".thinking.signature"}, {t.GetEncryptedContent(), ".thinking.encrypted_content"}} {
		if s.Seal != nil && e.seal(s.Seal) == "" {
			e.losses.Add(path+s.member, "only the upstream that made it can read it")
		}
	}
}
