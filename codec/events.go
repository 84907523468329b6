package codec

import (
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"google.golang.org/protobuf/proto"
)

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
		Losses: resp.Losses, NativeFields: resp.NativeFields,
	})}
	completed := &genwayv1.TextCompleted{Usage: resp.Usage, PromptFeedback: resp.PromptFeedback}
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

// Event wraps a payload of a stream.
func Event(payload proto.Message) *genwayv1.StreamGenerateTextResponse {
	switch p := payload.(type) {
	case *genwayv1.TextStarted:
		return &genwayv1.StreamGenerateTextResponse{Payload: &genwayv1.StreamGenerateTextResponse_Started{Started: p}}
	case *genwayv1.PartStarted:
		return &genwayv1.StreamGenerateTextResponse{Payload: &genwayv1.StreamGenerateTextResponse_PartStarted{PartStarted: p}}
	case *genwayv1.PartDelta:
		// Most events are deltas: they are made at once.
		ev := &struct {
			event   genwayv1.StreamGenerateTextResponse
			payload genwayv1.StreamGenerateTextResponse_PartDelta
		}{}
		ev.payload.PartDelta = p
		ev.event.Payload = &ev.payload
		return &ev.event
	case *genwayv1.PartCompleted:
		return &genwayv1.StreamGenerateTextResponse{Payload: &genwayv1.StreamGenerateTextResponse_PartCompleted{PartCompleted: p}}
	case *genwayv1.TextCompleted:
		return &genwayv1.StreamGenerateTextResponse{Payload: &genwayv1.StreamGenerateTextResponse_Completed{Completed: p}}
	case *genwayv1.WireFrame:
		ev := &struct {
			event   genwayv1.StreamGenerateTextResponse
			payload genwayv1.StreamGenerateTextResponse_Wire
		}{}
		ev.payload.Wire = p
		ev.event.Payload = &ev.payload
		return &ev.event
	default:
		return &genwayv1.StreamGenerateTextResponse{Payload: &genwayv1.StreamGenerateTextResponse_Ping{Ping: &genwayv1.Ping{}}}
	}
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
		if k.ToolCall.Input != nil {
			call.Input = new(string)
		}
		opening.Kind = &genwayv1.Part_ToolCall{ToolCall: call}
		opening.ThoughtSignature = p.ThoughtSignature
		u.Open(opening)
		if k.ToolCall.Input != nil {
			u.pieces(k.ToolCall.GetInput(), InputDelta)
		}
		if k.ToolCall.ArgumentsJson != "" {
			u.pieces(k.ToolCall.ArgumentsJson, ArgumentsDelta)
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

// TextDelta is a delta of text, made in one allocation: most events of a stream are such.
func TextDelta(text string) *genwayv1.PartDelta {
	d := &struct {
		delta genwayv1.PartDelta
		text  genwayv1.PartDelta_Text
	}{}
	d.text.Text = text
	d.delta.Delta = &d.text
	return &d.delta
}

// RefusalDelta adds to a refusal.
func RefusalDelta(text string) *genwayv1.PartDelta {
	return &genwayv1.PartDelta{Delta: &genwayv1.PartDelta_Refusal{Refusal: text}}
}

// ThinkingDelta adds to the text of thinking.
func ThinkingDelta(text string) *genwayv1.PartDelta {
	return &genwayv1.PartDelta{Delta: &genwayv1.PartDelta_Thinking{Thinking: text}}
}

// SummaryDelta adds to one of the summaries of thinking.
func SummaryDelta(index int, text string) *genwayv1.PartDelta {
	return &genwayv1.PartDelta{Delta: &genwayv1.PartDelta_Summary{Summary: &genwayv1.SummaryDelta{Index: int32(index), Text: text}}}
}

// ArgumentsDelta adds to the JSON text of a call's arguments.
func ArgumentsDelta(text string) *genwayv1.PartDelta {
	return &genwayv1.PartDelta{Delta: &genwayv1.PartDelta_ArgumentsJson{ArgumentsJson: text}}
}

// InputDelta adds to the input of a custom tool's call.
func InputDelta(text string) *genwayv1.PartDelta {
	return &genwayv1.PartDelta{Delta: &genwayv1.PartDelta_Input{Input: text}}
}

// CitationDelta adds a citation to a text.
func CitationDelta(c *genwayv1.Citation) *genwayv1.PartDelta {
	return &genwayv1.PartDelta{Delta: &genwayv1.PartDelta_Citation{Citation: c}}
}

// SignatureDelta sets the signature of thinking.
func SignatureDelta(s *genwayv1.Seal) *genwayv1.PartDelta {
	return &genwayv1.PartDelta{Delta: &genwayv1.PartDelta_Signature{Signature: s}}
}

// EncryptedDelta sets the encrypted content of thinking.
func EncryptedDelta(s *genwayv1.Seal) *genwayv1.PartDelta {
	return &genwayv1.PartDelta{Delta: &genwayv1.PartDelta_EncryptedContent{EncryptedContent: s}}
}

// ThoughtSignatureDelta sets the thought signature of a part.
func ThoughtSignatureDelta(s *genwayv1.Seal) *genwayv1.PartDelta {
	return &genwayv1.PartDelta{Delta: &genwayv1.PartDelta_ThoughtSignature{ThoughtSignature: s}}
}

// NativeDelta adds a member without a field of the contract to a part.
func NativeDelta(f *genwayv1.NativeField) *genwayv1.PartDelta {
	return &genwayv1.PartDelta{Delta: &genwayv1.PartDelta_Native{Native: f}}
}

// Emitter appends the events of one candidate's parts to a list, in the contract's order: parts
// count up from 0, and each is completed before the next is opened. All candidates of a stream
// append to one list.
type Emitter struct {
	candidate int32
	next      int32 // the index of the open part, or of the next one
	open      bool
	to        *[]*genwayv1.StreamGenerateTextResponse
}

// NewEmitter returns an emitter that appends to a list.
func NewEmitter(candidate int32, to *[]*genwayv1.StreamGenerateTextResponse) Emitter {
	return Emitter{candidate: candidate, to: to}
}

// IsOpen reports whether a part is open.
func (e *Emitter) IsOpen() bool { return e.open }

// Open completes the open part, if there is one, and opens the next.
func (e *Emitter) Open(p *genwayv1.Part) {
	e.Complete()
	e.open = true
	*e.to = append(*e.to, Event(&genwayv1.PartStarted{Candidate: e.candidate, Index: e.next, Part: p}))
}

// Add adds to the open part, which there must be.
func (e *Emitter) Add(d *genwayv1.PartDelta) {
	d.Candidate, d.Index = e.candidate, e.next
	*e.to = append(*e.to, Event(d))
}

// Complete completes the open part, if there is one.
func (e *Emitter) Complete() {
	if !e.open {
		return
	}
	e.open = false
	*e.to = append(*e.to, Event(&genwayv1.PartCompleted{Candidate: e.candidate, Index: e.next}))
	e.next++
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
		part genwayv1.Part
		kind genwayv1.Part_ToolCall
		call genwayv1.ToolCall
	})
	p.call.Name, p.call.ArgumentsJson = name, arguments
	p.kind.ToolCall = &p.call
	p.part.Kind = &p.kind
	return &p.part
}

