package codec

import (
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"google.golang.org/protobuf/proto"
)

// Splitter cuts a text into the pieces it streams in; their concatenation is the
// text. A nil Splitter streams each text whole.
type Splitter func(text string) []string

// Unfold gives a stream of events that amounts to the answer: the inverse of
// Folder. The answer is not changed, but its parts are shared with the events.
func Unfold(resp *genwayv1.GenerateTextResponse, split Splitter) []*genwayv1.StreamGenerateTextResponse {
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
		for i, part := range c.Parts {
			u := unfolding{candidate: c.Index, index: int32(i), split: split}
			events = append(events, u.part(part)...)
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

// TextDelta is a delta of text alone, made at once.
func TextDelta(text string) *genwayv1.PartDelta {
	d := &struct {
		delta genwayv1.PartDelta
		text  genwayv1.PartDelta_Text
	}{}
	d.text.Text = text
	d.delta.Delta = &d.text
	return &d.delta
}

type unfolding struct {
	candidate, index int32
	split            Splitter
}

func (u unfolding) delta(d *genwayv1.PartDelta) *genwayv1.StreamGenerateTextResponse {
	d.Candidate, d.Index = u.candidate, u.index
	return Event(d)
}

// part gives the events of one part. What streams leaves the opening part; all
// else of it is there from the start.
func (u unfolding) part(p *genwayv1.Part) []*genwayv1.StreamGenerateTextResponse {
	opening := &genwayv1.Part{Id: p.Id, Kind: p.Kind, CacheControl: p.CacheControl, NativeFields: p.NativeFields}
	var deltas []*genwayv1.StreamGenerateTextResponse
	switch k := p.Kind.(type) {
	case *genwayv1.Part_Text:
		opening.Kind = &genwayv1.Part_Text{Text: &genwayv1.Text{}}
		deltas = u.text(k.Text)
	case *genwayv1.Part_Refusal:
		opening.Kind = &genwayv1.Part_Refusal{Refusal: &genwayv1.Refusal{}}
		for i, piece := range u.split(k.Refusal.Text) {
			d := &genwayv1.PartDelta{Delta: &genwayv1.PartDelta_Refusal{Refusal: piece}}
			if i == 0 {
				d.Logprobs = k.Refusal.Logprobs
			}
			deltas = append(deltas, u.delta(d))
		}
	case *genwayv1.Part_Thinking:
		opening.Kind = &genwayv1.Part_Thinking{Thinking: &genwayv1.Thinking{}}
		deltas = u.thinking(k.Thinking)
	case *genwayv1.Part_ToolCall:
		call := &genwayv1.ToolCall{Id: k.ToolCall.Id, Name: k.ToolCall.Name}
		if k.ToolCall.Input != nil {
			call.Input = new(string)
			for _, piece := range u.split(k.ToolCall.GetInput()) {
				deltas = append(deltas, u.delta(&genwayv1.PartDelta{Delta: &genwayv1.PartDelta_Input{Input: piece}}))
			}
		}
		if k.ToolCall.ArgumentsJson != "" {
			for _, piece := range u.split(k.ToolCall.ArgumentsJson) {
				deltas = append(deltas, u.delta(&genwayv1.PartDelta{Delta: &genwayv1.PartDelta_ArgumentsJson{ArgumentsJson: piece}}))
			}
		}
		opening.Kind = &genwayv1.Part_ToolCall{ToolCall: call}
		opening.ThoughtSignature = p.ThoughtSignature
	default:
		opening = proto.CloneOf(p)
		opening.ThoughtSignature = nil
	}
	events := append([]*genwayv1.StreamGenerateTextResponse{
		Event(&genwayv1.PartStarted{Candidate: u.candidate, Index: u.index, Part: opening}),
	}, deltas...)
	if p.ThoughtSignature != nil && opening.ThoughtSignature == nil {
		events = append(events, u.delta(&genwayv1.PartDelta{Delta: &genwayv1.PartDelta_ThoughtSignature{ThoughtSignature: p.ThoughtSignature}}))
	}
	return append(events, Event(&genwayv1.PartCompleted{Candidate: u.candidate, Index: u.index}))
}

// text streams pieces, each with the log probabilities of its own tokens where
// those line up with the pieces, else all with the first.
func (u unfolding) text(t *genwayv1.Text) []*genwayv1.StreamGenerateTextResponse {
	var events []*genwayv1.StreamGenerateTextResponse
	pieces := u.split(t.Text)
	if t.Text == "" {
		pieces = nil
	}
	aligned := len(pieces) == len(t.Logprobs)
	for i, piece := range pieces {
		d := &genwayv1.PartDelta{Delta: &genwayv1.PartDelta_Text{Text: piece}}
		switch {
		case aligned && len(t.Logprobs) > 0:
			d.Logprobs = t.Logprobs[i : i+1]
		case i == 0:
			d.Logprobs = t.Logprobs
		}
		events = append(events, u.delta(d))
	}
	for _, c := range t.Citations {
		events = append(events, u.delta(&genwayv1.PartDelta{Delta: &genwayv1.PartDelta_Citation{Citation: c}}))
	}
	return events
}

func (u unfolding) thinking(t *genwayv1.Thinking) []*genwayv1.StreamGenerateTextResponse {
	var events []*genwayv1.StreamGenerateTextResponse
	for i, summary := range t.Summary {
		pieces := u.split(summary)
		if summary == "" {
			pieces = []string{""} // an empty summary is one, too
		}
		for _, piece := range pieces {
			events = append(events, u.delta(&genwayv1.PartDelta{Delta: &genwayv1.PartDelta_Summary{
				Summary: &genwayv1.SummaryDelta{Index: int32(i), Text: piece}}}))
		}
	}
	if t.Text != "" {
		for _, piece := range u.split(t.Text) {
			events = append(events, u.delta(&genwayv1.PartDelta{Delta: &genwayv1.PartDelta_Thinking{Thinking: piece}}))
		}
	}
	if t.Signature != nil {
		events = append(events, u.delta(&genwayv1.PartDelta{Delta: &genwayv1.PartDelta_Signature{Signature: t.Signature}}))
	}
	if t.EncryptedContent != nil {
		events = append(events, u.delta(&genwayv1.PartDelta{Delta: &genwayv1.PartDelta_EncryptedContent{EncryptedContent: t.EncryptedContent}}))
	}
	return events
}
