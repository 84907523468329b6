package responses_test

import (
	"strings"
	"testing"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/fault"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"google.golang.org/protobuf/proto"
)

// Each way an answer may end, in both directions.
func TestStopReasons(t *testing.T) {
	const none = "null"
	for _, test := range []struct {
		name           string
		reason         genwayv1.StopReason
		native         string
		status, detail string
		back           genwayv1.StopReason
	}{
		{"end", genwayv1.StopReason_STOP_REASON_END_TURN, "end_turn", "completed", none, genwayv1.StopReason_STOP_REASON_END_TURN},
		{"T5 unknown to us", genwayv1.StopReason_STOP_REASON_UNSPECIFIED, "", "completed", none, genwayv1.StopReason_STOP_REASON_END_TURN},
		{"stop sequence", genwayv1.StopReason_STOP_REASON_STOP_SEQUENCE, "stop_sequence", "completed", none, genwayv1.StopReason_STOP_REASON_END_TURN},
		{"pause", genwayv1.StopReason_STOP_REASON_PAUSE, "pause_turn", "completed", none, genwayv1.StopReason_STOP_REASON_END_TURN},
		{"max tokens", genwayv1.StopReason_STOP_REASON_MAX_TOKENS, "length", "incomplete", "max_output_tokens", genwayv1.StopReason_STOP_REASON_MAX_TOKENS},
		{"context window", genwayv1.StopReason_STOP_REASON_CONTEXT_WINDOW, "x", "incomplete", "max_output_tokens", genwayv1.StopReason_STOP_REASON_MAX_TOKENS},
		{"filter", genwayv1.StopReason_STOP_REASON_CONTENT_FILTER, "SAFETY", "incomplete", "content_filter", genwayv1.StopReason_STOP_REASON_CONTENT_FILTER},
		{"refusal", genwayv1.StopReason_STOP_REASON_REFUSAL, "refusal", "incomplete", "content_filter", genwayv1.StopReason_STOP_REASON_CONTENT_FILTER},
		{"T6 error", genwayv1.StopReason_STOP_REASON_ERROR, "MALFORMED_FUNCTION_CALL", "incomplete", `max_output_tokens","native_reason":"MALFORMED_FUNCTION_CALL`, genwayv1.StopReason_STOP_REASON_MAX_TOKENS},
		{"T6 other", genwayv1.StopReason_STOP_REASON_OTHER, "LANGUAGE", "incomplete", `max_output_tokens","native_reason":"LANGUAGE`, genwayv1.StopReason_STOP_REASON_MAX_TOKENS},
		{"other without a word", genwayv1.StopReason_STOP_REASON_OTHER, "", "incomplete", "max_output_tokens", genwayv1.StopReason_STOP_REASON_MAX_TOKENS},
		{"incomplete without a reason", genwayv1.StopReason_STOP_REASON_OTHER, "incomplete", "incomplete", none, genwayv1.StopReason_STOP_REASON_OTHER},
	} {
		t.Run(test.name, func(t *testing.T) {
			resp := &genwayv1.GenerateTextResponse{Id: "resp_1", Candidates: []*genwayv1.Candidate{{
				StopReason: test.reason, NativeStopReason: test.native, Parts: []*genwayv1.Part{textOf("msg_1", "x")}}}}
			body, err := c.EncodeResponse(resp, codec.Answer{})
			if err != nil {
				t.Fatal(err)
			}
			detail := `"incomplete_details":null`
			if test.detail != none {
				detail = `"incomplete_details":{"reason":"` + test.detail + `"}`
			}
			if !strings.Contains(string(body), `"created_at":0,"status":"`+test.status+`"`) || !strings.Contains(string(body), detail) {
				t.Errorf("%s", body)
			}
			got, err := c.DecodeResponse(body)
			if err != nil || got.Candidates[0].StopReason != test.back {
				t.Errorf("came back as %v, %v", got, err)
			}
		})
	}
}

// A call makes the reason a call, unless the answer was cut (case T1).
func TestT1CallsAndTruncation(t *testing.T) {
	for status, want := range map[string]genwayv1.StopReason{
		`"completed"`: genwayv1.StopReason_STOP_REASON_TOOL_CALL,
		`"incomplete","incomplete_details":{"reason":"max_output_tokens"}`: genwayv1.StopReason_STOP_REASON_MAX_TOKENS,
	} {
		got, err := c.DecodeResponse([]byte(`{"id":"r","status":` + status + `,"output":[{"type":"function_call","id":"fc_1","call_id":"c","name":"f","arguments":"{"}]}`))
		if err != nil || got.Candidates[0].StopReason != want {
			t.Errorf("%s: %v, %v", status, got, err)
		}
	}
}

