package generatecontent_test

import (
	"encoding/json"
	"testing"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/codectest"
	"github.com/genway/genway/codec/fault"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

// TestStopReasons: how a candidate ended, streamed or not, and back (cases T3, T6
// and T12).
func TestStopReasons(t *testing.T) {
	const call = `{"functionCall":{"name":"f","args":{}}}`
	for _, c2 := range []struct {
		name, word, parts string
		reason            genwayv1.StopReason
	}{
		{"T3 a call and STOP", "STOP", call, genwayv1.StopReason_STOP_REASON_TOOL_CALL},
		{"STOP", "STOP", "", genwayv1.StopReason_STOP_REASON_END_TURN},
		{"T12 a call cut short", "MAX_TOKENS", call, genwayv1.StopReason_STOP_REASON_MAX_TOKENS},
		{"T6 malformed call", "MALFORMED_FUNCTION_CALL", "", genwayv1.StopReason_STOP_REASON_ERROR},
		{"T6 unknown", "BRAND_NEW", "", genwayv1.StopReason_STOP_REASON_OTHER},
		{"unexpected call", "UNEXPECTED_TOOL_CALL", call, genwayv1.StopReason_STOP_REASON_ERROR},
		{"safety", "SAFETY", "", genwayv1.StopReason_STOP_REASON_CONTENT_FILTER},
		{"recitation", "RECITATION", "", genwayv1.StopReason_STOP_REASON_CONTENT_FILTER},
		{"image safety", "IMAGE_SAFETY", "", genwayv1.StopReason_STOP_REASON_CONTENT_FILTER},
		{"continuation", "CONTINUATION", "", genwayv1.StopReason_STOP_REASON_PAUSE},
	} {
		t.Run(c2.name, func(t *testing.T) {
			body := `{"candidates":[{"content":{"parts":[` + c2.parts + `]},"finishReason":"` + c2.word + `"}]}`
			resp, err := c.DecodeResponse([]byte(body))
			if err != nil {
				t.Fatal(err)
			}
			got := resp.Candidates[0]
			if got.StopReason != c2.reason || got.NativeStopReason != c2.word {
				t.Errorf("%v %s", got.StopReason, got.NativeStopReason)
			}
			streamed, err := codectest.DecodeStream(c, frames(body))
			if err != nil || streamed.Candidates[0].StopReason != c2.reason {
				t.Errorf("streamed: %v, %v", streamed, err)
			}
			if out := finish(t, got); out != c2.word {
				t.Errorf("written as %s", out)
			}
		})
	}
}

func finish(t *testing.T, candidate *genwayv1.Candidate) string {
	t.Helper()
	out, err := c.EncodeResponse(&genwayv1.GenerateTextResponse{Candidates: []*genwayv1.Candidate{candidate}}, codec.Answer{})
	if err != nil {
		t.Fatal(err)
	}
	var body struct {
		Candidates []struct {
			FinishReason string `json:"finishReason"`
		} `json:"candidates"`
	}
	if err := json.Unmarshal(out, &body); err != nil {
		t.Fatal(err)
	}
	return body.Candidates[0].FinishReason
}

func TestForeignStopReasons(t *testing.T) {
	for word, want := range map[string]struct {
		reason genwayv1.StopReason
		out    string
	}{
		"tool_use":      {genwayv1.StopReason_STOP_REASON_TOOL_CALL, "STOP"},
		"stop_sequence": {genwayv1.StopReason_STOP_REASON_STOP_SEQUENCE, "STOP"},
		"length":        {genwayv1.StopReason_STOP_REASON_MAX_TOKENS, "MAX_TOKENS"},
		"refusal":       {genwayv1.StopReason_STOP_REASON_REFUSAL, "SAFETY"},
		"pause_turn":    {genwayv1.StopReason_STOP_REASON_PAUSE, "OTHER"},
		"weird":         {genwayv1.StopReason_STOP_REASON_OTHER, "OTHER"},
		"":              {genwayv1.StopReason_STOP_REASON_ERROR, "OTHER"},
		"SAFETY":        {genwayv1.StopReason_STOP_REASON_MAX_TOKENS, "MAX_TOKENS"},
	} {
		if got := finish(t, &genwayv1.Candidate{StopReason: want.reason, NativeStopReason: word}); got != want.out {
			t.Errorf("%s became %s", word, got)
		}
	}
}

// A call whose arguments come in pieces is a failure for callers of other protocols, who would get
// a call without arguments.
func TestArgumentsInPieces(t *testing.T) {
	for _, piece := range []string{
		`{"functionCall":{"name":"f","willContinue":true}}`,
		`{"functionCall":{"partialArgs":[{"jsonPath":"$.city","stringValue":"Ro"}],"willContinue":true}}`,
		`{"functionCall":{"partialArgs":[{"jsonPath":"$.city","stringValue":"me"}]}}`,
	} {
		answer := []byte(`{"candidates":[{"content":{"role":"model","parts":[` + piece + `]},"finishReason":"STOP"}]}`)
		_, unary := c.DecodeResponse(answer)
		_, streamed := c.NewStreamDecoder().Decode(codec.Frame{Data: answer})
		for name, err := range map[string]error{"unary": unary, "streamed": streamed} {
			if f := fault.From(err); err == nil || f.Kind != fault.BadUpstream || f.Reason != fault.ReasonMalformedAnswer {
				t.Errorf("%s, %s: %v", name, piece, err)
			}
		}
	}
}
