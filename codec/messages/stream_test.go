package messages_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/codectest"
	"github.com/genway/genway/codec/fault"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

const (
	frameStart = `{"type":"message_start","message":{"type":"message","id":"m","content":[],"usage":{"input_tokens":3,"output_tokens":1}}}`
	frameText  = `{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`
	frameDelta = `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"hi"}}`
	frameClose = `{"type":"content_block_stop","index":0}`
	frameEnd   = `{"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{"output_tokens":2}}`
	frameStop  = `{"type":"message_stop"}`
)

func frames(data ...string) []codec.Frame {
	var out []codec.Frame
	for _, d := range data {
		out = append(out, codec.Frame{Data: []byte(d)})
	}
	return out
}

func TestStreamsThatFail(t *testing.T) {
	for _, tt := range []struct {
		name   string
		frames []codec.Frame
		kind   fault.Kind
		reason string
	}{
		{"nothing", nil, fault.BadUpstream, fault.ReasonStreamCut},
		{"S5 cut in a block", frames(frameStart, frameText, frameDelta), fault.BadUpstream, fault.ReasonStreamCut},
		{"S5 cut before the end", frames(frameStart, frameText, frameDelta, frameClose), fault.BadUpstream, fault.ReasonStreamCut},
		{"S5 cut after a delta that tells no reason", frames(frameStart, frameText, frameDelta, frameClose, `{"type":"message_delta","delta":{"stop_reason":null},"usage":{"output_tokens":2}}`), fault.BadUpstream, fault.ReasonStreamCut},
		{"S4 an error event", frames(frameStart, `{"type":"error","error":{"type":"overloaded_error","message":"busy"}}`), fault.Overloaded, "UPSTREAM_ERROR"},
		{"S11 not JSON", frames(frameStart, `{"type":`), fault.BadUpstream, fault.ReasonMalformedAnswer},
		{"S11 a wrong type", frames(frameStart, `{"type":"content_block_delta","index":"x"}`), fault.BadUpstream, fault.ReasonMalformedAnswer},
		{"no start", frames(frameText), fault.BadUpstream, fault.ReasonMalformedAnswer},
		{"an end without start", frames(frameEnd), fault.BadUpstream, fault.ReasonMalformedAnswer},
		{"a stop without start", frames(frameStop), fault.BadUpstream, fault.ReasonMalformedAnswer},
		{"an empty start", frames(`{"type":"message_start"}`), fault.BadUpstream, fault.ReasonMalformedAnswer},
		{"a delta of no block", frames(frameStart, frameDelta), fault.BadUpstream, fault.ReasonMalformedAnswer},
		{"a block of no type", frames(frameStart, `{"type":"content_block_start","index":0,"content_block":{}}`), fault.BadUpstream, fault.ReasonMalformedAnswer},
		{"a delta of another kind", frames(frameStart, frameText, `{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"x"}}`), fault.BadUpstream, fault.ReasonMalformedAnswer},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := codectest.DecodeStream(c, tt.frames)
			var f *fault.Error
			if !errors.As(err, &f) || f.Kind != tt.kind || f.Reason != tt.reason {
				t.Fatalf("got %+v", f)
			}
		})
	}
}

func TestStreamsThatAreTolerated(t *testing.T) {
	for _, tt := range []struct {
		name   string
		frames []codec.Frame
	}{
		{"whole", frames(frameStart, frameText, frameDelta, frameClose, frameEnd, frameStop)},
		{"no message_stop", frames(frameStart, frameText, frameDelta, frameClose, frameEnd)},
		{"no content_block_stop", frames(frameStart, frameText, frameDelta, frameEnd, frameStop)},
		{"T11 everything twice", frames(frameStart, frameStart, frameText, frameText, frameDelta, frameClose, frameClose, frameEnd, frameEnd, frameStop, frameStop)},
		{"unknown events, deltas, pings, blanks and [DONE]", frames(`{"type":"ping"}`, frameStart, `{"type":"news"}`, frameText, `{"type":"content_block_delta","index":0,"delta":{"type":"new_delta"}}`, "", " ", frameDelta, frameClose, frameEnd, frameStop, "[DONE]")},
		{"a delta after the end without reason", frames(frameStart, frameText, frameDelta, frameClose, frameEnd, `{"type":"message_delta","delta":{}}`, frameStop)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			resp, err := codectest.DecodeStream(c, tt.frames)
			if err != nil {
				t.Fatal(err)
			}
			got := resp.GetCandidates()[0]
			if len(got.Parts) != 1 || got.Parts[0].GetText().GetText() != "hi" || got.NativeStopReason != "end_turn" ||
				resp.Usage.InputTokens != 3 || resp.Usage.OutputTokens != 2 {
				t.Errorf("got %v", resp)
			}
		})
	}
	named := []codec.Frame{{Event: "message_start", Data: []byte(strings.Replace(frameStart, `"type":"message_start",`, "", 1))}}
	if _, err := codectest.DecodeStream(c, append(named, frames(frameEnd, frameStop)...)); err != nil {
		t.Errorf("the event's name says its type: %v", err)
	}
}