// A response that is queued, in progress or cancelled is a failure, even if it has output: callers of
// other protocols cannot ask for the rest.
func TestUnfinishedResponses(t *testing.T) {
	for _, status := range []string{"in_progress", "queued", "cancelled"} {
		body := `{"id":"r","object":"response","status":"` + status + `","model":"m","output":[{"type":"message","id":"msg_1","role":"assistant","content":[{"type":"output_text","text":"half","annotations":[]}]}],"usage":{"input_tokens":3,"output_tokens":4,"total_tokens":7}}`
		_, unary := c.DecodeResponse([]byte(body))
		_, streamed := c.NewStreamDecoder().Decode(codec.Frame{Data: []byte(`{"type":"response.completed","response":` + body + `}`)})
		for name, err := range map[string]error{"unary": unary, "streamed": streamed} {
			if f := fault.From(err); err == nil || f.Kind != fault.BadUpstream || !strings.Contains(f.Message, status) || f.Usage.GetTotalTokens() != 7 {
				t.Errorf("%s, %s: %v", status, name, err)
			}
		}
	}
}

// A refusal that is content completes the answer.
func TestRefusalsComplete(t *testing.T) {
	resp := &genwayv1.GenerateTextResponse{Candidates: []*genwayv1.Candidate{{StopReason: genwayv1.StopReason_STOP_REASON_REFUSAL,
		Parts: []*genwayv1.Part{{Id: "msg_1", Kind: &genwayv1.Part_Refusal{Refusal: &genwayv1.Refusal{Text: "No."}}}}}}}
	body, err := c.EncodeResponse(resp, codec.Answer{})
	if err != nil || !strings.Contains(string(body), `"status":"completed","error":null`) {
		t.Errorf("%s, %v", body, err)
	}
}

func TestUsage(t *testing.T) {
	n := func(v int64) *int64 { return &v }
	for _, test := range []struct {
		name, wire string
		want       *genwayv1.Usage
		out        string
	}{
		{"none", `null`, nil, `null`},
		{"bare", `{"input_tokens":3,"output_tokens":4,"total_tokens":7}`,
			&genwayv1.Usage{InputTokens: 3, OutputTokens: 4, TotalTokens: 7},
			`{"input_tokens":3,"input_tokens_details":{"cached_tokens":0,"cache_write_tokens":0},"output_tokens":4,"output_tokens_details":{"reasoning_tokens":0},"total_tokens":7}`},
		{"U2 cached", `{"input_tokens":3,"input_tokens_details":{"cached_tokens":2,"cache_write_tokens":1},"output_tokens":4,"output_tokens_details":{"reasoning_tokens":4},"total_tokens":7}`,
			&genwayv1.Usage{InputTokens: 3, OutputTokens: 4, TotalTokens: 7, CacheReadInputTokens: n(2), CacheWriteInputTokens: n(1), ThinkingTokens: n(4)},
			`{"input_tokens":3,"input_tokens_details":{"cached_tokens":2,"cache_write_tokens":1},"output_tokens":4,"output_tokens_details":{"reasoning_tokens":4},"total_tokens":7}`},
		{"new members", `{"input_tokens":3,"input_tokens_details":{"cached_tokens":0,"cache_write_tokens":0,"x":1},"output_tokens":4,"output_tokens_details":{"reasoning_tokens":0,"y":2},"total_tokens":7,"z":3}`,
			&genwayv1.Usage{InputTokens: 3, OutputTokens: 4, TotalTokens: 7, CacheReadInputTokens: n(0), CacheWriteInputTokens: n(0), ThinkingTokens: n(0),
				NativeFields: []*genwayv1.NativeField{
					{Protocol: protocol, Name: "z", Json: []byte("3")},
					{Protocol: protocol, Name: "input_tokens_details.x", Json: []byte("1")},
					{Protocol: protocol, Name: "output_tokens_details.y", Json: []byte("2")}}},
			`{"input_tokens":3,"input_tokens_details":{"cached_tokens":0,"cache_write_tokens":0,"x":1},"output_tokens":4,"output_tokens_details":{"reasoning_tokens":0,"y":2},"total_tokens":7,"z":3}`},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := c.DecodeResponse([]byte(`{"id":"r","status":"completed","output":[],"usage":` + test.wire + `}`))
			if err != nil || !proto.Equal(got.Usage, test.want) {
				t.Fatalf("%v, %v", got, err)
			}
			body, err := c.EncodeResponse(got, codec.Answer{})
			if err != nil || !strings.Contains(string(body), `"usage":`+test.out+`,`) {
				t.Errorf("%s, %v", body, err)
			}
		})
	}
}

// Usage without a place in the protocol is declared as a loss, except for counts of text tokens.
func TestUsageLosses(t *testing.T) {
	n := func(v int64) *int64 { return &v }
	var losses codec.Losses
	resp := &genwayv1.GenerateTextResponse{Usage: &genwayv1.Usage{InputTokens: 9, InputTextTokens: n(5), InputImageTokens: n(4), OutputAudioTokens: n(0)}}
	body, err := c.EncodeResponse(resp, codec.Answer{Losses: &losses})
	if err != nil || !strings.Contains(string(body), `"total_tokens":9`) {
		t.Errorf("%s, %v", body, err)
	}
	if l := losses.List(); len(l) != 1 || l[0].Member != "usage.input_image_tokens" {
		t.Errorf("%v", l)
	}
}
