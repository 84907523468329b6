package chat

import (
	"bytes"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/codec/fit"
	"github.com/genway/genway/codec/member"
	"github.com/genway/genway/codec/setting"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/go-json-experiment/json/jsontext"
)

// streamEncoder writes chunks: first the role, then the deltas, one chunk with
// the finish_reason for each choice, the usage if it was asked for, and [DONE].
type streamEncoder struct {
	*encoder
	chunks
	to       codec.Answer
	encoders map[int32]*choiceEncoder
	order    []*choiceEncoder
	started  bool
	done     bool
	// passThrough says that upstream frames pass through, and ended that [DONE] did.
	passThrough, ended bool
}

// NewStreamEncoder implements codec.Codec.
func (Codec) NewStreamEncoder(to codec.Answer) codec.StreamEncoder {
	return &streamEncoder{to: to, chunks: chunks{w: member.NewWriter(512)}, encoders: map[int32]*choiceEncoder{}}
}

var doneData = []byte("[DONE]")

// Encode implements codec.StreamEncoder. Nothing follows the completed event
// (T11).
func (s *streamEncoder) Encode(ev *genwayv1.StreamGenerateTextResponse) ([]codec.Frame, error) {
	s.reset()
	if s.done {
		return nil, nil
	}
	fit.UnplacedInEvent(ev, protocol, s.to.Losses)
	var err error
	switch p := ev.GetPayload().(type) {
	case *genwayv1.StreamGenerateTextResponse_Started:
		err = s.start(p.Started)
	case *genwayv1.StreamGenerateTextResponse_PartStarted:
		err = s.choiceOf(p.PartStarted.Candidate, p.PartStarted.GetPart()).open(p.PartStarted)
	case *genwayv1.StreamGenerateTextResponse_PartDelta:
		err = s.choiceOf(p.PartDelta.Candidate, nil).add(p.PartDelta)
	case *genwayv1.StreamGenerateTextResponse_PartCompleted:
		err = s.choiceOf(p.PartCompleted.Candidate, nil).close()
	case *genwayv1.StreamGenerateTextResponse_Completed:
		err = s.complete(p.Completed)
	case *genwayv1.StreamGenerateTextResponse_Wire:
		s.pass(p.Wire)
	}
	return s.frames, err
}

// Fail implements codec.StreamEncoder. The vendor's own streams end so: an error
// in place of a chunk, and [DONE] (S4). Its SDKs raise at the error and read no further;
// [DONE] is for clients that read until it comes. It ends a stream, and is no success.
func (s *streamEncoder) Fail(err *fault.Error) []codec.Frame {
	s.reset()
	if s.done {
		return nil
	}
	s.done = true
	s.raw(encodeError(err))
	s.raw(doneData)
	return s.frames
}

func (s *streamEncoder) start(t *genwayv1.TextStarted) error {
	if s.started {
		return nil
	}
	s.started = true
	s.encoder = newAnswerEncoder(t.Id, t.Model, t.CreateTime.GetSeconds(), s.to)
	s.envelope = answer{
		ID: s.id, Object: "chat.completion.chunk", Created: seconds(t.CreateTime.GetSeconds()),
		Model: t.Model, ServiceTier: setting.Tier(protocol, t.ServiceTier), SystemFingerprint: t.SystemFingerprint,
	}
	s.nullUsage = s.to.Request != nil && s.to.Request.IncludeUsage
	s.compose()
	var err error
	s.members, err = extra(t.NativeFields, "", s.losses)
	return err
}

// choiceOf finds the encoder of a choice, and opens it with its role. The content begins as null unless
// the first part is a text, as the vendor's does: an answer with only calls has none.
func (s *streamEncoder) choiceOf(index int32, first *genwayv1.Part) *choiceEncoder {
	if c, ok := s.encoders[index]; ok {
		return c
	}
	if s.encoder == nil {
		s.encoder = newAnswerEncoder("", "", 0, s.to)
	}
	c := &choiceEncoder{streamEncoder: s, index: index}
	s.encoders[index] = c
	s.order = append(s.order, c)
	begun := content{is: isNull}
	if first.GetText() != nil {
		begun.is = isText
	}
	c.err = c.write(&message{Role: "assistant", Content: begun}, nil)
	return c
}

func (s *streamEncoder) complete(t *genwayv1.TextCompleted) error {
	s.done = true
	if s.passThrough {
		if !s.ended {
			s.raw(doneData)
		}
		return nil
	}
	if tier := setting.Tier(protocol, t.ServiceTier); t.ServiceTier != "" && tier != s.envelope.ServiceTier {
		s.envelope.ServiceTier = tier
		s.compose()
	}
	if t.PromptFeedback != nil {
		s.choiceOf(0, nil).promptFeedback(t.PromptFeedback)
	}
	ends := s.ends(t)
	for i, end := range ends {
		c := s.choiceOf(end.Index, nil)
		if i == len(ends)-1 {
			var err error
			if s.members, err = extra(t.NativeFields, "", s.losses); err != nil {
				return err
			}
		}
		if err := c.finish(end); err != nil {
			return err
		}
	}
	if s.nullUsage && t.Usage != nil {
		u, err := s.usage(t.Usage)
		if err != nil {
			return err
		}
		last := s.envelope
		last.Choices, last.Usage = []choice{}, u
		if err := s.whole(last); err != nil {
			return err
		}
	}
	s.raw(doneData)
	return nil
}

