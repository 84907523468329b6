package generatecontent

import (
	"bytes"
	"slices"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/codec/member"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

type event = genwayv1.StreamGenerateTextResponse

// NewStreamDecoder reads a stream of whole responses, each with a further piece of
// the answer (streamGenerateContent?alt=sse). The completed event comes with
// Close, for usage may follow the frame that ends a candidate (case U3).
func (c Codec) NewStreamDecoder() codec.StreamDecoder {
	return &streamDecoder{candidates: map[int32]*candidateStream{}, room: newFrameRoom()}
}

type streamDecoder struct {
	started, over bool
	usage         *usage
	feedback      *genwayv1.PromptFeedback
	fields        []*genwayv1.NativeField
	candidates    map[int32]*candidateStream
	order         []int32
	// events are the events of the frame that is being read.
	events []*event
	// room is used again for each frame.
	room *member.Room
}

// newFrameRoom returns the memory of the frames that streams are made of, hundreds in a row, each
// with a piece of text.
func newFrameRoom() *member.Room {
	return member.NewRoom(new(member.Slot[candidate]), new(member.Slot[content]), new(member.Slot[part]))
}

func (d *streamDecoder) Decode(f codec.Frame) ([]*event, error) {
	if d.over || len(bytes.TrimSpace(f.Data)) == 0 {
		return nil, nil
	}
	d.events = nil
	err := d.decode(f.Data)
	d.over = err != nil
	return d.events, err
}

func (d *streamDecoder) decode(data []byte) error {
	var w response
	if !member.ReadIn(d.room, data, &w) {
		if err := member.DecodeLoose(data, &w, "usageMetadata", "createTime"); err != nil {
			return err
		}
	}
	if present(w.Error) {
		return Codec{}.DecodeError(0, data)
	}
	fields, err := natives(w.Extra, "", nil)
	if err != nil {
		return fault.MalformedAnswer(err)
	}
	if err := d.frame(&w, fields); err != nil {
		return fault.MalformedAnswer(err)
	}
	if !d.started {
		d.events = append(d.events, d.start(&w))
	}
	for i := range w.Candidates {
		wc := &w.Candidates[i]
		path := member.Index("candidates", i)
		index, err := int32Of(&wc.Index, path, "index")
		if err != nil {
			return fault.MalformedAnswer(err)
		}
		if err := d.candidate(*index).frame(wc, path); err != nil {
			return fault.MalformedAnswer(err)
		}
	}
	return nil
}

// frame takes what a frame says of the whole answer.
func (d *streamDecoder) frame(w *response, fields []*genwayv1.NativeField) error {
	feedback, left, err := w.PromptFeedback.canonical()
	if err != nil {
		return err
	}
	if feedback != nil {
		d.feedback = feedback
	}
	if left != nil {
		fields = append(fields, left)
	}
	d.fields = merge(d.fields, fields)
	if w.UsageMetadata == nil {
		return nil
	}
	if d.usage == nil {
		d.usage = &usage{}
	}
	d.usage.add(w.UsageMetadata)
	return nil
}

// start returns the started event, with what the first frame knows of the input.
func (d *streamDecoder) start(w *response) *event {
	d.started = true
	s := &genwayv1.TextStarted{Id: w.ResponseID, Model: w.ModelVersion}
	var left *genwayv1.NativeField
	if s.CreateTime, left = decodeTime(w.CreateTime); left != nil {
		s.NativeFields = append(s.NativeFields, left)
	}
	if w.UsageMetadata != nil {
		s.ServiceTier = w.UsageMetadata.ServiceTier
		known := w.UsageMetadata.canonical()
		s.Usage = &genwayv1.Usage{
			ServiceTier:          known.ServiceTier,
			InputTokens:          known.InputTokens,
			CacheReadInputTokens: known.CacheReadInputTokens,
			InputTextTokens:      known.InputTextTokens,
			InputImageTokens:     known.InputImageTokens,
			InputAudioTokens:     known.InputAudioTokens,
		}
	}
	return codec.Event(s)
}

func (d *streamDecoder) candidate(index int32) *candidateStream {
	c, ok := d.candidates[index]
	if !ok {
		c = &candidateStream{Emitter: codec.NewEmitter(index, &d.events), index: index}
		d.candidates[index] = c
		at, _ := slices.BinarySearch(d.order, index)
		d.order = slices.Insert(d.order, at, index)
	}
	return c
}

// Finished reports that every candidate has its finishReason, or that the prompt
// was blocked, so that only usage can follow (case S3).
func (d *streamDecoder) Finished() bool {
	cut := len(d.order) == 0 && d.feedback == nil
	for _, c := range d.candidates {
		cut = cut || c.reason == "" && d.feedback == nil
	}
	return d.started && !cut
}

// Reported is the usage so far; nil if no frame has reported any.
func (d *streamDecoder) Reported() *genwayv1.Usage {
	if d.usage == nil {
		return nil
	}
	return d.usage.canonical()
}

// Close ends the stream. A candidate without a finishReason, and an answer without
// candidates whose prompt was not blocked, were cut (case S5).
func (d *streamDecoder) Close() ([]*event, error) {
	if d.over {
		return nil, nil
	}
	d.over = true
	if !d.Finished() {
		return nil, fault.New(fault.BadUpstream, fault.ReasonStreamCut, "the upstream's stream ended before the answer did")
	}
	end := &genwayv1.TextCompleted{PromptFeedback: d.feedback, NativeFields: d.fields}
	if d.usage != nil {
		end.ServiceTier, end.Usage = d.usage.ServiceTier, d.usage.canonical()
	}
	d.events = nil
	for _, index := range d.order {
		ended := d.candidates[index].end()
		if d.feedback != nil {
			ended.StopReason = blocked(ended.StopReason)
		}
		end.Candidates = append(end.Candidates, ended)
	}
	return append(d.events, codec.Event(end)), nil
}
