package messages

import (
	"bytes"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/codec/fit"
	"github.com/genway/genway/codec/member"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/go-json-experiment/json/jsontext"
)

// streamEncoder writes one answer as events.
type streamEncoder struct {
	w      *writer
	frames []codec.Frame
	losses *codec.Losses
	// passed says that the upstream's own events went out in place of ours, stopped
	// that its message_stop was among them.
	passed, stopped bool
	id              string
	tier            string
	natives         []*genwayv1.NativeField
	// index is that of the next block, open the block of the open part.
	index int64
	open  *outBlock
	// broken is a call whose arguments are not one object. Its block stays open until it is
	// known whether the answer was cut there (case T12).
	broken *genwayv1.ToolCall
	// bare is a call without arguments. It has no block until it is known that the answer was not cut there.
	bare   *outBlock
	how    ending
	chosen codec.Chosen
}

// NewStreamEncoder writes one stream of /v1/messages.
func (Codec) NewStreamEncoder(to codec.Answer) codec.StreamEncoder {
	return &streamEncoder{losses: to.Losses, w: answerWriter(512)}
}

// Encode returns the frames of one event; each is named after its type.
func (e *streamEncoder) Encode(ev *genwayv1.StreamGenerateTextResponse) ([]codec.Frame, error) {
	e.w.Reset()
	e.frames = e.frames[:0]
	fit.UnplacedInEvent(ev, protocol, e.losses)
	var err error
	switch p := ev.GetPayload().(type) {
	case *genwayv1.StreamGenerateTextResponse_Wire:
		e.pass(p.Wire)
	case *genwayv1.StreamGenerateTextResponse_Ping:
		e.begin("ping")
		e.send()
	case *genwayv1.StreamGenerateTextResponse_Started:
		e.start(p.Started)
	case *genwayv1.StreamGenerateTextResponse_PartStarted:
		err = e.partStarted(p.PartStarted)
	case *genwayv1.StreamGenerateTextResponse_PartDelta:
		err = e.partDelta(p.PartDelta)
	case *genwayv1.StreamGenerateTextResponse_PartCompleted:
		err = e.partCompleted(p.PartCompleted)
	case *genwayv1.StreamGenerateTextResponse_Completed:
		if !e.passed {
			err = e.complete(p.Completed)
		} else if !e.stopped {
			// Clients wait for it; some upstreams leave it out (case S3).
			e.begin("message_stop")
			e.send()
		}
	}
	if err == nil {
		err = e.w.Err()
	}
	if err != nil {
		return nil, err
	}
	return e.frames, nil
}

// Fail returns the protocol's error event.
func (e *streamEncoder) Fail(err *fault.Error) []codec.Frame {
	_, body := Codec{}.EncodeError(err)
	return []codec.Frame{{Event: "error", Data: oneLine(body)}}
}

// begin opens the data of an event; send closes it and makes it a frame.
func (e *streamEncoder) begin(event string) {
	e.frames = append(e.frames, codec.Frame{Event: event})
	e.w.Next()
	e.w.Begin()
	e.w.Str("type", event)
}

func (e *streamEncoder) send() {
	e.w.End()
	e.frames[len(e.frames)-1].Data = oneLine(e.w.Text())
}

// oneLine takes the line breaks out of JSON that came with them: they would end
// the data of an event.
func oneLine(data []byte) []byte {
	if bytes.IndexByte(data, '\n') < 0 && bytes.IndexByte(data, '\r') < 0 {
		return data
	}
	compact := append(jsontext.Value{}, data...)
	if compact.Compact(jsontext.AllowInvalidUTF8(true)) != nil {
		return data
	}
	return compact
}

func (e *streamEncoder) pass(f *genwayv1.WireFrame) {
	if f.GetProtocol() == protocol {
		e.passed, e.stopped = true, f.GetEvent() == "message_stop"
		e.frames = append(e.frames, codec.Frame{Event: f.GetEvent(), Data: f.GetData()})
	}
}

// start writes message_start: the message without content, and what is known of
// its usage (case U6).
func (e *streamEncoder) start(s *genwayv1.TextStarted) {
	resp := &genwayv1.GenerateTextResponse{Id: s.Id, Model: s.Model, CreateTime: s.CreateTime}
	e.id, e.tier, e.natives = s.Id, s.ServiceTier, s.NativeFields
	e.begin("message_start")
	e.w.Object("message")
	e.w.opening(resp)
	e.w.List("content")
	e.w.EndList()
	for _, name := range []string{"stop_reason", "stop_sequence", "stop_details"} {
		e.w.Null(name)
	}
	e.w.usage(s.Usage, s.ServiceTier)
	e.w.nullUnless(s.NativeFields, "context_management", "container", "diagnostics")
	e.w.natives(s.NativeFields, "", e.losses)
	e.w.End()
	e.send()
}

// complete writes how the answer ended and the whole of its usage, which
// message_start could not know (case U4).
func (e *streamEncoder) complete(c *genwayv1.TextCompleted) error {
	last := &genwayv1.CandidateEnd{}
	for _, end := range c.GetCandidates() {
		if e.chosen.Is(end.GetIndex()) {
			last = end
		}
	}
	e.how.reason, e.how.native = last.GetStopReason(), last.GetNativeStopReason()
	switch cut := codec.Cut(e.how.reason); {
	case cut && e.broken != nil:
		e.closeBlock()
	case cut && e.bare != nil:
		e.losses.Add(e.bare.path+".tool_call", codec.CutCall)
	case e.broken != nil:
		return codec.BrokenArguments(e.broken.GetName())
	default:
		e.sendBare()
	}
	how := blocked(c.GetPromptFeedback(), e.how, last.GetStopMessage(), last.GetNativeFields())
	fields := merged(e.natives, c.GetNativeFields())
	e.begin("message_delta")
	e.w.Object("delta")
	e.w.stopReason(how)
	e.w.StrOrNull("stop_sequence", last.StopSequence)
	e.w.stopDetails(how.word, how.message, last.GetNativeFields(), e.losses)
	if container := native(fields, "container"); container != nil {
		e.w.raw("container", container, "native_fields")
	} else {
		e.w.Null("container")
	}
	e.w.End()
	tier := c.GetServiceTier()
	if tier == "" {
		tier = e.tier
	}
	e.w.usage(c.GetUsage(), tier)
	if edits := native(fields, "context_management"); edits != nil {
		e.w.raw("context_management", edits, "native_fields")
	} else {
		e.w.noEdits()
	}
	e.w.natives(c.GetNativeFields(), "", e.losses, "container", "context_management")
	e.send()
	tellLost(last.GetNativeFields(), "candidates[0]", e.losses)
	e.begin("message_stop")
	e.send()
	return nil
}

// merged are the fields of the start and the end, the end's first, where native
// finds them.
func merged(start, end []*genwayv1.NativeField) []*genwayv1.NativeField {
	return append(append([]*genwayv1.NativeField{}, end...), start...)
}

// skips reports whether a part belongs to another candidate than the one that is shown, for which this protocol
// has no place.
func (e *streamEncoder) skips(candidate int32) bool {
	if e.chosen.Is(candidate) {
		return false
	}
	e.losses.Add("candidates", "the messages protocol has one answer")
	return true
}

func (e *streamEncoder) path(index int32) string {
	return member.Index("candidates[0].parts", int(index))
}
