package fit

import (
	"slices"
	"strings"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/codec/member"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

// Stops returns the request with the stop sequences that the vendor takes. Those of only white
// space that it refuses are left out and named, as the vendor of messages leaves them out at
// its own endpoint for callers of chat completions. More of them than a vendor takes are
// refused: the gateway does not choose which ones to leave out.
func Stops(req *genwayv1.GenerateTextRequest, rules Rules, losses *codec.Losses) (*genwayv1.GenerateTextRequest, error) {
	stops := req.GetStopSequences()
	if rules.NoBlanks && slices.ContainsFunc(stops, blank) {
		out := codec.Shared(req)
		out.StopSequences = nil
		for i, s := range stops {
			if blank(s) {
				losses.Add(member.Index("stop_sequences", i), "the messages protocol takes no stop sequence of white space alone")
				continue
			}
			out.StopSequences = append(out.StopSequences, s)
		}
		return out, nil
	}
	if most := rules.MaxStops; most > 0 && len(stops) > most {
		return nil, fault.Unsupported("stop_sequences", "stop_sequences: the upstream this model is routed to takes at most %d, got %d", most, len(stops))
	}
	return req, nil
}

func blank(s string) bool { return strings.TrimSpace(s) == "" }
