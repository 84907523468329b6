package interactions

import (
	"bytes"
	"slices"
	"strconv"
	"strings"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/codec/google"
	"github.com/genway/genway/codec/member"
	"github.com/genway/genway/codec/stored"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/go-json-experiment/json/jsontext"
	"google.golang.org/protobuf/proto"
)

const (
	memberBackground = "background"
	memberPrevious   = "previous_interaction_id"
)

var form = stored.Form{
	Protocol: protocol, Noun: "Interaction", Prefix: "v1_gw", Previous: memberPrevious, Output: "steps", Elements: inputSteps,
	Queued: inProgress, InProgress: inProgress, Failed: failed, Cancelled: cancelled,
	Failure: func(err *fault.Error) member.Member {
		w := member.NewWriter(256)
		w.Begin()
		w.Str("code", strings.ToLower(google.Word(err)))
		w.Str("message", err.Message)
		w.End()
		said, _ := w.Finish() // strings cannot fail
		return member.Member{Name: errorsMember, Value: append(append([]byte{'['}, said...), ']')}
	},
	PreviousNotFound: func(id string) error {
		err := fault.New(fault.NotFound, stored.ReasonNotFound, "%s: no interaction with the identifier '%.100s' is stored for this key", memberPrevious, id)
		err.Param = memberPrevious
		return err
	},
}

// Stored implements stored.Codec.
func (Codec) Stored() *stored.Form { return &form }

// inputSteps returns an input as steps. Contents that are in none are one step of the user together.
func inputSteps(all jsontext.Value) []jsontext.Value {
	var steps, loose []jsontext.Value
	end := func() {
		if len(loose) == 0 {
			return
		}
		w := member.NewWriter(64)
		w.Begin()
		w.Str("type", userInput)
		w.List("content")
		for _, c := range loose {
			w.Value(c)
		}
		w.EndList()
		w.End()
		step, _ := w.Finish() // its values are valid JSON
		steps, loose = append(steps, step), nil
	}
	switch all.Kind() {
	case '"':
		loose = append(loose, append(append(jsontext.Value(`{"type":"text","text":`), all...), '}'))
	case '{':
		all = append(append(jsontext.Value{'['}, all...), ']')
		fallthrough
	case '[':
		for _, element := range member.Elements(all) {
			switch text(element, "type") {
			case "text", "image", "audio", "video", "document":
				loose = append(loose, element)
			default:
				end()
				steps = append(steps, element)
			}
		}
	}
	end()
	return steps
}

// EncodeStored implements codec.Storer.
func (c Codec) EncodeStored(resp *genwayv1.GetResponseResponse) ([]byte, error) {
	return form.Encode(resp, c)
}

// EncodeDeleted implements codec.Storer (SDK: Empty).
func (Codec) EncodeDeleted(*genwayv1.DeleteResponseResponse) ([]byte, error) {
	return []byte("{}"), nil
}

// Replay implements stored.Codec. An interaction that has failed or was cancelled has the events of its beginning and its end.
func (c Codec) Replay(body []byte) ([]codec.Frame, error) {
	resp, err := c.DecodeResponse(body)
	if err != nil {
		resp = &genwayv1.GenerateTextResponse{Id: text(body, "id"), Model: text(body, "model")}
	}
	resp.Stored = true
	e := c.newStreamEncoder(codec.Answer{})
	var frames []codec.Frame
	for _, ev := range codec.Events(resp, nil) {
		some, err := e.Encode(ev)
		if err != nil {
			return nil, err
		}
		if ev.GetCompleted() != nil {
			break
		}
		for _, f := range some {
			frames = append(frames, codec.Frame{Event: f.Event, Data: bytes.Clone(f.Data)})
		}
	}
	last, err := c.End(body, int64(len(frames)))
	return append(frames, last), err
}

// End implements stored.Codec. An edge adds the sentinel.
func (Codec) End(body []byte, number int64) (codec.Frame, error) {
	body, err := member.Patch(body, member.Member{Name: form.Output}) // which the events before have
	if err != nil {
		return codec.Frame{}, err
	}
	const event = "interaction.completed"
	w := member.NewWriter(len(body) + 96)
	w.Begin()
	w.Raw("interaction", body)
	w.Str(eventID, strconv.FormatInt(number, 10))
	w.Str(eventType, event)
	w.End()
	data, err := w.Finish()
	return codec.Frame{Event: event, Data: data}, err
}

// recorder implements stored.Recorder.
type recorder struct {
	encoder *streamEncoder
	folder  codec.Accumulator
	to      codec.Answer
	body    []byte
}

// NewRecorder implements stored.Codec.
func (c Codec) NewRecorder(to codec.Answer) stored.Recorder {
	return &recorder{encoder: c.newStreamEncoder(to), to: codec.Answer{Request: to.Request}}
}

// Add implements stored.Recorder.
func (r *recorder) Add(ev *genwayv1.StreamGenerateTextResponse) ([]codec.Frame, error) {
	frames, err := r.encoder.Encode(ev)
	frames = slices.DeleteFunc(frames, func(f codec.Frame) bool { return string(f.Data) == sentinel })
	switch {
	case err != nil:
	case ev.GetStarted() != nil && r.body != nil:
		r.folder.Start(ev.GetStarted())
	case ev.GetPartStarted() != nil: // the caller's edge reads the part, to which the folder adds what follows
		err = r.folder.Add(proto.CloneOf(ev))
	default:
		err = r.folder.Add(ev)
	}
	if err != nil || ev.GetStarted() == nil && ev.GetCompleted() == nil {
		return frames, err
	}
	resp := r.folder.Response()
	if r.body, err = (Codec{}).EncodeResponse(resp, r.to); err == nil && ev.GetStarted() != nil {
		r.body, err = form.As(r.body, genwayv1.ResponseStatus_RESPONSE_STATUS_IN_PROGRESS)
	}
	return frames, err
}

// Body implements stored.Recorder.
func (r *recorder) Body() []byte { return bytes.Clone(r.body) }
