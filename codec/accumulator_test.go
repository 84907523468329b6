package codec_test

import (
	"testing"

	"github.com/genway/genway/codec"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"
	"pgregory.net/rapid"
)

func text(t *rapid.T, label string) string {
	return rapid.StringOfN(rapid.RuneFrom([]rune("ab é🙂\n")), 0, 12, -1).Draw(t, label)
}

func seal(t *rapid.T, label string) *genwayv1.Seal {
	if !rapid.Bool().Draw(t, label) {
		return nil
	}
	return &genwayv1.Seal{Protocol: genwayv1.Protocol_PROTOCOL_MESSAGES, Value: []byte(text(t, label+" value"))}
}

func part(t *rapid.T) *genwayv1.Part {
	p := &genwayv1.Part{Id: text(t, "id"), ThoughtSignature: seal(t, "thought signature")}
	switch rapid.IntRange(0, 6).Draw(t, "kind") {
	case 0:
		k := &genwayv1.Text{Text: text(t, "text")}
		if rapid.Bool().Draw(t, "cited") {
			k.Citations = []*genwayv1.Citation{{Title: "a"}, {Url: "b"}}
		}
		if k.Text != "" && rapid.Bool().Draw(t, "logprobs") {
			k.Logprobs = []*genwayv1.TokenLogprob{{Token: "x", Logprob: -1}, {Token: "y", Logprob: -2}}
		}
		p.Kind = &genwayv1.Part_Text{Text: k}
	case 1:
		k := &genwayv1.Thinking{Text: text(t, "thought"), Signature: seal(t, "signature"), EncryptedContent: seal(t, "encrypted")}
		for range rapid.IntRange(0, 2).Draw(t, "summaries") {
			k.Summary = append(k.Summary, text(t, "summary"))
		}
		p.Kind = &genwayv1.Part_Thinking{Thinking: k}
	case 2:
		call := &genwayv1.ToolCall{Id: text(t, "call"), Name: "f"}
		codec.SetArguments(call, text(t, "arguments"))
		p.Kind = &genwayv1.Part_ToolCall{ToolCall: call}
	case 3:
		p.Kind = &genwayv1.Part_ToolCall{ToolCall: &genwayv1.ToolCall{Name: "g", Arguments: &genwayv1.ToolCall_Input{Input: text(t, "input")}}}
	case 4:
		p.Kind = &genwayv1.Part_Refusal{Refusal: &genwayv1.Refusal{Text: text(t, "refusal")}}
	case 5:
		p.Kind = &genwayv1.Part_Image{Image: &genwayv1.Media{MimeType: "image/png", Source: &genwayv1.Media_Data{Data: []byte{1, 2}}}}
	case 6:
		p.Kind = &genwayv1.Part_Opaque{Opaque: &genwayv1.OpaquePart{Type: "t", Json: []byte(`{}`)}}
	}
	return p
}

func response(t *rapid.T) *genwayv1.GenerateTextResponse {
	r := &genwayv1.GenerateTextResponse{
		Id: text(t, "response id"), Model: "m", ServiceTier: text(t, "tier"), CreateTime: &timestamppb.Timestamp{Seconds: 7},
		Usage: &genwayv1.Usage{InputTokens: 3, OutputTokens: 4, TotalTokens: 7, ThinkingTokens: proto.Int64(2)},
	}
	if rapid.Bool().Draw(t, "blocked") {
		r.PromptFeedback = &genwayv1.PromptFeedback{BlockReason: "SAFETY"}
		return r
	}
	for i := range rapid.IntRange(1, 3).Draw(t, "candidates") {
		c := &genwayv1.Candidate{Index: int32(i), StopReason: genwayv1.StopReason_STOP_REASON_END_TURN, NativeStopReason: "stop"}
		for range rapid.IntRange(0, 4).Draw(t, "parts") {
			c.Parts = append(c.Parts, part(t))
		}
		r.Candidates = append(r.Candidates, c)
	}
	return r
}

// Folding the events of an answer gives the answer, wherever its texts are cut.
func TestEventsAccumulateToTheAnswer(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := response(t)
		split := func(s string) []string {
			if s == "" {
				return nil
			}
			at := rapid.IntRange(0, len(s)).Draw(t, "cut")
			return []string{s[:at], s[at:]}
		}
		var folder codec.Accumulator
		for _, ev := range codec.Events(proto.CloneOf(want), split) {
			if folder.Complete() {
				t.Fatal("an event follows the completed one")
			}
			if err := folder.Add(ev); err != nil {
				t.Fatal(err)
			}
		}
		if !folder.Complete() || !proto.Equal(want, folder.Response()) {
			t.Fatalf("want %v\ngot  %v", want, folder.Response())
		}
	})
}

// Of n candidates, some order of their events folds to the same answer.
func TestAccumulatorTakesCandidatesInAnyOrder(t *testing.T) {
	var folder codec.Accumulator
	if err := folder.Add(codec.Event(&genwayv1.TextStarted{})); err != nil {
		t.Fatal(err)
	}
	for _, index := range []int32{2, 0, 1} {
		for _, ev := range []proto.Message{
			&genwayv1.PartStarted{Candidate: index, Part: &genwayv1.Part{Kind: &genwayv1.Part_Text{Text: &genwayv1.Text{}}}},
			&genwayv1.PartDelta{Candidate: index, Delta: &genwayv1.PartDelta_Text{Text: "x"}},
			&genwayv1.PartCompleted{Candidate: index},
		} {
			if err := folder.Add(codec.Event(ev)); err != nil {
				t.Fatal(err)
			}
		}
	}
	for i, c := range folder.Response().GetCandidates() {
		if c.GetIndex() != int32(i) || c.GetParts()[0].GetText().GetText() != "x" {
			t.Errorf("candidate %d is %v", i, c)
		}
	}
}
