package codec

import (
	"github.com/genway/genway/codec/fault"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

const noCandidates = "the upstream's answer has no content and no reason why"

// CheckAnswer checks what the contract promises of a unary answer, as Sequence does of a stream: it
// has a candidate unless the prompt was blocked, and each candidate an index of its own. An answer
// without that is an error of kind BadUpstream. An upstream's own body (wire) of the protocol, which
// is that of the caller's body, stands for all of it and is not looked at.
func CheckAnswer(resp *genwayv1.GenerateTextResponse, protocol genwayv1.Protocol) error {
	if wire := resp.GetWire(); wire != nil && wire.GetProtocol() == protocol {
		return nil
	}
	if len(resp.GetCandidates()) == 0 && resp.GetPromptFeedback() == nil {
		return fault.New(fault.BadUpstream, fault.ReasonMalformedAnswer, "%s", noCandidates)
	}
	var seen map[int32]bool
	for n, c := range resp.GetCandidates() {
		switch {
		case c.GetIndex() < 0:
			return fault.New(fault.BadUpstream, fault.ReasonMalformedAnswer, "the upstream's answer has a candidate with a negative index")
		case seen[c.GetIndex()]:
			return fault.New(fault.BadUpstream, fault.ReasonMalformedAnswer, "the upstream's answer has two candidates with one index")
		case n == 0 && len(resp.GetCandidates()) == 1:
			return nil
		case n == 0:
			seen = make(map[int32]bool, len(resp.GetCandidates()))
		}
		seen[c.GetIndex()] = true
	}
	return nil
}
