package codec

import (
	"strings"

	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

// vendors are the protocols whose vendor's SDK has a word for an end.
type vendors uint

const (
	chat            vendors = 1 << genwayv1.Protocol_PROTOCOL_CHAT_COMPLETIONS
	responses       vendors = 1 << genwayv1.Protocol_PROTOCOL_RESPONSES
	messages        vendors = 1 << genwayv1.Protocol_PROTOCOL_MESSAGES
	generateContent vendors = 1 << genwayv1.Protocol_PROTOCOL_GENERATE_CONTENT
	interactions    vendors = 1 << genwayv1.Protocol_PROTOCOL_INTERACTIONS
)

// stopWords are the words by which vendors and engines say why an answer ended, in lower case (generateContent
// writes capitals), and the vendors whose word it is. Upstreams of one protocol say the words of another: engines
// with an interface of several vendors, and gateways. The vendors' words are those of their SDKs (openai-go
// ChatCompletionChoice.FinishReason, ResponseIncompleteDetails; @anthropic-ai/sdk BetaStopReason; genai
// FinishReason; held by TestEnds in test/tools/crossing), and MODEL_ARMOR, MALFORMED_RESPONSE and
// MISSING_THOUGHT_SIGNATURE, which the API of generateContent documents besides. The others are those of
// OpenRouter, Mistral, TGI, Together (eos), vLLM, DeepSeek, Z.ai and Cohere (COMPLETE). None but the words about
// content mean that content was filtered (case T6).
var stopWords = map[string]struct {
	reason genwayv1.StopReason
	of     vendors
}{
	"stop":      {genwayv1.StopReason_STOP_REASON_END_TURN, chat | generateContent},
	"end_turn":  {genwayv1.StopReason_STOP_REASON_END_TURN, messages},
	"eos":       {genwayv1.StopReason_STOP_REASON_END_TURN, 0},
	"eos_token": {genwayv1.StopReason_STOP_REASON_END_TURN, 0},
	"complete":  {genwayv1.StopReason_STOP_REASON_END_TURN, 0},
	"completed": {genwayv1.StopReason_STOP_REASON_END_TURN, interactions},

	"stop_sequence": {genwayv1.StopReason_STOP_REASON_STOP_SEQUENCE, messages},

	"tool_calls":      {genwayv1.StopReason_STOP_REASON_TOOL_CALL, chat},
	"tool_call":       {genwayv1.StopReason_STOP_REASON_TOOL_CALL, 0},
	"tool_use":        {genwayv1.StopReason_STOP_REASON_TOOL_CALL, messages},
	"function_call":   {genwayv1.StopReason_STOP_REASON_TOOL_CALL, chat},
	"requires_action": {genwayv1.StopReason_STOP_REASON_TOOL_CALL, interactions},

	"length":            {genwayv1.StopReason_STOP_REASON_MAX_TOKENS, chat},
	"max_tokens":        {genwayv1.StopReason_STOP_REASON_MAX_TOKENS, messages | generateContent},
	"max_output_tokens": {genwayv1.StopReason_STOP_REASON_MAX_TOKENS, responses},
	"incomplete":        {genwayv1.StopReason_STOP_REASON_MAX_TOKENS, interactions},

	"model_length":                  {genwayv1.StopReason_STOP_REASON_CONTEXT_WINDOW, 0},
	"model_context_window_exceeded": {genwayv1.StopReason_STOP_REASON_CONTEXT_WINDOW, messages},

	"pause_turn":            {genwayv1.StopReason_STOP_REASON_PAUSE, messages},
	"continuation":          {genwayv1.StopReason_STOP_REASON_PAUSE, generateContent},
	"compaction":            {genwayv1.StopReason_STOP_REASON_PAUSE, messages},
	"requires_continuation": {genwayv1.StopReason_STOP_REASON_PAUSE, interactions},

	"refusal": {genwayv1.StopReason_STOP_REASON_REFUSAL, messages},

	"content_filter":           {genwayv1.StopReason_STOP_REASON_CONTENT_FILTER, chat | responses},
	"sensitive":                {genwayv1.StopReason_STOP_REASON_CONTENT_FILTER, 0},
	"safety":                   {genwayv1.StopReason_STOP_REASON_CONTENT_FILTER, generateContent},
	"recitation":               {genwayv1.StopReason_STOP_REASON_CONTENT_FILTER, generateContent},
	"blocklist":                {genwayv1.StopReason_STOP_REASON_CONTENT_FILTER, generateContent},
	"prohibited_content":       {genwayv1.StopReason_STOP_REASON_CONTENT_FILTER, generateContent},
	"spii":                     {genwayv1.StopReason_STOP_REASON_CONTENT_FILTER, generateContent},
	"image_safety":             {genwayv1.StopReason_STOP_REASON_CONTENT_FILTER, generateContent},
	"image_prohibited_content": {genwayv1.StopReason_STOP_REASON_CONTENT_FILTER, generateContent},
	"image_recitation":         {genwayv1.StopReason_STOP_REASON_CONTENT_FILTER, generateContent},
	"model_armor":              {genwayv1.StopReason_STOP_REASON_CONTENT_FILTER, generateContent},

	"error":                        {genwayv1.StopReason_STOP_REASON_ERROR, 0},
	"abort":                        {genwayv1.StopReason_STOP_REASON_ERROR, 0},
	"network_error":                {genwayv1.StopReason_STOP_REASON_ERROR, 0},
	"insufficient_system_resource": {genwayv1.StopReason_STOP_REASON_ERROR, 0},
	"language":                     {genwayv1.StopReason_STOP_REASON_ERROR, generateContent},
	"malformed_function_call":      {genwayv1.StopReason_STOP_REASON_ERROR, generateContent},
	"malformed_response":           {genwayv1.StopReason_STOP_REASON_ERROR, generateContent},
	"missing_thought_signature":    {genwayv1.StopReason_STOP_REASON_ERROR, generateContent},
	"unexpected_tool_call":         {genwayv1.StopReason_STOP_REASON_ERROR, generateContent},
	"too_many_tool_calls":          {genwayv1.StopReason_STOP_REASON_ERROR, generateContent},
	"no_image":                     {genwayv1.StopReason_STOP_REASON_ERROR, generateContent},

	"max_messages":              {genwayv1.StopReason_STOP_REASON_OTHER, responses},
	"steered":                   {genwayv1.StopReason_STOP_REASON_OTHER, responses},
	"other":                     {genwayv1.StopReason_STOP_REASON_OTHER, generateContent},
	"budget_exceeded":           {genwayv1.StopReason_STOP_REASON_OTHER, interactions},
	"image_other":               {genwayv1.StopReason_STOP_REASON_OTHER, generateContent},
	"finish_reason_unspecified": {genwayv1.StopReason_STOP_REASON_OTHER, generateContent},
}

// endings are the words of the protocols for each reason, "" for a whole response. A reason that the vendor's
// SDK has no word for, ERROR and OTHER above all, has the word for an answer that was cut: it is the most cautious
// one, and no client takes the answer for whole. The upstream's own word goes beside it.
var endings = map[genwayv1.StopReason]struct{ chat, responses, messages, generateContent, interactions string }{
	genwayv1.StopReason_STOP_REASON_UNSPECIFIED:    {"stop", "", "end_turn", "STOP", "completed"},
	genwayv1.StopReason_STOP_REASON_END_TURN:       {"stop", "", "end_turn", "STOP", "completed"},
	genwayv1.StopReason_STOP_REASON_STOP_SEQUENCE:  {"stop", "", "stop_sequence", "STOP", "completed"},
	genwayv1.StopReason_STOP_REASON_TOOL_CALL:      {"tool_calls", "", "tool_use", "STOP", "requires_action"},
	genwayv1.StopReason_STOP_REASON_MAX_TOKENS:     {"length", "max_output_tokens", "max_tokens", "MAX_TOKENS", "incomplete"},
	genwayv1.StopReason_STOP_REASON_CONTEXT_WINDOW: {"length", "max_output_tokens", "model_context_window_exceeded", "MAX_TOKENS", "incomplete"},
	genwayv1.StopReason_STOP_REASON_PAUSE:          {"stop", "", "pause_turn", "OTHER", "incomplete"},
	genwayv1.StopReason_STOP_REASON_REFUSAL:        {"content_filter", "content_filter", "refusal", "SAFETY", "incomplete"},
	genwayv1.StopReason_STOP_REASON_CONTENT_FILTER: {"content_filter", "content_filter", "refusal", "SAFETY", "incomplete"},
	genwayv1.StopReason_STOP_REASON_ERROR:          {"length", "max_output_tokens", "max_tokens", "OTHER", "incomplete"},
	genwayv1.StopReason_STOP_REASON_OTHER:          {"length", "max_output_tokens", "max_tokens", "OTHER", "incomplete"},
}

const longestStopWord = "model_context_window_exceeded"

// StopReasonOf returns the reason that a word means, in any case of its letters: OTHER for a word that this
// version does not know, UNSPECIFIED for none.
func StopReasonOf(word string) genwayv1.StopReason {
	reason, _ := stopWord(word)
	return reason
}

// VendorStopWord returns a word as the vendor of a protocol writes it, and whether it is a word of that vendor's.
func VendorStopWord(protocol genwayv1.Protocol, word string) (string, bool) {
	_, of := stopWord(word)
	if protocol == genwayv1.Protocol_PROTOCOL_GENERATE_CONTENT {
		word = strings.ToUpper(word)
	} else {
		word = strings.ToLower(word)
	}
	return word, of&(1<<protocol) != 0
}

// StopWord returns the word of a protocol for a reason; "" for a response that is whole.
func StopWord(protocol genwayv1.Protocol, reason genwayv1.StopReason) string {
	words, known := endings[reason]
	if !known {
		words = endings[genwayv1.StopReason_STOP_REASON_OTHER]
	}
	switch protocol { //nolint:exhaustive // no other protocol says why an answer ended
	case genwayv1.Protocol_PROTOCOL_CHAT_COMPLETIONS:
		return words.chat
	case genwayv1.Protocol_PROTOCOL_RESPONSES:
		return words.responses
	case genwayv1.Protocol_PROTOCOL_MESSAGES:
		return words.messages
	case genwayv1.Protocol_PROTOCOL_INTERACTIONS:
		return words.interactions
	}
	return words.generateContent
}

func stopWord(word string) (genwayv1.StopReason, vendors) {
	if word == "" {
		return genwayv1.StopReason_STOP_REASON_UNSPECIFIED, 0
	}
	known, ok := stopWords[word]
	if !ok && len(word) <= len(longestStopWord) {
		var lower [len(longestStopWord)]byte
		for i := range len(word) {
			lower[i] = word[i]
			if 'A' <= word[i] && word[i] <= 'Z' {
				lower[i] += 'a' - 'A'
			}
		}
		known, ok = stopWords[string(lower[:len(word)])]
	}
	if !ok {
		return genwayv1.StopReason_STOP_REASON_OTHER, 0
	}
	return known.reason, known.of
}

// Unworded reports whether a reason is none that vendors agree on: an answer that failed, or ended for a reason
// that this version does not know.
func Unworded(reason genwayv1.StopReason) bool {
	return reason == genwayv1.StopReason_STOP_REASON_ERROR || reason == genwayv1.StopReason_STOP_REASON_OTHER
}
