package responses

import (
	"errors"
	"math"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/codec/fit"
	"github.com/genway/genway/codec/member"
	"github.com/genway/genway/codec/openai"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/go-json-experiment/json/jsontext"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// DecodeResponse reads the body of a unary answer. A response that failed is a
// *fault.Error, whatever the HTTP status is.
func (Codec) DecodeResponse(body []byte) (*genwayv1.GenerateTextResponse, error) {
	var w wireResponse
	if err := member.DecodeLoose(body, &w, "usage", "created_at"); err != nil {
		return nil, err
	}
	switch {
	case w.refused():
		return nil, openai.Decode(0, body, protocol)
	case w.failed():
		return nil, failure(w.Error, body)
	case unfinished[w.Status]:
		return nil, w.unfinished(body)
	}
	if w.empty() {
		return nil, noOutput()
	}
	resp := w.head(body)
	candidate := &genwayv1.Candidate{}
	var thought *genwayv1.Seal
	for i, raw := range w.Output {
		it, err := decodeItem(raw, member.Place{Path: "output", Element: i + 1})
		if err != nil {
			return nil, badAnswer(err)
		}
		if thought != nil && len(it.parts) > 0 {
			it.parts[0].ThoughtSignature = thought
		}
		thought = nil
		if it.thought != nil && !it.late {
			thought = it.thought
			continue
		}
		candidate.Parts = appendAnswer(candidate.Parts, it)
	}
	resp.Candidates = []*genwayv1.Candidate{candidate}
	candidate.StopReason, candidate.NativeStopReason, candidate.NativeFields = decodeStop(w.Status, w.reason(), called(candidate.Parts))
	if n := len(candidate.Parts); n > 0 && codec.Cut(candidate.StopReason) {
		last := w.Output[len(w.Output)-1]
		if call := candidate.Parts[n-1].GetToolCall(); call != nil && !codec.IsCustom(call) && member.Raw(member.Value(last, "type")).String() == typeFunctionCall {
			codec.SetArguments(call, member.Raw(member.Value(last, "arguments")).String()) // none if none came
		}
	}
	return resp, nil
}

// empty reports whether a response has nothing of an answer.
func (w *wireResponse) empty() bool { return w.Output == nil && w.Status == "" }

func noOutput() error {
	return fault.New(fault.BadUpstream, fault.ReasonMalformedAnswer, "the upstream's answer has no output")
}

// unfinished is the failure of a response that has not been generated to its end.
func (w *wireResponse) unfinished(body []byte) error {
	err := fault.New(fault.BadUpstream, fault.ReasonMalformedAnswer, "the upstream's answer is not finished: its status is %q", w.Status)
	err.Usage = w.usage(body)
	return err
}

// badAnswer turns the fault of a decoder of requests into one of the upstream.
func badAnswer(err error) error {
	var f *fault.Error
	if errors.As(err, &f) && f.Kind == fault.BadUpstream {
		return f
	}
	return fault.MalformedAnswer(err)
}

func (w *wireResponse) failed() bool {
	return w.Status == statusFailed || len(w.Error) > 0 && w.Error.Kind() == '{'
}

// refused reports whether an error stands in the place of the response. One that failed is a
// response, with a status.
func (w *wireResponse) refused() bool {
	return w.Status == "" && w.Output == nil && given(w.Error)
}

// given reports whether a member is there and not null.
func given(raw jsontext.Value) bool { return len(raw) > 0 && raw.Kind() != 'n' }

func (w *wireResponse) reason() string {
	if w.IncompleteDetails == nil {
		return ""
	}
	return w.IncompleteDetails.Reason
}

// usage is all that the response, which body is, has used.
func (w *wireResponse) usage(body []byte) *genwayv1.Usage {
	return withTools(w.Usage.canonical(w.ServiceTier), body)
}

// head is the answer, which body is, but for its candidate.
func (w *wireResponse) head(body []byte) *genwayv1.GenerateTextResponse {
	return &genwayv1.GenerateTextResponse{
		Id: w.ID, Model: w.Model, CreateTime: w.created(), ServiceTier: w.ServiceTier,
		Usage: w.usage(body), NativeFields: w.natives(),
	}
}

func (w *wireResponse) natives() []*genwayv1.NativeField {
	return member.Natives(protocol, w.Extra, nil)
}

// created drops fractions of a second, which no client reads.
func (w *wireResponse) created() *timestamppb.Timestamp {
	if w.CreatedAt <= 0 || w.CreatedAt > math.MaxInt32*100 {
		return nil
	}
	return &timestamppb.Timestamp{Seconds: int64(w.CreatedAt)}
}

// appendAnswer adds an item of the output. In an answer the status of an item
// says no more than the whole's, and a part without content says nothing.
func appendAnswer(parts []*genwayv1.Part, it item) []*genwayv1.Part {
	if it.thought != nil {
		if len(parts) > 0 {
			parts[len(parts)-1].ThoughtSignature = it.thought
		}
		return parts
	}
	for _, p := range it.parts {
		p.NativeFields = withoutStatus(p.NativeFields)
		if !blank(p) {
			parts = append(parts, p)
		}
	}
	return parts
}

func withoutStatus(fields []*genwayv1.NativeField) []*genwayv1.NativeField {
	fields, _ = without(fields, "status")
	fields, _ = without(fields, ofMessage+"status")
	return fields
}

// blank reports whether a part of an answer says nothing (case T2). Text that
// only carries a signature says something (case R2), and so does reasoning that
// the upstream keeps under its id.
func blank(p *genwayv1.Part) bool {
	if p.ThoughtSignature != nil {
		return false
	}
	switch k := p.Kind.(type) {
	case *genwayv1.Part_Text:
		return k.Text.GetText() == "" && len(k.Text.Citations) == 0 && len(k.Text.Logprobs) == 0
	case *genwayv1.Part_Refusal:
		return k.Refusal.GetText() == ""
	case *genwayv1.Part_Thinking:
		t := k.Thinking
		return p.Id == "" && t.GetText() == "" && len(t.Summary) == 0 && t.Signature == nil && t.EncryptedContent == nil && len(p.NativeFields) == 0
	}
	return p.Kind == nil
}

// EncodeResponse writes the body of a unary answer.
func (Codec) EncodeResponse(resp *genwayv1.GenerateTextResponse, to codec.Answer) ([]byte, error) {
	if compacting(to) {
		var err error
		if resp, err = compactedAnswer(resp); err != nil {
			return nil, err
		}
		if to.Request.Compact {
			return encodeCompacted(resp, to.Losses)
		}
	}
	fit.UnplacedInAnswer(resp, protocol, to.Losses)
	end, cut := ending{status: statusCompleted}, false
	if len(resp.Candidates) > 0 {
		c := resp.Candidates[0]
		end = encodeStop(c.StopReason, c.NativeStopReason, c.NativeFields, refused(c.Parts))
		cut = len(c.Parts) > 0 && codec.Cut(c.StopReason) && unfinishedCall(c.Parts[len(c.Parts)-1])
	}
	h := head{
		id: responseID(resp.Id), model: resp.Model, created: resp.CreateTime.GetSeconds(),
		tier: resp.ServiceTier, echo: echo(to.Request, resp.Stored), natives: resp.NativeFields, now: to.Now, ended: resp.CompleteTime,
	}
	w := member.NewWriter(member.SizeOfResponse(resp, 1024) + len(h.echo))
	if resp.PromptFeedback != nil {
		h.begin(w, ending{status: statusIncomplete, reason: reasonContentFilter})
	} else {
		h.begin(w, end)
	}
	out := output{w: w, response: h.id, created: h.created, losses: to.Losses, spaces: spacesOf(to.Tools()), summarizes: summarizes(to)}
	for i, c := range resp.Candidates {
		if i > 0 {
			to.Losses.Add(member.Index("candidates", i), "the target protocol has one answer")
			continue
		}
		for at, part := range c.Parts {
			if err := out.add(part, at); err != nil {
				return nil, err
			}
		}
		loseEnd(c.StopSequence != nil, c.StopMessage, c.NativeFields, to.Losses)
	}
	status := itemStatus(end)
	if cut {
		status = statusIncomplete
	}
	if err := out.flush(status); err != nil {
		return nil, err
	}
	h.end(w, resp.Usage, to.Losses)
	return w.Finish()
}

// loseEnd names what of a candidate's end has no place here.
func loseEnd(sequence bool, message string, natives []*genwayv1.NativeField, losses *codec.Losses) {
	if sequence {
		losses.Add("candidates[0].stop_sequence", noPlace)
	}
	if message != "" {
		losses.Add("candidates[0].stop_message", noPlace)
	}
	for _, f := range natives {
		if !member.IsMark(f) {
			losses.Add("candidates[0]."+f.Name, noPlace)
		}
	}
}

// unfinishedCall reports whether a part is a call whose arguments have not come, or not to their end.
func unfinishedCall(p *genwayv1.Part) bool {
	return codec.WithoutArguments(p) || codec.BrokenOff(p.GetToolCall().GetArgumentsJson())
}

// itemStatus is the status of the last item of an answer with this ending.
func itemStatus(end ending) string {
	if end.status == statusCompleted {
		return statusCompleted
	}
	return statusIncomplete
}

func responseID(id string) string {
	if id == "" {
		return syntheticID(prefixResponse, "", 0, 0)
	}
	return id
}

// output gathers the items of a unary answer.
type output struct {
	w        *member.Writer
	response string
	created  int64
	losses   *codec.Losses
	spaces   spaces
	// summarizes says that the caller asked for a summary of the reasoning.
	summarizes bool
	open       *outputItem
	count      int
}

func (o *output) add(part *genwayv1.Part, at int) error {
	p := answerable(part, at, o.losses)
	if p == nil {
		return nil
	}
	if p.ThoughtSignature != nil {
		if err := o.start(carrier(sealedThought, p.ThoughtSignature), at); err != nil {
			return err
		}
	}
	if o.open != nil && joins(o.open.parts[len(o.open.parts)-1], p) {
		o.open.parts, o.open.at = append(o.open.parts, p), append(o.open.at, at)
		return nil
	}
	return o.start(p, at)
}

func (o *output) start(p *genwayv1.Part, at int) error {
	err := o.flush(statusCompleted)
	o.open = &outputItem{parts: []*genwayv1.Part{p}, at: []int{at}, index: o.count, response: o.response, created: o.created, losses: o.losses, spaces: o.spaces}
	if t := p.GetThinking(); o.summarizes && thoughtElsewhere(p) && t.Text != "" && len(t.Summary) == 0 {
		o.open.summary = true
	}
	o.count++
	return err
}

func (o *output) flush(status string) error {
	if o.open == nil {
		return nil
	}
	err := o.open.encode(o.w, status)
	o.open = nil
	return err
}

// outputItem is one item of an answer's output: the parts of a message, or one
// part of another kind.
type outputItem struct {
	parts []*genwayv1.Part
	// at are the parts' places in the candidate.
	at []int
	// index is the place in the output.
	index    int
	response string
	created  int64
	losses   *codec.Losses
	spaces   spaces
	// cut says that the answer was cut in the item, a call.
	cut bool
	// summary says that the text of the thinking is written as a summary.
	summary bool
	// identifier is what id returns. It is made once, since each event of a stream has it, and callers
	// have learnt it when the item began.
	identifier string
}

func partPath(at int) string { return member.Index("candidates[0].parts", at) }

// id is the item's own, else one that follows from its place.
func (it *outputItem) id() string {
	if it.identifier == "" {
		it.identifier = it.identify()
	}
	return it.identifier
}

func (it *outputItem) identify() string {
	p := it.parts[0]
	if p.Id != "" {
		return p.Id
	}
	prefix := prefixMessage
	switch k := p.Kind.(type) {
	case *genwayv1.Part_Thinking:
		prefix = prefixReasoning
	case *genwayv1.Part_ToolCall:
		if prefix = prefixFunction; codec.IsCustom(k.ToolCall) {
			prefix = prefixCustom
		}
	case *genwayv1.Part_Image:
		prefix = prefixImage
	case *genwayv1.Part_ToolResult:
		prefix = prefixOutput
	}
	return syntheticID(prefix, it.response, it.created, it.index)
}

// callID is the identifier of the item's call, which clients demand.
func (it *outputItem) callID() string {
	if id := it.parts[0].GetToolCall().GetId(); id != "" {
		return id
	}
	return codec.SyntheticToolID(it.response, 0, int32(it.at[0]))
}

// encode writes the item whole.
func (it *outputItem) encode(w *member.Writer, status string) error {
	part, path := it.parts[0], partPath(it.at[0])
	switch k := part.Kind.(type) {
	case *genwayv1.Part_Thinking:
		encodeReasoningItem(w, k.Thinking, it.summary, it.id(), part.NativeFields, path, it.losses)
		return nil
	case *genwayv1.Part_ToolCall:
		w.Begin()
		encodeCall(w, k.ToolCall, it.spaces.place(part.NativeFields, k.ToolCall.Name), it.id(), it.callID(), status)
	case *genwayv1.Part_Image:
		w.Begin()
		encodeImageCall(w, k.Image, k.Image.GetData(), it.id(), statusCompleted)
	case *genwayv1.Part_ToolResult:
		e := inputEncoder{w: w, losses: it.losses}
		return e.result(k.ToolResult, part, path, it.id(), status, extras(part.NativeFields, path, it.losses))
	case *genwayv1.Part_Opaque:
		if !isContent(part) {
			w.Value(k.Opaque.Json)
			return nil
		}
		it.message(w, status)
		return nil
	default:
		it.message(w, status)
		return nil
	}
	w.Spliced(extras(part.NativeFields, path, it.losses))
	w.End()
	return nil
}

func (it *outputItem) message(w *member.Writer, status string) {
	_, outer := split(it.parts[0].NativeFields, ofMessage)
	w.Begin()
	w.Str("id", it.id())
	w.Str("type", typeMessage)
	w.Str("status", status)
	w.List("content")
	if status != statusInProgress {
		for i, p := range it.parts {
			encodeSaid(w, p, partPath(it.at[i]), it.losses, true)
		}
	}
	w.EndList()
	w.Str("role", "assistant")
	w.Spliced(extras(outer, "", it.losses))
	w.End()
}

// open writes the item as it is when its stream begins.
func (it *outputItem) open(w *member.Writer) error {
	part := it.parts[0]
	empty := &genwayv1.Part{Id: part.Id, NativeFields: part.NativeFields}
	switch k := part.Kind.(type) {
	case *genwayv1.Part_Thinking:
		empty.Kind = &genwayv1.Part_Thinking{Thinking: &genwayv1.Thinking{EncryptedContent: k.Thinking.EncryptedContent}}
	case *genwayv1.Part_ToolCall:
		w.Begin()
		w.Str("id", it.id())
		if codec.IsCustom(k.ToolCall) {
			w.Str("type", typeCustomCall)
			w.Str("status", statusInProgress)
			w.Str("input", "")
		} else {
			w.Str("type", typeFunctionCall)
			w.Str("status", statusInProgress)
			w.Str("arguments", "")
		}
		w.Str("call_id", it.callID())
		at := it.spaces.place(part.NativeFields, k.ToolCall.Name)
		w.StrOpt("namespace", at.space)
		w.Str("name", at.name)
		w.Spliced(extras(part.NativeFields, partPath(it.at[0]), nil))
		w.End()
		return nil
	case *genwayv1.Part_Image:
		w.Begin()
		w.Str("id", it.id())
		w.Str("type", typeImageCall)
		w.Str("status", statusInProgress)
		w.Null("result")
		w.End()
		return nil
	default:
		empty.Kind = part.Kind
	}
	opened := &outputItem{parts: []*genwayv1.Part{empty}, at: it.at[:1], identifier: it.id()}
	return opened.encode(w, statusInProgress)
}

// carrier is the item that brings the thought signature of a part back.
func carrier(word string, seal *genwayv1.Seal) *genwayv1.Part {
	return &genwayv1.Part{Kind: &genwayv1.Part_Thinking{Thinking: &genwayv1.Thinking{
		EncryptedContent: &genwayv1.Seal{Value: []byte(word + codec.SealText(seal, protocol, false))},
	}}}
}

const unsignable = "a text's signature has no place in the target protocol"

// unsigned is a part of a message without its signature, which has no place here.
func unsigned(p *genwayv1.Part, at int, losses *codec.Losses) *genwayv1.Part {
	if p.ThoughtSignature == nil || !isContent(p) {
		return p
	}
	losses.Add(partPath(at)+".thought_signature", unsignable)
	return &genwayv1.Part{Id: p.Id, Kind: p.Kind, CacheControl: p.CacheControl, NativeFields: p.NativeFields}
}

// answerable returns a part as this protocol's answers can hold it; nil when they
// cannot, or when there is nothing to hold.
func answerable(p *genwayv1.Part, at int, losses *codec.Losses) *genwayv1.Part {
	if p = unsigned(p, at, losses); blank(p) {
		return nil
	}
	path := partPath(at)
	switch k := p.Kind.(type) {
	case *genwayv1.Part_Audio:
		losses.Add(path+".audio", noPlace)
		if k.Audio.GetTranscript() == "" {
			return nil
		}
		return textPart(p.Id, k.Audio.Transcript)
	case *genwayv1.Part_Image:
		if k.Image.GetData() != nil {
			return p
		}
	case *genwayv1.Part_Opaque:
		if k.Opaque.Protocol == protocol {
			return p
		}
	case *genwayv1.Part_File, *genwayv1.Part_Video:
	default:
		return p
	}
	losses.Add(member.Join(path, kindName(p)), noPlace)
	return nil
}
