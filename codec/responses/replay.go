package responses

import (
	"bytes"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/codec/member"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/go-json-experiment/json/jsontext"
)

// Replay implements stored.Codec. A response without an answer has the events of its beginning and its end.
func (c Codec) Replay(body []byte) ([]codec.Frame, error) {
	null := jsontext.Value("null")
	begun, err := member.Patch(body, member.Member{Name: "status", Value: jsontext.Value(`"in_progress"`)}, member.Member{Name: "output", Value: jsontext.Value("[]")},
		member.Member{Name: "usage", Value: null}, member.Member{Name: "error", Value: null}, member.Member{Name: "incomplete_details", Value: null}, member.Member{Name: "completed_at", Value: null})
	if err != nil {
		return nil, err
	}
	resp, err := c.DecodeResponse(body)
	if err != nil { // it has failed, or was cancelled
		resp = &genwayv1.GenerateTextResponse{}
	}
	e := newStreamEncoder(codec.Answer{})
	var frames []codec.Frame
	for _, ev := range codec.Events(resp, nil) {
		some, err := e.Encode(ev)
		if err != nil {
			return nil, err
		}
		for _, f := range some {
			if member.Value(f.Data, "response") == nil {
				frames = append(frames, codec.Frame{Event: f.Event, Data: bytes.Clone(f.Data)})
				continue
			}
			if ev.GetCompleted() != nil {
				f, err = c.End(body, int64(len(frames)))
			} else {
				f.Data, err = member.Patch(f.Data, member.Member{Name: "response", Value: begun})
			}
			if err != nil {
				return nil, err
			}
			frames = append(frames, f)
		}
	}
	return frames, nil
}

// End implements stored.Codec. The vendor has no event for a response that was cancelled: it is not complete.
func (Codec) End(body []byte, number int64) (codec.Frame, error) {
	event := eventIncomplete
	switch unquote(member.Value(body, "status")) {
	case statusCompleted:
		event = eventCompleted
	case statusFailed:
		event = eventFailed
	}
	w := member.NewWriter(len(body) + 96)
	w.Begin()
	w.Str("type", event)
	w.Int("sequence_number", number)
	w.Raw("response", body)
	w.End()
	data, err := w.Finish()
	return codec.Frame{Event: event, Data: data}, err
}

// broken writes the event of a stream that is cut, while its response may go on (SDK: ResponseErrorEvent; openai-go and
// openai-node read its members in error).
func (e *streamEncoder) broken(err *fault.Error) {
	_, object := errorObject(err)
	e.begin(eventError)
	e.w.Raw("error", object)
	e.send(eventError)
}
