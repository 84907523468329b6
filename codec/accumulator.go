package codec

import (
	"strings"

	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"google.golang.org/protobuf/proto"
)

// Accumulator adds up the events of a stream to one answer. Its zero value is ready for use.
// It ignores pings and upstream frames.
type Accumulator struct {
	sequence   Sequence
	resp       genwayv1.GenerateTextResponse
	candidates map[int32]*accumulatedCandidate
	order      []int32
}

type accumulatedCandidate struct {
	*genwayv1.Candidate
	open *openPart
}

// Add adds one event. An event out of order (Sequence) is an error of kind BadUpstream.
func (f *Accumulator) Add(ev *genwayv1.StreamGenerateTextResponse) error {
	if ev.GetWire() != nil {
		f.sequence.passesThrough = true
		return nil
	}
	if err := f.sequence.Check(ev); err != nil {
		return err
	}
	switch p := ev.GetPayload().(type) {
	case *genwayv1.StreamGenerateTextResponse_Started:
		f.Start(p.Started)
	case *genwayv1.StreamGenerateTextResponse_PartStarted:
		f.candidate(p.PartStarted.Candidate).open = open(p.PartStarted.GetPart())
	case *genwayv1.StreamGenerateTextResponse_PartDelta:
		f.candidate(p.PartDelta.Candidate).open.add(p.PartDelta)
	case *genwayv1.StreamGenerateTextResponse_PartCompleted:
		c := f.candidate(p.PartCompleted.Candidate)
		c.Parts = append(c.Parts, c.open.close())
		c.open = nil
	case *genwayv1.StreamGenerateTextResponse_Completed:
		f.complete(p.Completed)
	}
	return nil
}

// Start begins the answer, as the event of it does. Nothing must have been added before.
func (f *Accumulator) Start(s *genwayv1.TextStarted) {
	f.sequence.started = true
	f.resp.Id, f.resp.Model, f.resp.CreateTime = s.Id, s.Model, s.CreateTime
	f.resp.Usage, f.resp.ServiceTier, f.resp.SystemFingerprint = s.Usage, s.ServiceTier, s.SystemFingerprint
	f.resp.Losses, f.resp.NativeFields, f.resp.Stored = s.Losses, s.NativeFields, s.Stored
}

// Complete reports whether the completed event has been seen.
func (f *Accumulator) Complete() bool { return f.sequence.completed }

// Response is the answer so far; whole once Complete.
func (f *Accumulator) Response() *genwayv1.GenerateTextResponse {
	f.resp.Candidates = f.resp.Candidates[:0]
	for _, i := range f.order {
		f.resp.Candidates = append(f.resp.Candidates, f.candidates[i].Candidate)
	}
	return &f.resp
}

func (f *Accumulator) candidate(index int32) *accumulatedCandidate {
	if c, ok := f.candidates[index]; ok {
		return c
	}
	if f.candidates == nil {
		f.candidates = map[int32]*accumulatedCandidate{}
	}
	c := &accumulatedCandidate{Candidate: &genwayv1.Candidate{Index: index}}
	f.candidates[index] = c
	at := len(f.order)
	for at > 0 && f.order[at-1] > index {
		at--
	}
	f.order = append(f.order[:at], append([]int32{index}, f.order[at:]...)...)
	return c
}

func (f *Accumulator) complete(end *genwayv1.TextCompleted) {
	for _, e := range end.Candidates {
		c := f.candidate(e.Index)
		c.StopReason, c.NativeStopReason = e.StopReason, e.NativeStopReason
		c.StopSequence, c.StopMessage = e.StopSequence, e.StopMessage
		c.NativeFields = append(c.NativeFields, e.NativeFields...)
	}
	if end.Usage != nil {
		f.resp.Usage = end.Usage
	}
	if end.ServiceTier != "" {
		f.resp.ServiceTier = end.ServiceTier
	}
	f.resp.PromptFeedback, f.resp.CompleteTime, f.resp.Cost = end.PromptFeedback, end.CompleteTime, end.Cost
	f.resp.Losses = append(f.resp.Losses, end.Losses...)
	f.resp.NativeFields = append(f.resp.NativeFields, end.NativeFields...)
}

