package explain

import (
	"bytes"

	"github.com/genway/genway/codec"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/tmaxmax/go-sse"
	"google.golang.org/protobuf/proto"
)

// folder adds up the events of a stream to the answer that they amount to, as far as they came. Its
// zero value adds up the contract's events; with a decoder it adds up frames of a protocol.
type folder struct {
	decoder codec.StreamDecoder
	answer  codec.Accumulator
	// open is the part that is being streamed, by candidate.
	open map[int32]int32
	// frames is how many there were, begun whether any was of the answer.
	frames int
	begun  bool
	err    error
}

// frame adds a frame. Nothing is added behind an error.
func (f *folder) frame(frame codec.Frame) {
	f.frames++
	if f.err != nil || len(frame.Data) == 0 {
		return
	}
	events, err := f.decoder.Decode(codec.Frame{Event: frame.Event, Data: bytes.Clone(frame.Data)})
	f.add(events, err)
}

// close ends the frames.
func (f *folder) close() {
	if f.err == nil {
		f.add(f.decoder.Close())
	}
}

func (f *folder) add(events []*genwayv1.StreamGenerateTextResponse, err error) {
	for _, ev := range events {
		if f.err == nil {
			f.err = f.event(ev)
		}
	}
	if f.err == nil {
		f.err = err
	}
}

// event adds an event, which is not changed.
func (f *folder) event(ev *genwayv1.StreamGenerateTextResponse) error {
	if started := ev.GetPartStarted(); started != nil {
		if f.open == nil {
			f.open = map[int32]int32{}
		}
		f.open[started.GetCandidate()] = started.GetIndex()
	} else if completed := ev.GetPartCompleted(); completed != nil {
		delete(f.open, completed.GetCandidate())
	}
	f.begun = f.begun || ev.GetPing() == nil && ev.GetWire() == nil
	return f.answer.Add(proto.CloneOf(ev))
}

// response is the answer. Parts that have no end are as they came so far.
func (f *folder) response() *genwayv1.GenerateTextResponse {
	for candidate, index := range f.open {
		_ = f.answer.Add(codec.Event(&genwayv1.PartCompleted{Candidate: candidate, Index: index})) // it is open
	}
	clear(f.open)
	return f.answer.Response()
}

// framesOf reads server-sent events; the last one may lack its end, as the adapter takes it.
func framesOf(stream []byte) (frames []codec.Frame) {
	for ev, err := range sse.Read(bytes.NewReader(append(bytes.Clone(stream), "\n\n"...)), &sse.ReadConfig{MaxEventSize: MaxBody + 16}) {
		if err != nil {
			break // no event is larger than the answer
		}
		frames = append(frames, codec.Frame{Event: ev.Type, Data: []byte(ev.Data)})
	}
	return frames
}
