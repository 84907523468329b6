package generatecontent

import genwayv1 "github.com/genway/genway/gen/genway/v1"

// stopReasons are the vendor's words for why a candidate ended (SDK type
// FinishReason), and MODEL_ARMOR, MALFORMED_RESPONSE and
// MISSING_THOUGHT_SIGNATURE, which its API documents besides. None but the words
// about content mean that content was filtered (case T6).
var stopReasons = map[string]genwayv1.StopReason{
	"STOP":                      genwayv1.StopReason_STOP_REASON_END_TURN,
	"MAX_TOKENS":                genwayv1.StopReason_STOP_REASON_MAX_TOKENS,
	"SAFETY":                    genwayv1.StopReason_STOP_REASON_CONTENT_FILTER,
	"RECITATION":                genwayv1.StopReason_STOP_REASON_CONTENT_FILTER,
	"BLOCKLIST":                 genwayv1.StopReason_STOP_REASON_CONTENT_FILTER,
	"PROHIBITED_CONTENT":        genwayv1.StopReason_STOP_REASON_CONTENT_FILTER,
	"SPII":                      genwayv1.StopReason_STOP_REASON_CONTENT_FILTER,
	"IMAGE_SAFETY":              genwayv1.StopReason_STOP_REASON_CONTENT_FILTER,
	"IMAGE_PROHIBITED_CONTENT":  genwayv1.StopReason_STOP_REASON_CONTENT_FILTER,
	"IMAGE_RECITATION":          genwayv1.StopReason_STOP_REASON_CONTENT_FILTER,
	"MODEL_ARMOR":               genwayv1.StopReason_STOP_REASON_CONTENT_FILTER,
	"CONTINUATION":              genwayv1.StopReason_STOP_REASON_PAUSE,
	"LANGUAGE":                  genwayv1.StopReason_STOP_REASON_ERROR,
	"MALFORMED_FUNCTION_CALL":   genwayv1.StopReason_STOP_REASON_ERROR,
	"MALFORMED_RESPONSE":        genwayv1.StopReason_STOP_REASON_ERROR,
	"MISSING_THOUGHT_SIGNATURE": genwayv1.StopReason_STOP_REASON_ERROR,
	"UNEXPECTED_TOOL_CALL":      genwayv1.StopReason_STOP_REASON_ERROR,
	"TOO_MANY_TOOL_CALLS":       genwayv1.StopReason_STOP_REASON_ERROR,
	"NO_IMAGE":                  genwayv1.StopReason_STOP_REASON_ERROR,
	"IMAGE_OTHER":               genwayv1.StopReason_STOP_REASON_OTHER,
	"OTHER":                     genwayv1.StopReason_STOP_REASON_OTHER,
	"FINISH_REASON_UNSPECIFIED": genwayv1.StopReason_STOP_REASON_OTHER,
}

// finishReasons are the words for reasons of other protocols.
var finishReasons = map[genwayv1.StopReason]string{
	genwayv1.StopReason_STOP_REASON_UNSPECIFIED:    "STOP",
	genwayv1.StopReason_STOP_REASON_END_TURN:       "STOP",
	genwayv1.StopReason_STOP_REASON_STOP_SEQUENCE:  "STOP",
	genwayv1.StopReason_STOP_REASON_TOOL_CALL:      "STOP",
	genwayv1.StopReason_STOP_REASON_MAX_TOKENS:     "MAX_TOKENS",
	genwayv1.StopReason_STOP_REASON_CONTEXT_WINDOW: "MAX_TOKENS",
	genwayv1.StopReason_STOP_REASON_CONTENT_FILTER: "SAFETY",
	genwayv1.StopReason_STOP_REASON_REFUSAL:        "SAFETY",
}

// stopReason reads a finishReason. The vendor says STOP after a function call
// too, in the same frame or a later one (case T3).
func stopReason(word string, called bool) genwayv1.StopReason {
	reason, ok := stopReasons[word]
	switch {
	case word == "":
		return genwayv1.StopReason_STOP_REASON_UNSPECIFIED
	case !ok:
		return genwayv1.StopReason_STOP_REASON_OTHER
	case called && reason == genwayv1.StopReason_STOP_REASON_END_TURN:
		return genwayv1.StopReason_STOP_REASON_TOOL_CALL
	}
	return reason
}

// blocked is the reason of a candidate in an answer whose prompt was blocked. One that had
// begun by then has no reason of its own.
func blocked(reason genwayv1.StopReason) genwayv1.StopReason {
	if reason == genwayv1.StopReason_STOP_REASON_UNSPECIFIED {
		return genwayv1.StopReason_STOP_REASON_CONTENT_FILTER
	}
	return reason
}

// finishReason writes a finishReason: the vendor's own word when it means the
// same (words in capitals are only this protocol's), else the nearest.
func finishReason(reason genwayv1.StopReason, word string) string {
	if isCapitals(word) && (stopReason(word, true) == reason || stopReason(word, false) == reason) {
		return word
	}
	if word, ok := finishReasons[reason]; ok {
		return word
	}
	return "OTHER"
}

func isCapitals(word string) bool {
	for _, c := range []byte(word) {
		if (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '_' {
			return false
		}
	}
	return word != ""
}