// ends returns an end for every choice that was opened (T5). A blocked prompt has
// one choice, which a filter ended.
func (s *streamEncoder) ends(t *genwayv1.TextCompleted) []*genwayv1.CandidateEnd {
	ends := t.Candidates
	if len(ends) == 0 && t.PromptFeedback != nil {
		return []*genwayv1.CandidateEnd{{StopReason: genwayv1.StopReason_STOP_REASON_CONTENT_FILTER}}
	}
	for _, c := range s.order {
		found := false
		for _, e := range t.Candidates {
			found = found || e.Index == c.index
		}
		if !found {
			ends = append(ends, &genwayv1.CandidateEnd{Index: c.index})
		}
	}
	if len(ends) == 0 {
		ends = []*genwayv1.CandidateEnd{{}}
	}
	return ends
}

// pass writes an upstream's frame as it is, but for the chunk with only usage that
// the gateway asked for and the caller did not (U1).
func (s *streamEncoder) pass(f *genwayv1.WireFrame) {
	s.passThrough = true
	data := bytes.TrimSpace(f.GetData())
	if bytes.Equal(data, doneData) {
		s.ended = true
	} else if !f.GetUnasked() && (s.to.Request == nil || !s.to.Request.IncludeUsage) && onlyUsage(data) {
		return
	}
	s.frames = append(s.frames, codec.Frame{Event: f.GetEvent(), Data: f.GetData()})
}

// chunks writes frames. What all chunks of a stream have in common is spelled
// once; a text delta is put between without building anything.
type chunks struct {
	envelope  answer
	head      string // ends with the opening of choices
	tail      string
	nullUsage bool
	// members are unknown members for the next chunk.
	members jsontext.Value
	w       *member.Writer
	frames  []codec.Frame
}

// reset makes room for the frames of the next event.
func (c *chunks) reset() {
	c.w.Reset()
	c.frames = c.frames[:0]
}

// compose spells the common part of the chunks.
func (c *chunks) compose() {
	w := member.NewWriter(256)
	w.Begin()
	c.envelope.writeMembers(w)
	w.List("choices")
	c.head, c.tail = string(w.Text()), "]}"
	if c.nullUsage {
		c.tail = `],"usage":null}`
	}
}

// raw adds a frame of data.
func (c *chunks) raw(data []byte) {
	c.frames = append(c.frames, codec.Frame{Data: data})
}

// send adds the frame that was written.
func (c *chunks) send() error {
	if err := c.w.Err(); err != nil {
		return fault.Wrap(err, fault.BadUpstream, fault.ReasonMalformedAnswer, "the upstream's answer cannot be written as JSON")
	}
	c.raw(c.w.Text())
	return nil
}

// whole adds a frame that is not made of head and tail.
func (c *chunks) whole(a answer) error {
	c.w.Next()
	a.write(c.w)
	return c.send()
}

// chunk adds a chunk with one choice.
func (c *chunks) chunk(ch choice) error {
	if c.members != nil {
		a := c.envelope
		a.Choices, a.Extra = []choice{ch}, c.members
		c.members = nil
		return c.whole(a)
	}
	c.w.Next()
	c.w.Put(c.head)
	ch.write(c.w)
	c.w.Put(c.tail)
	return c.send()
}

// textChunk adds a chunk whose delta is one string; open and shut are the JSON around
// it.
func (c *chunks) textChunk(index int32, open, s, shut string) {
	c.w.Next()
	c.w.Put(c.head)
	c.w.Put(`{"index":`)
	c.w.Element(int64(index))
	c.w.Put(`,"delta":`)
	c.w.Put(open)
	c.w.String(s)
	c.w.Put(shut)
	c.w.Put(`,"logprobs":null,"finish_reason":null}`)
	c.w.Put(c.tail)
	c.raw(c.w.Text())
}

// onlyUsage reports whether a chunk has usage and no choices.
func onlyUsage(data []byte) bool {
	if !bytes.Contains(data, []byte(`"usage"`)) {
		return false
	}
	choices, usage := member.Value(data, "choices"), member.Value(data, "usage")
	return len(usage) > 0 && usage[0] == '{' && len(choices) > 0 && choices[0] == '[' && len(bytes.TrimSpace(choices[1:len(choices)-1])) == 0
}
