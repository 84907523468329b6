package fit

import (
	"slices"
	"strings"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/codec/member"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

// mostStops is how many stop sequences a vendor takes, by its own documentation: chat
// completions "up to 4", generateContent "up to 5". The others document no number.
var mostStops = map[genwayv1.Protocol]int{
	genwayv1.Protocol_PROTOCOL_CHAT_COMPLETIONS: 4,
	genwayv1.Protocol_PROTOCOL_GENERATE_CONTENT: 5,
}

// Stops gives the request with the stop sequences that the vendor of the protocol takes.
// Messages takes none of white space alone; they are left out and named, as the vendor's
// own endpoint for callers of chat completions leaves them out. More of them than a vendor
// takes are refused: which ones to leave out is not ours to say.
func Stops(req *genwayv1.GenerateTextRequest, protocol genwayv1.Protocol, losses *codec.Losses) (*genwayv1.GenerateTextRequest, error) {
	stops := req.GetStopSequences()
	if protocol == genwayv1.Protocol_PROTOCOL_MESSAGES && slices.ContainsFunc(stops, blank) {
		out := new(genwayv1.GenerateTextRequest)
		codec.Share(out, req)
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
	if most := mostStops[protocol]; most > 0 && len(stops) > most {
		return nil, fault.Unsupported("stop_sequences", "stop_sequences: the upstream this model is routed to takes at most %d, got %d", most, len(stops))
	}
	return req, nil
}

func blank(s string) bool { return strings.TrimSpace(s) == "" }
