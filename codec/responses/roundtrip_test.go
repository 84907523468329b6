package responses_test

import (
	"bytes"
	"strconv"
	"testing"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/codectest"
	"github.com/genway/genway/codec/responses"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"pgregory.net/rapid"
)

func TestRequestsRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) { codectest.RoundTripRequest(t, responses.Codec{}, request(t)) })
}

func TestAnswersRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) { codectest.RoundTripResponse(t, responses.Codec{}, answer(t), request(t)) })
}

func TestStreamsRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		codectest.RoundTripStream(t, responses.Codec{}, answer(t), request(t), splitter(t))
	})
}

// The response that comes with the end of a stream is the unary body, byte for
// byte, and the events count up from 0.
func TestStreamsAmountToTheUnaryBody(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		resp, req := answer(t), request(t)
		unary, err := responses.Codec{}.EncodeResponse(resp, codec.Answer{Request: req})
		if err != nil {
			t.Fatal(err)
		}
		frames := codectest.EncodeStream(t, responses.Codec{}, codec.Events(resp, splitter(t)), codec.Answer{Request: req})
		for i, f := range frames {
			var ev struct {
				Type           string         `json:"type"`
				SequenceNumber int            `json:"sequence_number"`
				Response       jsontext.Value `json:"response"`
			}
			if err := json.Unmarshal(f.Data, &ev); err != nil {
				t.Fatalf("%v: %s", err, f.Data)
			}
			if ev.Type != f.Event || ev.SequenceNumber != i {
				t.Fatalf("frame %d is %s %s", i, f.Event, f.Data)
			}
			if i == len(frames)-1 && !bytes.Equal(ev.Response, unary) {
				t.Fatalf("the stream ends with\n%s\nthe unary body is\n%s", ev.Response, unary)
			}
		}
		checkOrder(t, frames)
	})
}

// checkOrder demands that events nest as the vendor's do: items one after the
// other, content and summary parts within them, deltas within those.
func checkOrder(t codectest.TB, frames []codec.Frame) {
	item, part, done := -1, "", false
	items := 0
	for i, f := range frames {
		var ev struct {
			Output  int    `json:"output_index"`
			Content int    `json:"content_index"`
			Summary int    `json:"summary_index"`
			ItemID  string `json:"item_id"`
		}
		if err := json.Unmarshal(f.Data, &ev); err != nil {
			t.Fatalf("%v", err)
		}
		place := f.Event
		fail := func(why string) { t.Fatalf("frame %d, %s: %s\n%s", i, place, why, codectest.Frames(frames)) }
		switch f.Event {
		case "response.created":
			if i != 0 {
				fail("not first")
			}
			continue
		case "response.in_progress":
			if i != 1 {
				fail("not second")
			}
			continue
		case "response.completed", "response.incomplete":
			if item >= 0 || part != "" || i != len(frames)-1 {
				fail("something is open")
			}
			continue
		case "response.output_item.added":
			if item >= 0 || ev.Output != items {
				fail("items overlap")
			}
			item, done = ev.Output, false
			items++
			continue
		}
		if ev.Output != item {
			fail("another item is open")
		}
		content := "content " + strconv.Itoa(ev.Content)
		switch f.Event {
		case "response.output_item.done":
			if part != "" {
				fail("a part is open")
			}
			item = -1
		case "response.content_part.added", "response.reasoning_summary_part.added":
			if part != "" {
				fail("parts overlap")
			}
			part, done = content, false
			if f.Event != "response.content_part.added" {
				part = "summary " + strconv.Itoa(ev.Summary)
			}
		case "response.content_part.done", "response.reasoning_summary_part.done":
			part, done = "", false
		case "response.output_text.delta", "response.refusal.delta", "response.reasoning_text.delta", "response.output_text.annotation.added":
			if part != content || done {
				fail("its part is not open")
			}
		case "response.output_text.done", "response.refusal.done", "response.reasoning_text.done":
			done = true
		}
	}
}
