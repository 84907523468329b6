package responses

import (
	"strconv"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/codec/member"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

// Fail returns the vendor's event of a failed response (case S4); the upstream's
// own event of this protocol is passed on, but for its number.
func (e *streamEncoder) Fail(err *fault.Error) []codec.Frame {
	e.w.Reset()
	e.frames = e.frames[:0]
	if e.done {
		return nil
	}
	e.done = true
	if event, data := e.passed(err); data != nil {
		e.frames = append(e.frames, codec.Frame{Event: event, Data: data})
		return e.frames
	}
	if e.resumed {
		e.broken(err)
		return e.frames
	}
	e.start(&genwayv1.TextStarted{})
	e.head.failed, e.head.echo = failedError(err), echo(e.request, false)
	e.whole(eventFailed, ending{status: statusFailed}, nil, nil)
	return e.frames
}

// passed returns the upstream's own failing event, to a caller who has already
// seen events.
func (e *streamEncoder) passed(err *fault.Error) (string, []byte) {
	if err.Wire.GetProtocol() != protocol || !e.started {
		return "", nil
	}
	event, ok := failingEvent(err.Wire.Json)
	if !ok {
		return "", nil
	}
	data, patchErr := member.Patch(err.Wire.Json, member.Member{
		Name: "sequence_number", Value: strconv.AppendInt(nil, e.seq, 10)})
	if patchErr != nil {
		return "", nil
	}
	return event, data
}