// openPart gathers the pieces of the part that is being streamed.
type openPart struct {
	part  *genwayv1.Part
	text  strings.Builder
	input strings.Builder
	data  []byte
	// summaries of a thinking part, by index
	summaries []*strings.Builder
	script    strings.Builder
}

func open(part *genwayv1.Part) *openPart {
	o := &openPart{part: part}
	if o.part == nil {
		o.part = &genwayv1.Part{}
	}
	switch k := o.part.Kind.(type) {
	case *genwayv1.Part_Text:
		o.text.WriteString(k.Text.GetText())
	case *genwayv1.Part_Refusal:
		o.text.WriteString(k.Refusal.GetText())
	case *genwayv1.Part_Thinking:
		o.text.WriteString(k.Thinking.GetText())
		for _, s := range k.Thinking.GetSummary() {
			b := &strings.Builder{}
			b.WriteString(s)
			o.summaries = append(o.summaries, b)
		}
	case *genwayv1.Part_ToolCall:
		o.text.WriteString(k.ToolCall.GetArgumentsJson())
		o.input.WriteString(k.ToolCall.GetInput())
	}
	if m := MediaOf(o.part); m != nil {
		o.data = append(o.data, m.GetData()...)
		o.script.WriteString(m.GetTranscript())
	}
	return o
}

// AutoDetail is what an image's detail is without one (ImageURLDetail and ResponseInputImageParam of openai-go).
const AutoDetail = "auto"

// Detail returns how closely media is to be looked at; empty for the default.
func Detail(m *genwayv1.Media) string {
	if m.GetDetail() == AutoDetail {
		return ""
	}
	return m.GetDetail()
}

// MediaOf returns the image, audio, file or video of a part; nil for any other part.
func MediaOf(p *genwayv1.Part) *genwayv1.Media {
	for _, m := range []*genwayv1.Media{p.GetImage(), p.GetAudio(), p.GetFile(), p.GetVideo()} {
		if m != nil {
			return m
		}
	}
	return nil
}

// add adds a delta, which fits the part (Sequence).
func (o *openPart) add(d *genwayv1.PartDelta) {
	p := o.part
	switch v := d.GetDelta().(type) {
	case *genwayv1.PartDelta_Text:
		o.text.WriteString(v.Text)
		p.GetText().Logprobs = append(p.GetText().Logprobs, d.Logprobs...)
	case *genwayv1.PartDelta_Refusal:
		o.text.WriteString(v.Refusal)
		p.GetRefusal().Logprobs = append(p.GetRefusal().Logprobs, d.Logprobs...)
	case *genwayv1.PartDelta_ArgumentsJson:
		o.text.WriteString(v.ArgumentsJson)
	case *genwayv1.PartDelta_Input:
		if !IsCustom(p.GetToolCall()) {
			p.GetToolCall().Arguments = &genwayv1.ToolCall_Input{}
		}
		o.input.WriteString(v.Input)
	case *genwayv1.PartDelta_Citation:
		p.GetText().Citations = append(p.GetText().Citations, v.Citation)
	case *genwayv1.PartDelta_Data, *genwayv1.PartDelta_Transcript:
		o.data = append(o.data, d.GetData()...)
		o.script.WriteString(d.GetTranscript())
	case *genwayv1.PartDelta_Thinking:
		o.text.WriteString(v.Thinking)
	case *genwayv1.PartDelta_Summary:
		if int(v.Summary.GetIndex()) == len(o.summaries) {
			o.summaries = append(o.summaries, &strings.Builder{})
		}
		o.summaries[v.Summary.GetIndex()].WriteString(v.Summary.GetText())
	case *genwayv1.PartDelta_Signature:
		p.GetThinking().Signature = v.Signature
	case *genwayv1.PartDelta_EncryptedContent:
		p.GetThinking().EncryptedContent = v.EncryptedContent
	case *genwayv1.PartDelta_ThoughtSignature:
		p.ThoughtSignature = v.ThoughtSignature
	case *genwayv1.PartDelta_Native:
		p.NativeFields = append(p.NativeFields, v.Native)
	case nil:
		if p.GetText() != nil {
			p.GetText().Logprobs = append(p.GetText().Logprobs, d.Logprobs...)
		}
	}
}

