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
