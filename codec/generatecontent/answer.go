package generatecontent

import (
	"cmp"
	"errors"
	"slices"
	"time"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/codec/fit"
	"github.com/genway/genway/codec/google"
	"github.com/genway/genway/codec/member"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// DecodeResponse reads the body of a successful unary answer. A body that is an
// error after all returns that error.
func (c Codec) DecodeResponse(body []byte) (*genwayv1.GenerateTextResponse, error) {
	var w response
	if err := member.DecodeLoose(body, &w, "usageMetadata", "createTime"); err != nil {
		return nil, err
	}
	if present(w.Error) {
		return nil, c.DecodeError(0, body)
	}
	if len(w.Candidates) == 0 && w.PromptFeedback == nil {
		f := fault.New(fault.BadUpstream, fault.ReasonMalformedAnswer, "the upstream's answer has no candidates")
		if w.UsageMetadata != nil {
			f.Usage = w.UsageMetadata.canonical()
		}
		return nil, f
	}
	resp, err := w.canonical()
	if err != nil {
		return nil, fault.MalformedAnswer(err)
	}
	if resp.PromptFeedback == nil && slices.ContainsFunc(w.Candidates, unfinished) {
		f := fault.New(fault.BadUpstream, fault.ReasonMalformedAnswer, "the upstream's answer is not finished: a candidate has no finishReason")
		f.Usage = resp.Usage
		return nil, f
	}
	return resp, nil
}

// unfinished reports whether the candidate has no finishReason. The vendor's SDK says of this member that the model
// has not stopped generating then.
func unfinished(c candidate) bool { return c.FinishReason == "" }

func (w *response) canonical() (*genwayv1.GenerateTextResponse, error) {
	resp := &genwayv1.GenerateTextResponse{Id: w.ResponseID, Model: w.ModelVersion}
	var err error
	if resp.NativeFields, err = natives(w.Extra, "", nil); err != nil {
		return nil, err
	}
	var left *genwayv1.NativeField
	if resp.CreateTime, left = decodeTime(w.CreateTime); left != nil {
		resp.NativeFields = append(resp.NativeFields, left)
	}
	if resp.PromptFeedback, left, err = w.PromptFeedback.canonical(); err != nil {
		return nil, err
	}
	if left != nil {
		resp.NativeFields = append(resp.NativeFields, left)
	}
	if w.UsageMetadata != nil {
		resp.ServiceTier, resp.Usage = w.UsageMetadata.ServiceTier, w.UsageMetadata.canonical()
	}
	for i := range w.Candidates {
		c, err := w.Candidates[i].canonical(member.Index("candidates", i))
		if err != nil {
			return nil, err
		}
		if resp.PromptFeedback != nil {
			c.StopReason = blocked(c.StopReason)
		}
		resp.Candidates = append(resp.Candidates, c)
	}
	return resp, nil
}

// decodeTime reads createTime; one that is no time stays a native field.
func decodeTime(text string) (*timestamppb.Timestamp, *genwayv1.NativeField) {
	if text == "" {
		return nil, nil
	}
	if t, err := time.Parse(time.RFC3339Nano, text); err == nil {
		if stamp := timestamppb.New(t); stamp.IsValid() {
			return stamp, nil
		}
	}
	quoted, err := jsontext.AppendQuote(nil, text)
	if err != nil {
		return nil, nil
	}
	return nil, native("createTime", quoted)
}

// canonical reads why a prompt was blocked. Feedback that blocked nothing stays a
// native field.
func (w *promptFeedback) canonical() (*genwayv1.PromptFeedback, *genwayv1.NativeField, error) {
	if w == nil {
		return nil, nil, nil
	}
	if w.BlockReason == "" {
		whole, err := marshal(w, 128, fault.Internal)
		return nil, native("promptFeedback", whole), err
	}
	f := &genwayv1.PromptFeedback{BlockReason: w.BlockReason, Message: w.BlockReasonMessage}
	var err error
	f.NativeFields, err = natives(w.Extra, "promptFeedback", nil)
	return f, nil, err
}

func (w *candidate) canonical(path string) (*genwayv1.Candidate, error) {
	number, err := int32Of(&w.Index, path, "index")
	if err != nil {
		return nil, err
	}
	c := &genwayv1.Candidate{Index: *number, NativeStopReason: w.FinishReason, StopMessage: w.FinishMessage}
	if c.NativeFields, err = w.natives(path); err != nil {
		return nil, err
	}
	if w.Content != nil {
		parts, err := reader{answer: true}.parts(w.Content.Parts, member.Place{In: &member.Place{Path: path}, Path: "content.parts"})
		if err != nil {
			return nil, err
		}
		for _, p := range parts {
			if n := len(c.Parts); n > 0 && google.Continues(c.Parts[n-1], p) {
				sound := c.Parts[n-1].GetAudio()
				sound.Source = &genwayv1.Media_Data{Data: slices.Concat(sound.GetData(), p.GetAudio().GetData())}
			} else if says(p) {
				c.Parts = append(c.Parts, p)
			}
		}
	}
	var only *genwayv1.Text
	texts, called := 0, false
	for _, p := range c.Parts {
		if t := p.GetText(); t != nil {
			only = t
			texts++
		}
		called = called || p.GetToolCall() != nil
	}
	c.StopReason = stopReason(w.FinishReason, called)
	if texts == 1 && c.Parts[len(c.Parts)-1].GetText() == only {
		// Not of a text with parts behind it: a stream has closed it by the time it
		// knows, and must fold to the same.
		only.Citations = citations(c.NativeFields, only.Text)
	}
	fields := w.logprobs(only, texts == 1)
	c.NativeFields = append(append(c.NativeFields, fields...), unknownWord(w.FinishReason)...)
	return c, nil
}

// natives are the native fields of a candidate and of its content, whose role is model.
func (w *candidate) natives(path string) ([]*genwayv1.NativeField, error) {
	fields, err := natives(w.Extra, path, nil)
	if err != nil || w.Content == nil {
		return fields, err
	}
	inner, err := nested("content.", w.Content.Extra, path+".content", nil)
	return append(fields, inner...), err
}

// logprobs returns the tokens to the text they are of, if there is one; else, and
// when they say more than the contract can hold, they stay a native field.
func (w *candidate) logprobs(text *genwayv1.Text, only bool) []*genwayv1.NativeField {
	if !present(w.LogprobsResult) {
		return nil
	}
	tokens, extra, ok := decodeLogprobs(w.LogprobsResult)
	if !ok || !only && len(tokens) > 0 {
		return []*genwayv1.NativeField{native("logprobsResult", w.LogprobsResult)}
	}
	fields, err := nested("logprobsResult.", extra, "logprobsResult", nil)
	if err != nil {
		return []*genwayv1.NativeField{native("logprobsResult", w.LogprobsResult)}
	}
	if only {
		text.Logprobs = append(text.Logprobs, tokens...)
	}
	return fields
}

// EncodeResponse writes the body of a successful unary answer.
func (Codec) EncodeResponse(resp *genwayv1.GenerateTextResponse, to codec.Answer) ([]byte, error) {
	fit.UnplacedInAnswer(resp, protocol, to.Losses)
	w := head{resp.Id, resp.Model, encodeTime(resp.CreateTime)}.response()
	var err error
	if w.Extra, err = member.Extra(protocol, resp.NativeFields, "", to.Losses); err != nil {
		return nil, err
	}
	if w.PromptFeedback, err = encodeFeedback(resp.PromptFeedback, to.Losses); err != nil {
		return nil, err
	}
	if w.UsageMetadata, err = encodeUsage(resp.Usage, resp.ServiceTier, to.Losses); err != nil {
		return nil, err
	}
	for i, c := range resp.Candidates {
		wc, err := encodeCandidate(c, member.Index("candidates", i), to.Losses)
		if err != nil {
			return nil, err
		}
		w.Candidates = append(w.Candidates, *wc)
	}
	return marshal(w, member.SizeOfResponse(resp, 512), fault.Internal)
}

// head is what every frame of a stream repeats.
type head struct{ id, model, createTime string }

func (h head) response() *response {
	return &response{ResponseID: h.id, ModelVersion: h.model, CreateTime: h.createTime}
}

func encodeTime(t *timestamppb.Timestamp) string {
	if !t.IsValid() {
		return ""
	}
	return t.AsTime().Format(time.RFC3339Nano)
}

func encodeFeedback(f *genwayv1.PromptFeedback, losses *codec.Losses) (*promptFeedback, error) {
	if f == nil {
		return nil, nil
	}
	w := &promptFeedback{BlockReason: f.BlockReason, BlockReasonMessage: f.Message}
	if w.BlockReason == "" {
		w.BlockReason = "OTHER"
	}
	var err error
	w.Extra, err = member.Extra(protocol, f.NativeFields, "prompt_feedback", losses)
	return w, err
}

func encodeCandidate(c *genwayv1.Candidate, path string, losses *codec.Losses) (*candidate, error) {
	e := &writer{losses: losses, answer: true}
	end := &genwayv1.CandidateEnd{
		Index: c.Index, StopReason: c.StopReason, NativeStopReason: c.NativeStopReason,
		StopSequence: c.StopSequence, StopMessage: c.StopMessage, NativeFields: c.NativeFields,
	}
	var grounding groundingBuilder
	var tokens []*genwayv1.TokenLogprob
	parts := make([]part, 0, len(c.Parts))
	for i, p := range c.Parts {
		if i == len(c.Parts)-1 && codec.Cut(c.StopReason) && (codec.IsBroken(p.GetToolCall()) || codec.WithoutArguments(p)) {
			losses.Add(member.Within(path, ".parts", i)+".tool_call", codec.CutCall)
			break
		}
		var err error
		grounding.add(p.GetText().GetText(), len(parts), p.GetText().GetCitations())
		tokens = append(append(tokens, p.GetText().GetLogprobs()...), p.GetRefusal().GetLogprobs()...)
		if parts, err = e.part(parts, p, member.Within(path, ".parts", i)); err != nil && !errors.Is(err, errLeftOut) {
			return nil, err
		}
	}
	return encodeEnd(end, parts, &grounding, tokens, path, losses)
}

// encodeEnd writes a candidate with how it ended.
func encodeEnd(end *genwayv1.CandidateEnd, parts []part, grounding *groundingBuilder, tokens []*genwayv1.TokenLogprob, path string, losses *codec.Losses) (*candidate, error) {
	fields := end.NativeFields
	if f := grounding.field(fields); f != nil {
		fields = append(slices.Clip(fields), f)
	}
	word, beside := finishReason(end.StopReason, end.NativeStopReason, fields)
	lists := split(fields, "content.", "logprobsResult.")
	w := &candidate{
		Index:         integer(end.Index),
		Content:       &content{Role: "model", Parts: parts},
		FinishReason:  word,
		FinishMessage: cmp.Or(end.StopMessage, beside),
	}
	if end.StopSequence != nil {
		losses.Add(path+".stop_sequence", "the target protocol does not name the stop sequence")
	}
	var err error
	if w.Extra, err = member.Extra(protocol, lists[2], path, losses); err != nil {
		return nil, err
	}
	if w.Content.Extra, err = member.Extra(protocol, lists[0], path, losses); err != nil {
		return nil, err
	}
	extra, err := member.Extra(protocol, lists[1], path, losses)
	if err != nil {
		return nil, err
	}
	if member.Native(protocol, lists[2], "logprobsResult") == nil {
		if w.LogprobsResult, err = encodeLogprobs(tokens, extra); err != nil {
			return nil, fault.Wrap(err, fault.Internal, "ENCODE", "%s", fault.InternalMessage)
		}
	}
	return w, nil
}

const finishReasonName = "finishReason"

// stopReason reads a finishReason. The vendor says STOP after a function call
// too, in the same frame or a later one (case T3).
func stopReason(word string, called bool) genwayv1.StopReason {
	reason := codec.StopReasonOf(word)
	if called && reason == genwayv1.StopReason_STOP_REASON_END_TURN {
		return genwayv1.StopReason_STOP_REASON_TOOL_CALL
	}
	return reason
}

// unknownWord marks a word of this protocol that this version does not know.
func unknownWord(word string) []*genwayv1.NativeField {
	if _, known := codec.VendorStopWord(protocol, word); word == "" || known {
		return nil
	}
	return []*genwayv1.NativeField{member.Mark(protocol, finishReasonName)}
}

// blocked is the reason of a candidate in an answer whose prompt was blocked. One that had
// begun by then has no reason of its own.
func blocked(reason genwayv1.StopReason) genwayv1.StopReason {
	if reason == genwayv1.StopReason_STOP_REASON_UNSPECIFIED {
		return genwayv1.StopReason_STOP_REASON_CONTENT_FILTER
	}
	return reason
}

// finishReason writes a finishReason: the vendor's own word when it means the same, else the nearest, and the
// upstream's own word where that does not say it all.
func finishReason(reason genwayv1.StopReason, native string, fields []*genwayv1.NativeField) (word, beside string) {
	if member.Marked(protocol, fields, finishReasonName) {
		return native, ""
	}
	own, known := codec.VendorStopWord(protocol, native)
	if known && (stopReason(own, true) == reason || stopReason(own, false) == reason) {
		return own, ""
	}
	if word = codec.StopWord(protocol, reason); word == "OTHER" {
		beside = native
	}
	return word, beside
}

// logprobsResult has how likely the tokens of a candidate were (SDK type
// LogprobsResult).
//
//wire:read,write
type logprobsResult struct {
	ChosenCandidates []logprob      `json:"chosenCandidates"`
	TopCandidates    []topLogprobs  `json:"topCandidates"`
	Extra            jsontext.Value `json:",embed"`
}

type topLogprobs struct {
	Candidates []logprob      `json:"candidates"`
	Extra      jsontext.Value `json:",embed"`
}

type logprob struct {
	Token          string         `json:"token" wire:"always"`
	TokenID        *integer       `json:"tokenId"`
	LogProbability float64        `json:"logProbability" wire:"always"`
	Extra          jsontext.Value `json:",embed"`
}

// decodeLogprobs reads a result; ok is false when it says more than the contract
// can hold of the tokens. What it says of the whole is in extra.
func decodeLogprobs(raw jsontext.Value) (tokens []*genwayv1.TokenLogprob, extra jsontext.Value, ok bool) {
	var w logprobsResult
	if json.Unmarshal(raw, &w, member.Options()) != nil || len(w.ChosenCandidates) == 0 && len(w.Extra) == 0 {
		return nil, nil, false
	}
	if len(w.TopCandidates) != 0 && len(w.TopCandidates) != len(w.ChosenCandidates) {
		return nil, nil, false
	}
	for i := range w.ChosenCandidates {
		token := w.ChosenCandidates[i].canonical()
		if token == nil {
			return nil, nil, false
		}
		if len(w.TopCandidates) > 0 {
			if len(w.TopCandidates[i].Extra) > 0 {
				return nil, nil, false
			}
			for j := range w.TopCandidates[i].Candidates {
				top := w.TopCandidates[i].Candidates[j].canonical()
				if top == nil {
					return nil, nil, false
				}
				token.Top = append(token.Top, top)
			}
		}
		tokens = append(tokens, token)
	}
	return tokens, w.Extra, true
}

// canonical returns the token, or nil when it has other members or its number is
// out of range.
func (w *logprob) canonical() *genwayv1.TokenLogprob {
	id, err := int32Of(w.TokenID, "", "")
	if err != nil || len(w.Extra) > 0 {
		return nil
	}
	return &genwayv1.TokenLogprob{Token: w.Token, Logprob: w.LogProbability, TokenId: id}
}

// encodeLogprobs writes a result; nil when there is nothing in it.
func encodeLogprobs(tokens []*genwayv1.TokenLogprob, extra jsontext.Value) (jsontext.Value, error) {
	if len(tokens) == 0 && len(extra) == 0 {
		return nil, nil
	}
	w := logprobsResult{Extra: extra}
	tops := false
	for _, t := range tokens {
		w.ChosenCandidates = append(w.ChosenCandidates, wireLogprob(t))
		top := topLogprobs{}
		for _, other := range t.Top {
			tops = true
			top.Candidates = append(top.Candidates, wireLogprob(other))
		}
		w.TopCandidates = append(w.TopCandidates, top)
	}
	if !tops {
		w.TopCandidates = nil
	}
	return spelled(&w)
}

func wireLogprob(t *genwayv1.TokenLogprob) logprob {
	return logprob{Token: t.Token, TokenID: integerOf(t.TokenId), LogProbability: codec.Logprob(t.Logprob)}
}