func (o *openPart) close() *genwayv1.Part {
	switch k := o.part.Kind.(type) {
	case *genwayv1.Part_Text:
		k.Text.Text = o.text.String()
	case *genwayv1.Part_Refusal:
		k.Refusal.Text = o.text.String()
	case *genwayv1.Part_Thinking:
		k.Thinking.Text = o.text.String()
		k.Thinking.Summary = nil
		for _, s := range o.summaries {
			k.Thinking.Summary = append(k.Thinking.Summary, s.String())
		}
	case *genwayv1.Part_ToolCall:
		if IsCustom(k.ToolCall) {
			k.ToolCall.Arguments = &genwayv1.ToolCall_Input{Input: o.input.String()}
		} else {
			SetArguments(k.ToolCall, o.text.String())
		}
	}
	if m := MediaOf(o.part); m != nil {
		if len(o.data) > 0 {
			m.Source = &genwayv1.Media_Data{Data: o.data}
		}
		m.Transcript = o.script.String()
	}
	return o.part
}

// Splitter cuts a text into the pieces it streams in; their concatenation is the
// text. A nil Splitter streams each text whole.
type Splitter func(text string) []string

// Events returns a stream of events that amounts to the answer: the inverse of
// Accumulator. The answer is not changed, but its parts are shared with the events.
func Events(resp *genwayv1.GenerateTextResponse, split Splitter) []*genwayv1.StreamGenerateTextResponse {
	if split == nil {
		split = func(text string) []string { return []string{text} }
	}
	events := []*genwayv1.StreamGenerateTextResponse{Event(&genwayv1.TextStarted{
		Id: resp.Id, Model: resp.Model, CreateTime: resp.CreateTime,
		ServiceTier: resp.ServiceTier, SystemFingerprint: resp.SystemFingerprint,
		Usage:  startUsage(resp.Usage),
		Losses: resp.Losses, NativeFields: resp.NativeFields, Stored: resp.Stored,
	})}
	completed := &genwayv1.TextCompleted{Usage: resp.Usage, PromptFeedback: resp.PromptFeedback, CompleteTime: resp.CompleteTime, Cost: resp.Cost}
	for _, c := range resp.Candidates {
		u := partEvents{NewEmitter(c.Index, &events), split}
		for _, part := range c.Parts {
			u.part(part)
		}
		completed.Candidates = append(completed.Candidates, &genwayv1.CandidateEnd{
			Index: c.Index, StopReason: c.StopReason, NativeStopReason: c.NativeStopReason,
			StopSequence: c.StopSequence, StopMessage: c.StopMessage, NativeFields: c.NativeFields,
		})
	}
	return append(events, Event(completed))
}

// startUsage is what is known before the first token.
func startUsage(u *genwayv1.Usage) *genwayv1.Usage {
	if u == nil {
		return nil
	}
	start := proto.CloneOf(u)
	start.OutputTokens, start.TotalTokens = 0, 0
	start.ThinkingTokens, start.OutputTextTokens, start.OutputImageTokens, start.OutputAudioTokens = nil, nil, nil, nil
	return start
}

// partEvents emits the parts of one candidate.
type partEvents struct {
	Emitter
	split Splitter
}

