package codec

import (
	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

// stopWords are the words by which vendors and engines say why an answer ended, in lower case. Upstreams of one
// protocol say the words of another: engines with an interface of several vendors, and gateways. The vendors'
// words are those of their SDKs (openai-go ChatCompletionChoice.FinishReason, Response.IncompleteDetails;
// anthropic-sdk-go BetaStopReason; genai FinishReason), and MODEL_ARMOR, MALFORMED_RESPONSE and
// MISSING_THOUGHT_SIGNATURE, which the API of generateContent documents besides. The others are those of
// OpenRouter, Mistral, TGI, Together (eos), vLLM, DeepSeek, Z.ai and Cohere (COMPLETE). None but the words about
// content mean that content was filtered (case T6).
var stopWords = map[string]genwayv1.StopReason{
	"stop":      genwayv1.StopReason_STOP_REASON_END_TURN,
	"end_turn":  genwayv1.StopReason_STOP_REASON_END_TURN,
	"eos":       genwayv1.StopReason_STOP_REASON_END_TURN,
	"eos_token": genwayv1.StopReason_STOP_REASON_END_TURN,
	"complete":  genwayv1.StopReason_STOP_REASON_END_TURN,
	"completed": genwayv1.StopReason_STOP_REASON_END_TURN,

	"stop_sequence": genwayv1.StopReason_STOP_REASON_STOP_SEQUENCE,

	"tool_calls":    genwayv1.StopReason_STOP_REASON_TOOL_CALL,
	"tool_call":     genwayv1.StopReason_STOP_REASON_TOOL_CALL,
	"tool_use":      genwayv1.StopReason_STOP_REASON_TOOL_CALL,
	"function_call": genwayv1.StopReason_STOP_REASON_TOOL_CALL,

	"length":            genwayv1.StopReason_STOP_REASON_MAX_TOKENS,
	"max_tokens":        genwayv1.StopReason_STOP_REASON_MAX_TOKENS,
	"max_output_tokens": genwayv1.StopReason_STOP_REASON_MAX_TOKENS,

	"model_length":                  genwayv1.StopReason_STOP_REASON_CONTEXT_WINDOW,
	"model_context_window_exceeded": genwayv1.StopReason_STOP_REASON_CONTEXT_WINDOW,

	"pause_turn":   genwayv1.StopReason_STOP_REASON_PAUSE,
	"continuation": genwayv1.StopReason_STOP_REASON_PAUSE,

	"refusal": genwayv1.StopReason_STOP_REASON_REFUSAL,

	"content_filter":           genwayv1.StopReason_STOP_REASON_CONTENT_FILTER,
	"sensitive":                genwayv1.StopReason_STOP_REASON_CONTENT_FILTER,
	"safety":                   genwayv1.StopReason_STOP_REASON_CONTENT_FILTER,
	"recitation":               genwayv1.StopReason_STOP_REASON_CONTENT_FILTER,
	"blocklist":                genwayv1.StopReason_STOP_REASON_CONTENT_FILTER,
	"prohibited_content":       genwayv1.StopReason_STOP_REASON_CONTENT_FILTER,
	"spii":                     genwayv1.StopReason_STOP_REASON_CONTENT_FILTER,
	"image_safety":             genwayv1.StopReason_STOP_REASON_CONTENT_FILTER,
	"image_prohibited_content": genwayv1.StopReason_STOP_REASON_CONTENT_FILTER,
	"image_recitation":         genwayv1.StopReason_STOP_REASON_CONTENT_FILTER,
	"model_armor":              genwayv1.StopReason_STOP_REASON_CONTENT_FILTER,

	"error":                        genwayv1.StopReason_STOP_REASON_ERROR,
	"abort":                        genwayv1.StopReason_STOP_REASON_ERROR,
	"network_error":                genwayv1.StopReason_STOP_REASON_ERROR,
	"insufficient_system_resource": genwayv1.StopReason_STOP_REASON_ERROR,
	"language":                     genwayv1.StopReason_STOP_REASON_ERROR,
	"malformed_function_call":      genwayv1.StopReason_STOP_REASON_ERROR,
	"malformed_response":           genwayv1.StopReason_STOP_REASON_ERROR,
	"missing_thought_signature":    genwayv1.StopReason_STOP_REASON_ERROR,
	"unexpected_tool_call":         genwayv1.StopReason_STOP_REASON_ERROR,
	"too_many_tool_calls":          genwayv1.StopReason_STOP_REASON_ERROR,
	"no_image":                     genwayv1.StopReason_STOP_REASON_ERROR,
}

const longestStopWord = "model_context_window_exceeded"

// StopReasonOf gives the reason that a word means, in any case of its letters: OTHER for a word that this
// version does not know, UNSPECIFIED for none.
//
// Encoders write a reason that their vendor's SDK has no word for, ERROR and OTHER above all, as the word for an
// answer that was cut: it is the most cautious one, and no client takes the answer for whole. The upstream's own
// word goes beside it.
func StopReasonOf(word string) genwayv1.StopReason {
	if word == "" {
		return genwayv1.StopReason_STOP_REASON_UNSPECIFIED
	}
	reason, known := stopWords[word]
	if !known && len(word) <= len(longestStopWord) {
		var lower [len(longestStopWord)]byte
		for i := range len(word) {
			lower[i] = word[i]
			if 'A' <= word[i] && word[i] <= 'Z' {
				lower[i] += 'a' - 'A'
			}
		}
		reason, known = stopWords[string(lower[:len(word)])]
	}
	if known {
		return reason
	}
	return genwayv1.StopReason_STOP_REASON_OTHER
}

// Unworded reports whether a reason is none that vendors agree on: an answer that failed, or ended for a reason
// that this version does not know.
func Unworded(reason genwayv1.StopReason) bool {
	return reason == genwayv1.StopReason_STOP_REASON_ERROR || reason == genwayv1.StopReason_STOP_REASON_OTHER
}