// Events and deltas of unknown types are declared as losses.
func TestUnknownEventsAreLost(t *testing.T) {
	resp, err := codectest.DecodeStream(c, frames(frameStart, `{"type":"news"}`, frameText, `{"type":"content_block_delta","index":0,"delta":{"type":"new_delta"}}`, frameDelta, frameClose, frameEnd, frameStop))
	if err != nil {
		t.Fatal(err)
	}
	var lost []string
	for _, l := range resp.GetLosses() {
		lost = append(lost, l.GetMember())
	}
	if strings.Join(lost, " ") != "news content[0].new_delta" {
		t.Errorf("lost %q", lost)
	}
}

// A stream may be ended for the upstream after the stop reason (case S3).
func TestFinished(t *testing.T) {
	decoder := c.NewStreamDecoder()
	for i, f := range frames(frameStart, frameText, frameDelta, frameClose, frameEnd) {
		if _, err := decoder.Decode(f); err != nil {
			t.Fatal(err)
		}
		if got := decoder.(interface{ Finished() bool }).Finished(); got != (i == 4) {
			t.Errorf("finished is %v after %s", got, f.Data)
		}
	}
}

func TestStreamEncoderOrder(t *testing.T) {
	start := codec.Event(&genwayv1.PartStarted{Part: text("")})
	for name, events := range map[string][]*genwayv1.StreamGenerateTextResponse{
		"a part within a part":   {start, start},
		"a delta without a part": {codec.Event(&genwayv1.PartDelta{Delta: &genwayv1.PartDelta_Text{Text: "x"}})},
		"an end without a part":  {codec.Event(&genwayv1.PartCompleted{})},
	} {
		encoder := c.NewStreamEncoder(codec.Answer{})
		var err error
		for _, ev := range events {
			_, err = encoder.Encode(ev)
		}
		if fault.From(err) == nil || fault.From(err).Kind != fault.BadUpstream {
			t.Errorf("%s gave %v", name, err)
		}
	}
}

func TestPing(t *testing.T) {
	got, err := c.NewStreamEncoder(codec.Answer{}).Encode(codec.Event(&genwayv1.Ping{}))
	if err != nil || codectest.Frames(got) != "event: ping\ndata: {\"type\":\"ping\"}\n\n" {
		t.Errorf("got %v %v", got, err)
	}
}

// An upstream's own events pass, and nothing of ours joins them.
func TestWireFramesPass(t *testing.T) {
	encoder := c.NewStreamEncoder(codec.Answer{})
	for _, step := range []struct {
		event *genwayv1.StreamGenerateTextResponse
		want  string
	}{
		{codec.Event(&genwayv1.WireFrame{Protocol: own, Event: "message_stop", Data: []byte(`{"type": "message_stop"}`)}), "event: message_stop\ndata: {\"type\": \"message_stop\"}\n\n"},
		{codec.Event(&genwayv1.WireFrame{Protocol: genwayv1.Protocol_PROTOCOL_RESPONSES, Data: []byte(`{}`)}), ""},
		{codec.Event(&genwayv1.TextCompleted{}), ""},
	} {
		got, err := encoder.Encode(step.event)
		if err != nil || codectest.Frames(got) != step.want {
			t.Errorf("got %s %v", codectest.Frames(got), err)
		}
	}
}

// Of several candidates the first is encoded.
func TestStreamOfSeveralCandidates(t *testing.T) {
	resp := &genwayv1.GenerateTextResponse{Id: "r", Candidates: []*genwayv1.Candidate{
		{Parts: []*genwayv1.Part{text("one")}, StopReason: genwayv1.StopReason_STOP_REASON_END_TURN},
		{Index: 1, Parts: []*genwayv1.Part{text("two")}, StopReason: genwayv1.StopReason_STOP_REASON_MAX_TOKENS},
	}}
	var losses codec.Losses
	out := codectest.EncodeStream(t, c, codec.Events(resp, nil), codec.Answer{Losses: &losses})
	got, err := codectest.DecodeStream(c, out)
	if err != nil || len(got.Candidates) != 1 || got.Candidates[0].Parts[0].GetText().GetText() != "one" || got.Candidates[0].NativeStopReason != "end_turn" {
		t.Errorf("got %v %v", got, err)
	}
	if l := losses.List(); len(l) != 1 || l[0].Member != "candidates" {
		t.Errorf("losses are %v", l)
	}
}

func text(s string) *genwayv1.Part {
	return &genwayv1.Part{Kind: &genwayv1.Part_Text{Text: &genwayv1.Text{Text: s}}}
}