// Chosen is the candidate that a stream of a protocol with one answer shows: the first to begin, as
// the first of a unary answer, whatever its index is. Its zero value has not chosen yet.
type Chosen struct {
	index int32
	known bool
}

// Is reports whether the candidate is the one. The first that is asked for is.
func (c *Chosen) Is(index int32) bool {
	if !c.known {
		c.index, c.known = index, true
	}
	return c.index == index
}

// DeltaText returns the text of an answer in a delta of a stream: what is shown, thought or written as the arguments of
// a tool call. Upstreams report usage at the end; of a stream that ends before it, this is what the usage is estimated by.
func DeltaText(delta *genwayv1.PartDelta) string {
	switch d := delta.GetDelta().(type) {
	case *genwayv1.PartDelta_Text:
		return d.Text
	case *genwayv1.PartDelta_Thinking:
		return d.Thinking
	case *genwayv1.PartDelta_Summary:
		return d.Summary.GetText()
	case *genwayv1.PartDelta_ArgumentsJson:
		return d.ArgumentsJson
	case *genwayv1.PartDelta_Input:
		return d.Input
	case *genwayv1.PartDelta_Refusal:
		return d.Refusal
	case *genwayv1.PartDelta_Transcript:
		return d.Transcript
	}
	return ""
}
