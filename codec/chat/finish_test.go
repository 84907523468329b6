package chat_test

import (
	"encoding/json"
	"testing"

	"github.com/genway/genway/codec"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

// TestFinishReasons encodes what other protocols' answers ended with.
func TestFinishReasons(t *testing.T) {
	call := []*genwayv1.Part{{Kind: &genwayv1.Part_ToolCall{ToolCall: &genwayv1.ToolCall{Id: "a", Name: "f"}}}}
	for name, tc := range map[string]struct {
		reason       genwayv1.StopReason
		native       string
		parts        []*genwayv1.Part
		word, beside string
	}{
		"end":                  {genwayv1.StopReason_STOP_REASON_END_TURN, "end_turn", nil, "stop", ""},
		"T1 end with a call":   {genwayv1.StopReason_STOP_REASON_END_TURN, "STOP", call, "tool_calls", ""},
		"T1 cut with a call":   {genwayv1.StopReason_STOP_REASON_MAX_TOKENS, "max_tokens", call, "length", ""},
		"stop sequence":        {genwayv1.StopReason_STOP_REASON_STOP_SEQUENCE, "stop_sequence", nil, "stop", ""},
		"calls":                {genwayv1.StopReason_STOP_REASON_TOOL_CALL, "tool_use", call, "tool_calls", ""},
		"refusal":              {genwayv1.StopReason_STOP_REASON_REFUSAL, "refusal", nil, "content_filter", "refusal"},
		"pause":                {genwayv1.StopReason_STOP_REASON_PAUSE, "pause_turn", nil, "stop", "pause_turn"},
		"context":              {genwayv1.StopReason_STOP_REASON_CONTEXT_WINDOW, "model_context_window_exceeded", nil, "length", "model_context_window_exceeded"},
		"T6 a malformed call":  {genwayv1.StopReason_STOP_REASON_ERROR, "MALFORMED_FUNCTION_CALL", nil, "length", "MALFORMED_FUNCTION_CALL"},
		"T6 an unknown reason": {genwayv1.StopReason_STOP_REASON_OTHER, "LANGUAGE", nil, "length", "LANGUAGE"},
		"T6 after a call":      {genwayv1.StopReason_STOP_REASON_OTHER, "LANGUAGE", call, "length", "LANGUAGE"},
		"an engine's error":    {genwayv1.StopReason_STOP_REASON_ERROR, "abort", nil, "length", "abort"},
		"other without a word": {genwayv1.StopReason_STOP_REASON_OTHER, "", nil, "length", ""},
		"a reason of tomorrow": {genwayv1.StopReason(99), "soon", nil, "length", ""},
		"T5 none":              {genwayv1.StopReason_STOP_REASON_UNSPECIFIED, "", nil, "stop", ""},
	} {
		t.Run(name, func(t *testing.T) {
			body, err := c.EncodeResponse(&genwayv1.GenerateTextResponse{Candidates: []*genwayv1.Candidate{
				{Parts: tc.parts, StopReason: tc.reason, NativeStopReason: tc.native}}}, codec.Answer{})
			if err != nil {
				t.Fatal(err)
			}
			var a struct {
				Choices []struct {
					FinishReason       string `json:"finish_reason"`
					NativeFinishReason string `json:"native_finish_reason"`
				}
			}
			if err := json.Unmarshal(body, &a); err != nil {
				t.Fatal(err)
			}
			if got := a.Choices[0]; got.FinishReason != tc.word || got.NativeFinishReason != tc.beside {
				t.Errorf("%+v", got)
			}
		})
	}
}
