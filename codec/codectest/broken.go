package codectest

import (
	"github.com/genway/genway/codec"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

// Broken reports whether an answer has a call whose arguments are not one JSON object,
// which protocols of objects refuse to write.
func Broken(resp *genwayv1.GenerateTextResponse) bool {
	for _, c := range resp.GetCandidates() {
		for _, p := range c.GetParts() {
			if codec.IsBroken(p.GetToolCall()) {
				return true
			}
		}
	}
	return false
}
