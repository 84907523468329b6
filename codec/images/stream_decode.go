package images

import (
	"bytes"
	"cmp"
	"math"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/codec/member"
	"github.com/genway/genway/codec/openai"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/go-json-experiment/json/jsontext"
	"google.golang.org/protobuf/proto"
)

// StreamDecoder reads the events of one stream of images. The protocol has no event for
// the end: a stream is complete when it has given as many images as were asked for, or
// says [DONE] after one. Not for concurrent use.
type StreamDecoder struct {
	// Watch says that the caller gets the events themselves: images are not decoded, and
	// what cannot be read is the caller's to judge.
	Watch bool

	want, count   int32
	partials      int32 // previews of the image under way
	given         int   // previews and images
	started, done bool
	size, quality string
	usage         *genwayv1.Usage
}

// NewStreamDecoder makes a decoder of the answer to a request for count images; 0 is one.
func (Codec) NewStreamDecoder(count int32) *StreamDecoder {
	return &StreamDecoder{want: max(count, 1)}
}

// Usage is the usage of the images read so far; nil where the upstream has not reported it.
func (s *StreamDecoder) Usage() *genwayv1.Usage { return s.usage }

// Given is how many previews and images the stream has given.
func (s *StreamDecoder) Given() int { return s.given }

// Finished reports that all images are there.
func (s *StreamDecoder) Finished() bool { return s.count >= s.want }

// Decode returns the canonical events of one frame, as codec.StreamDecoder does.
func (s *StreamDecoder) Decode(f codec.Frame) ([]*genwayv1.StreamGenerateImageResponse, error) {
	data := bytes.TrimSpace(f.Data)
	if s.done || len(data) == 0 {
		return nil, nil
	}
	if string(data) == doneData {
		s.want = min(s.want, max(s.count, 1))
		return nil, nil
	}
	if f.Event == "error" || failed(data) {
		s.done = true
		err := openai.Decode(0, data, protocol)
		err.Usage = s.usage
		return nil, err
	}
	e, err := s.read(data)
	if err != nil {
		return nil, err
	}
	switch e.Type {
	case drawing + partialImage, editing + partialImage:
		s.given++
		s.partials++
		return s.begin(e, Event(&genwayv1.PartialImage{
			ImageIndex: s.count, PartialIndex: s.partials - 1, Data: e.B64JSON, CreateTime: member.Time(e.CreatedAt),
			Background: e.Background, OutputFormat: e.OutputFormat, Quality: e.Quality, Size: e.Size, NativeFields: member.Natives(protocol, e.Extra, nil),
		})), nil
	case drawing + imageFinished, editing + imageFinished:
		image := &genwayv1.FinishedImage{
			ImageIndex: s.count, CreateTime: member.Time(e.CreatedAt), Background: e.Background, OutputFormat: e.OutputFormat, Quality: e.Quality, Usage: withSVG(e.Usage.canonical(), member.Value(data, svgUsage)),
			Image: &genwayv1.GeneratedImage{
				Source: &genwayv1.GeneratedImage_Data{Data: e.B64JSON}, Size: e.Size, NativeFields: member.Natives(protocol, e.Extra, nil),
			},
		}
		s.given++
		s.count++
		s.partials, s.size, s.quality = 0, e.Size, e.Quality
		s.usage = AddUsage(s.usage, image.GetUsage())
		if !s.Watch && len(e.B64JSON) == 0 {
			s.done = true
			err := fault.New(fault.BadUpstream, fault.ReasonMalformedAnswer, emptyImage)
			err.Usage = s.usage
			return nil, err
		}
		return s.begin(e, Event(image)), nil
	}
	return nil, nil
}

// read reads an event, of which a watcher needs little.
func (s *StreamDecoder) read(data []byte) (*wireEvent, error) {
	if s.Watch {
		var w watchedEvent
		member.Fit(data, &w)
		return &wireEvent{Type: w.Type, Quality: w.Quality, Size: w.Size, Usage: w.Usage}, nil
	}
	e := &wireEvent{}
	return e, member.DecodeAnswer(data, e)
}

// begin returns an event behind the one that opens the stream.
func (s *StreamDecoder) begin(e *wireEvent, ev *genwayv1.StreamGenerateImageResponse) []*genwayv1.StreamGenerateImageResponse {
	if s.started {
		return []*genwayv1.StreamGenerateImageResponse{ev}
	}
	s.started = true
	return []*genwayv1.StreamGenerateImageResponse{Event(&genwayv1.ImageStarted{CreateTime: member.Time(e.CreatedAt)}), ev}
}

// Close returns the end of the stream once the upstream's bytes have ended, or the fault
// of one that was cut.
func (s *StreamDecoder) Close() ([]*genwayv1.StreamGenerateImageResponse, error) {
	if s.done {
		return nil, nil
	}
	s.done = true
	if !s.Finished() {
		err := fault.New(fault.BadUpstream, fault.ReasonStreamCut, "the upstream's stream ended before all images were there")
		err.Usage = s.usage
		return nil, err
	}
	return []*genwayv1.StreamGenerateImageResponse{Event(&genwayv1.ImageCompleted{Count: s.count, Size: s.size, Quality: s.quality, Usage: s.usage})}, nil
}

// failed reports whether an event is a failure: the SDK takes each with a member error
// for one (ssestream.Stream).
func failed(data []byte) bool {
	raw := jsontext.Value(member.Value(data, "error"))
	return len(raw) > 0 && raw.Kind() != 'n'
}

// AddUsage returns the sum of what two images used; nil where neither says.
func AddUsage(sum, u *genwayv1.Usage) *genwayv1.Usage {
	if sum == nil || u == nil {
		return proto.CloneOf(cmp.Or(sum, u))
	}
	sum.InputTokens, sum.OutputTokens, sum.TotalTokens = add(sum.InputTokens, u.InputTokens), add(sum.OutputTokens, u.OutputTokens), add(sum.TotalTokens, u.TotalTokens)
	for _, d := range []struct{ to, from **int64 }{
		{&sum.InputImageTokens, &u.InputImageTokens}, {&sum.InputTextTokens, &u.InputTextTokens},
		{&sum.OutputImageTokens, &u.OutputImageTokens}, {&sum.OutputTextTokens, &u.OutputTextTokens},
	} {
		if *d.from == nil {
			continue
		}
		if *d.to == nil {
			*d.to = new(int64)
		}
		**d.to = add(**d.to, **d.from)
	}
	sum.Models = append(sum.Models, u.Models...)
	return sum
}

// add adds two figures of an upstream's, which may be absurd.
func add(a, b int64) int64 {
	if a > 0 && b > math.MaxInt64-a {
		return math.MaxInt64
	}
	return a + b
}