// part emits one part: what streams as deltas, all else with the opening.
func (u *partEvents) part(p *genwayv1.Part) {
	opening := &genwayv1.Part{Id: p.Id, Kind: p.Kind, CacheControl: p.CacheControl, NativeFields: p.NativeFields}
	switch k := p.Kind.(type) {
	case *genwayv1.Part_Text:
		opening.Kind = &genwayv1.Part_Text{Text: &genwayv1.Text{}}
		u.Open(opening)
		u.text(k.Text)
	case *genwayv1.Part_Refusal:
		opening.Kind = &genwayv1.Part_Refusal{Refusal: &genwayv1.Refusal{}}
		u.Open(opening)
		for i, piece := range u.split(k.Refusal.Text) {
			d := RefusalDelta(piece)
			if i == 0 {
				d.Logprobs = k.Refusal.Logprobs
			}
			u.Add(d)
		}
	case *genwayv1.Part_Thinking:
		opening.Kind = &genwayv1.Part_Thinking{Thinking: &genwayv1.Thinking{}}
		u.Open(opening)
		u.thinking(k.Thinking)
	case *genwayv1.Part_ToolCall:
		call := &genwayv1.ToolCall{Id: k.ToolCall.Id, Name: k.ToolCall.Name}
		if IsCustom(k.ToolCall) {
			call.Arguments = &genwayv1.ToolCall_Input{}
		}
		opening.Kind = &genwayv1.Part_ToolCall{ToolCall: call}
		opening.ThoughtSignature = p.ThoughtSignature
		u.Open(opening)
		if IsCustom(k.ToolCall) {
			u.pieces(k.ToolCall.GetInput(), InputDelta)
		}
		if k.ToolCall.GetArgumentsJson() != "" {
			u.pieces(k.ToolCall.GetArgumentsJson(), ArgumentsDelta)
		}
	default:
		opening = proto.CloneOf(p)
		opening.ThoughtSignature = nil
		u.Open(opening)
	}
	if p.ThoughtSignature != nil && opening.ThoughtSignature == nil {
		u.Add(ThoughtSignatureDelta(p.ThoughtSignature))
	}
	u.Complete()
}

func (u *partEvents) pieces(text string, delta func(string) *genwayv1.PartDelta) {
	for _, piece := range u.split(text) {
		u.Add(delta(piece))
	}
}

// text streams pieces, each with the log probabilities of its own tokens where
// those line up with the pieces, else all with the first.
func (u *partEvents) text(t *genwayv1.Text) {
	pieces := u.split(t.Text)
	if t.Text == "" {
		pieces = nil
	}
	aligned := len(pieces) == len(t.Logprobs)
	for i, piece := range pieces {
		d := TextDelta(piece)
		switch {
		case aligned && len(t.Logprobs) > 0:
			d.Logprobs = t.Logprobs[i : i+1]
		case i == 0:
			d.Logprobs = t.Logprobs
		}
		u.Add(d)
	}
	for _, c := range t.Citations {
		u.Add(CitationDelta(c))
	}
}

func (u *partEvents) thinking(t *genwayv1.Thinking) {
	for i, summary := range t.Summary {
		pieces := u.split(summary)
		if summary == "" {
			pieces = []string{""} // an empty summary is one, too
		}
		for _, piece := range pieces {
			u.Add(SummaryDelta(i, piece))
		}
	}
	if t.Text != "" {
		u.pieces(t.Text, ThinkingDelta)
	}
	if t.Signature != nil {
		u.Add(SignatureDelta(t.Signature))
	}
	if t.EncryptedContent != nil {
		u.Add(EncryptedDelta(t.EncryptedContent))
	}
}

// TextPart returns a part that is a text. Most parts are, so that all of one is a single
// piece of memory.
func TextPart(text string) *genwayv1.Part {
	p := new(struct {
		part genwayv1.Part
		kind genwayv1.Part_Text
		text genwayv1.Text
	})
	p.text.Text = text
	p.kind.Text = &p.text
	p.part.Kind = &p.kind
	return &p.part
}

// CallPart is TextPart for a call of a tool.
func CallPart(name, arguments string) *genwayv1.Part {
	p := new(struct {
		part      genwayv1.Part
		kind      genwayv1.Part_ToolCall
		call      genwayv1.ToolCall
		arguments genwayv1.ToolCall_ArgumentsJson
	})
	p.call.Name = name
	if p.arguments.ArgumentsJson = arguments; arguments != "" {
		p.call.Arguments = &p.arguments
	}
	p.kind.ToolCall = &p.call
	p.part.Kind = &p.kind
	return &p.part
}

// IsEmptyPart reports whether a part has nothing but its kind, aside from native fields.
func IsEmptyPart(part *genwayv1.Part) bool {
	if part.GetThoughtSignature() != nil {
		return false
	}
	switch k := part.GetKind().(type) {
	case nil:
		return true
	case *genwayv1.Part_Text:
		return k.Text.GetText() == ""
	case *genwayv1.Part_Refusal:
		return k.Refusal.GetText() == ""
	case *genwayv1.Part_Thinking:
		t := k.Thinking
		return t.GetText() == "" && len(t.GetSummary()) == 0 && t.GetSignature() == nil && t.GetEncryptedContent() == nil
	}
	return false
}
