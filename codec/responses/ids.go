package responses

import (
	"fmt"
	"hash/fnv"
	"strings"
)

// The vendor's prefixes of identifiers.
const (
	prefixResponse  = "resp_"
	prefixMessage   = "msg_"
	prefixReasoning = "rs_"
	prefixFunction  = "fc_"
	prefixCustom    = "ctc_"
	prefixImage     = "ig_"
	prefixOutput    = "fco_"
)

// syntheticMark follows the prefix of an identifier of ours.
const syntheticMark = "gw"

// syntheticID names an item that has no identifier: the same for the same answer
// and place, streamed or not. The time at which the answer was created distinguishes answers
// of an upstream that uses few identifiers: Ollama has 999.
func syntheticID(prefix, responseID string, created int64, index int) string {
	h := fnv.New64a()
	fmt.Fprintf(h, "%s/%d/%d", responseID, created, index)
	return fmt.Sprintf("%s%s%016x", prefix, syntheticMark, h.Sum64())
}

// IsSyntheticID reports whether the identifier of an item is one of ours, which
// no upstream has ever seen.
func IsSyntheticID(id string) bool {
	_, rest, ok := strings.Cut(id, "_"+syntheticMark)
	return ok && len(rest) == 16 && strings.Trim(rest, "0123456789abcdef") == ""
}

// mayBeSynthetic reports whether a string may be such an identifier, by where it would
// have the mark.
func mayBeSynthetic(text []byte) bool {
	mark := len(text) - 16 - len("_"+syntheticMark)
	return mark >= 0 && string(text[mark:len(text)-16]) == "_"+syntheticMark
}
