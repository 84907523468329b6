package codec_test

import (
	"testing"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/fault"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"google.golang.org/protobuf/proto"
)

// events of a stream, for tests of their order.
var (
	started   = &genwayv1.TextStarted{Id: "a"}
	completed = &genwayv1.TextCompleted{Candidates: []*genwayv1.CandidateEnd{{}}}
	passing   = &genwayv1.WireFrame{Protocol: genwayv1.Protocol_PROTOCOL_MESSAGES, Data: []byte("{}")}
)

func starts(candidate, index int32, part *genwayv1.Part) *genwayv1.PartStarted {
	return &genwayv1.PartStarted{Candidate: candidate, Index: index, Part: part}
}

func adds(candidate, index int32) *genwayv1.PartDelta {
	d := codec.TextDelta("x")
	d.Candidate, d.Index = candidate, index
	return d
}

func closes(candidate, index int32) *genwayv1.PartCompleted {
	return &genwayv1.PartCompleted{Candidate: candidate, Index: index}
}

func textPart() *genwayv1.Part {
	return &genwayv1.Part{Kind: &genwayv1.Part_Text{Text: &genwayv1.Text{}}}
}

func thinkingPart() *genwayv1.Part {
	return &genwayv1.Part{Kind: &genwayv1.Part_Thinking{Thinking: &genwayv1.Thinking{}}}
}

func check(events []proto.Message) error {
	s := codec.Sequence{Protocol: genwayv1.Protocol_PROTOCOL_MESSAGES}
	for _, ev := range events {
		if err := s.Check(codec.Event(ev)); err != nil {
			return err
		}
	}
	return nil
}

