package generatecontent

import (
	"bytes"
	"slices"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/codec/fit"
	"github.com/genway/genway/codec/member"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/go-json-experiment/json/jsontext"
)

// NewStreamEncoder writes a stream of whole responses: a frame for each piece of
// text, for each tool call and other part when it is complete, and a last one
// with the finish reasons and the usage. No frame has an event name: the vendor's
// Go SDK takes only data lines.
func (Codec) NewStreamEncoder(to codec.Answer) codec.StreamEncoder {
	return &streamEncoder{to: member.NewWriter(512), losses: to.Losses, candidates: map[int32]*candidateWriter{}}
}

type streamEncoder struct {
	losses *codec.Losses
	head
	tier       string
	fields     []*genwayv1.NativeField
	candidates map[int32]*candidateWriter
	// passed says that the upstream's own frames went through: its last one has
	// ended the answer.
	passed bool
	to     *member.Writer
	list   []codec.Frame
}

func (s *streamEncoder) Encode(ev *event) ([]codec.Frame, error) {
	s.to.Reset()
	s.list = s.list[:0]
	fit.UnplacedInEvent(ev, protocol, s.losses)
	switch p := ev.GetPayload().(type) {
	case *genwayv1.StreamGenerateTextResponse_Started:
		st := p.Started
		s.head = head{st.Id, st.Model, encodeTime(st.CreateTime)}
		s.tier, s.fields = st.ServiceTier, st.NativeFields
	case *genwayv1.StreamGenerateTextResponse_PartStarted:
		return s.frames(s.candidate(p.PartStarted.Candidate).start(p.PartStarted))
	case *genwayv1.StreamGenerateTextResponse_PartDelta:
		return s.frames(s.candidate(p.PartDelta.Candidate).delta(p.PartDelta))
	case *genwayv1.StreamGenerateTextResponse_PartCompleted:
		return s.frames(s.candidate(p.PartCompleted.Candidate).complete())
	case *genwayv1.StreamGenerateTextResponse_Completed:
		if s.passed {
			return nil, nil
		}
		return s.completed(p.Completed)
	case *genwayv1.StreamGenerateTextResponse_Wire:
		if p.Wire.GetProtocol() == protocol {
			s.passed = true
			return []codec.Frame{{Data: p.Wire.GetData()}}, nil
		}
	}
	return nil, nil
}

func (s *streamEncoder) candidate(index int32) *candidateWriter {
	c, ok := s.candidates[index]
	if !ok {
		c = &candidateWriter{index: index, writer: writer{losses: s.losses, answer: true}}
		s.candidates[index] = c
	}
	return c
}

// frames writes a frame for each of the candidates, which are those of one.
func (s *streamEncoder) frames(candidates []candidate, err error) ([]codec.Frame, error) {
	if err != nil || len(candidates) == 0 {
		return nil, err
	}
	for i := range candidates {
		w := s.response()
		w.Candidates = candidates[i : i+1]
		if err := s.frame(w); err != nil {
			return nil, err
		}
	}
	return s.list, nil
}

func (s *streamEncoder) frame(w *response) error {
	s.to.Next()
	w.write(s.to)
	if err := s.to.Err(); err != nil {
		return unwritable(err)
	}
	s.list = append(s.list, codec.Frame{Data: s.to.Text()})
	return nil
}

// completed writes the last frame. Its candidates have an empty text, as the
// vendor's have: some clients want parts in every frame.
func (s *streamEncoder) completed(end *genwayv1.TextCompleted) ([]codec.Frame, error) {
	w := s.response()
	fields := slices.Concat(s.fields, end.NativeFields)
	tier := s.tier
	if end.ServiceTier != "" {
		tier = end.ServiceTier
	}
	var err error
	if w.Extra, err = member.Extra(protocol, fields, "", s.losses); err != nil {
		return nil, err
	}
	if w.PromptFeedback, err = encodeFeedback(end.PromptFeedback, s.losses); err != nil {
		return nil, err
	}
	if w.UsageMetadata, err = encodeUsage(end.Usage, tier, s.losses); err != nil {
		return nil, err
	}
	for i, e := range end.Candidates {
		c := s.candidate(e.Index)
		switch {
		case (c.broken != nil || c.bare != nil) && codec.Cut(e.StopReason):
			s.losses.Add(member.Within(member.Index("candidates", i), ".parts", int(c.at))+".tool_call", codec.CutCall)
		case c.broken != nil:
			return nil, codec.BrokenArguments(c.broken.GetName())
		default:
			if _, err := s.frames(c.sendBare()); err != nil {
				return nil, err
			}
		}
		wc, err := encodeEnd(e, []part{{Text: new(string)}}, &c.grounding, nil, member.Index("candidates", i), s.losses)
		if err != nil {
			return nil, err
		}
		w.Candidates = append(w.Candidates, *wc)
	}
	if err := s.frame(w); err != nil {
		return nil, err
	}
	return s.list, nil
}

// Fail returns the error as the last frame's data, where clients look for it beside
// candidates (case S4).
func (s *streamEncoder) Fail(err *fault.Error) []codec.Frame {
	_, body := Codec{}.EncodeError(err)
	line := jsontext.Value(bytes.Clone(body))
	if line.Compact(jsontext.AllowInvalidUTF8(true), jsontext.PreserveRawStrings(true)) != nil {
		_, line = Codec{}.EncodeError(&fault.Error{Kind: err.Kind, Message: err.Message})
	}
	return []codec.Frame{{Data: line}}
}
