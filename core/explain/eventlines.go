package explain

import (
	"bytes"
	"slices"

	"github.com/genway/genway/codec/fault"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"google.golang.org/protobuf/encoding/protojson"
)

// isStream reports whether an answer is a stream: server-sent events or, of an upstream that takes the
// contract's messages, a line of ProtoJSON for each event. A blank one is a stream where a stream was asked for.
func (p *passage) isStream(answer []byte, asked bool) bool {
	start := bytes.TrimLeft(bytes.TrimPrefix(answer, []byte("\xef\xbb\xbf")), " \t\r\n")
	if len(start) == 0 {
		return asked
	}
	if p.canonical() {
		if p.caller.Images {
			events, _ := imageEventsOf(answer)
			return asked && len(events) > 0
		}
		events, _ := eventsOf(answer)
		return asked && len(events) > 0
	}
	return slices.ContainsFunc([]string{"data:", "event:", "id:", "retry:", ":"}, func(field string) bool { return bytes.HasPrefix(start, []byte(field)) })
}

// canonical reports whether the upstream takes the contract's messages.
func (p *passage) canonical() bool { return p.wire.spec.Codec == nil && !p.wire.spec.Images }

// eventsOf reads the contract's events, a line for each; the error is that of the first that is none.
func eventsOf(stream []byte) (events []*genwayv1.StreamGenerateTextResponse, err error) {
	err = eachLine(stream, func(line []byte) bool {
		ev := &genwayv1.StreamGenerateTextResponse{}
		if err := protojson.Unmarshal(line, ev); err != nil || ev.GetPayload() == nil {
			return false
		}
		events = append(events, ev)
		return true
	})
	return events, err
}

// eachLine reads the lines of a stream that are not blank, up to the first that read does not take.
func eachLine(stream []byte, read func(line []byte) bool) error {
	for line := range bytes.Lines(stream) {
		if len(bytes.TrimSpace(line)) > 0 && !read(line) {
			return fault.New(fault.BadUpstream, fault.ReasonMalformedAnswer, "a line of the answer is no event of the contract")
		}
	}
	return nil
}