func TestSequenceTakesStreamsInOrder(t *testing.T) {
	ping := &genwayv1.Ping{}
	for name, events := range map[string][]proto.Message{
		"one part":                {started, starts(0, 0, textPart()), adds(0, 0), closes(0, 0), completed},
		"pings anywhere":          {ping, started, ping, starts(0, 0, textPart()), ping, closes(0, 0), completed, ping},
		"no part":                 {started, completed},
		"a blocked prompt":        {started, &genwayv1.TextCompleted{PromptFeedback: &genwayv1.PromptFeedback{}}},
		"candidates in turns":     {started, starts(1, 0, textPart()), starts(0, 0, textPart()), adds(1, 0), adds(0, 0), closes(0, 0), closes(1, 0), &genwayv1.TextCompleted{Candidates: []*genwayv1.CandidateEnd{{Index: 1}, {}}}},
		"a part of no known kind": {started, starts(0, 0, &genwayv1.Part{}), closes(0, 0), starts(0, 1, nil), closes(0, 1), completed},
		"summaries":               {started, starts(0, 0, thinkingPart()), codec.SummaryDelta(0, "a"), codec.SummaryDelta(0, "b"), codec.SummaryDelta(1, "c"), closes(0, 0), completed},
		"passing through":         {passing, passing, &genwayv1.TextCompleted{}, passing},
		"started, then passing":   {started, passing, &genwayv1.TextCompleted{}},
	} {
		t.Run(name, func(t *testing.T) {
			if err := check(events); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestSequenceRefusesDisorder(t *testing.T) {
	for name, events := range map[string][]proto.Message{
		"the end alone":                {completed},
		"a part ahead of the start":    {starts(0, 0, textPart())},
		"two starts":                   {started, started},
		"a delta without a part":       {started, adds(0, 0)},
		"an end without a part":        {started, closes(0, 0)},
		"an end twice":                 {started, starts(0, 0, textPart()), closes(0, 0), closes(0, 0)},
		"a part within a part":         {started, starts(0, 0, textPart()), starts(0, 1, textPart())},
		"an index skipped":             {started, starts(0, 1, textPart())},
		"an index again":               {started, starts(0, 0, textPart()), closes(0, 0), starts(0, 0, textPart())},
		"a delta of another part":      {started, starts(0, 0, textPart()), adds(0, 1)},
		"a delta of a candidate":       {started, starts(0, 0, textPart()), adds(1, 0)},
		"arguments in a text":          {started, starts(0, 0, textPart()), codec.ArgumentsDelta("{}")},
		"thinking in a text":           {started, starts(0, 0, textPart()), codec.ThinkingDelta("x")},
		"text in no kind":              {started, starts(0, 0, nil), adds(0, 0)},
		"a summary skipped":            {started, starts(0, 0, thinkingPart()), codec.SummaryDelta(1, "x")},
		"a negative summary":           {started, starts(0, 0, thinkingPart()), codec.SummaryDelta(-1, "x")},
		"a negative candidate":         {started, starts(-1, 0, textPart())},
		"the end within a part":        {started, starts(0, 0, textPart()), completed},
		"a candidate without end":      {started, starts(1, 0, textPart()), closes(1, 0), completed},
		"a candidate ends twice":       {started, &genwayv1.TextCompleted{Candidates: []*genwayv1.CandidateEnd{{Index: 2}, {Index: 2}}}},
		"an end below zero":            {started, &genwayv1.TextCompleted{Candidates: []*genwayv1.CandidateEnd{{Index: -1}}}},
		"no content and no reason":     {started, &genwayv1.TextCompleted{}},
		"two ends":                     {started, completed, completed},
		"more behind the end":          {started, completed, starts(0, 0, textPart())},
		"a part among passing ones":    {passing, starts(0, 0, textPart())},
		"an event of another protocol": {started, &genwayv1.WireFrame{Protocol: genwayv1.Protocol_PROTOCOL_RESPONSES}},
		"two ends, passing through":    {passing, completed, completed},
	} {
		t.Run(name, func(t *testing.T) {
			if f := fault.From(check(events)); f == nil || f.Kind != fault.BadUpstream || f.Reason != fault.ReasonMalformedAnswer {
				t.Errorf("got %v", f)
			}
		})
	}
}

func TestCheckAnswer(t *testing.T) {
	part := []*genwayv1.Part{textPart()}
	for name, c := range map[string]struct {
		resp *genwayv1.GenerateTextResponse
		ok   bool
	}{
		"a candidate":        {&genwayv1.GenerateTextResponse{Candidates: []*genwayv1.Candidate{{Parts: part}}}, true},
		"no content":         {&genwayv1.GenerateTextResponse{Candidates: []*genwayv1.Candidate{{}}}, true},
		"two in any order":   {&genwayv1.GenerateTextResponse{Candidates: []*genwayv1.Candidate{{Index: 4}, {Index: 2}}}, true},
		"a blocked prompt":   {&genwayv1.GenerateTextResponse{PromptFeedback: &genwayv1.PromptFeedback{}}, true},
		"an upstream's body": {&genwayv1.GenerateTextResponse{Wire: &genwayv1.WireMessage{Protocol: genwayv1.Protocol_PROTOCOL_MESSAGES}}, true},
		"another's body":     {&genwayv1.GenerateTextResponse{Wire: &genwayv1.WireMessage{Protocol: genwayv1.Protocol_PROTOCOL_RESPONSES}}, false},
		"none":               {&genwayv1.GenerateTextResponse{Id: "a"}, false},
		"a negative index":   {&genwayv1.GenerateTextResponse{Candidates: []*genwayv1.Candidate{{Index: -1}}}, false},
		"the same index":     {&genwayv1.GenerateTextResponse{Candidates: []*genwayv1.Candidate{{Index: 1}, {Index: 1}}}, false},
		"no answer whatever": {nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			if err := codec.CheckAnswer(c.resp, genwayv1.Protocol_PROTOCOL_MESSAGES); (err == nil) != c.ok {
				t.Errorf("got %v", err)
			}
		})
	}
}

// BenchmarkSequence is what a delta costs.
func BenchmarkSequence(b *testing.B) {
	var s codec.Sequence
	for _, ev := range []proto.Message{started, starts(0, 0, textPart())} {
		if err := s.Check(codec.Event(ev)); err != nil {
			b.Fatal(err)
		}
	}
	delta := codec.Event(adds(0, 0))
	b.ReportAllocs()
	for b.Loop() {
		if err := s.Check(delta); err != nil {
			b.Fatal(err)
		}
	}
}
