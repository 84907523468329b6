package chat

import (
	"bytes"
	"cmp"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/codec/member"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

// streamDecoder reads chunks. It returns usage and the ends of the choices when the
// answer is complete: with [DONE], or at the end of the upstream's bytes when every
// choice has its finish_reason (U3, S3, S5).
type streamDecoder struct {
	choices []*choiceDecoder
	events  []*genwayv1.StreamGenerateTextResponse
	usage   *genwayv1.Usage
	fields  []*genwayv1.NativeField
	tier    string
	// fingerprint is the first that a chunk has, and late says that the stream had been started
	// without it by then.
	fingerprint string
	late        bool
	started     bool
	done        bool
	// completed says that the answer was given to its end.
	completed bool
	// failure is that of a stream whose end is no end of an answer.
	failure *fault.Error
	// room and chunk are used again for each chunk.
	room  *member.Room
	chunk answer
}

// NewStreamDecoder implements codec.Codec.
func (Codec) NewStreamDecoder() codec.StreamDecoder { return &streamDecoder{room: newChunkRoom()} }

// Decode implements codec.StreamDecoder.
func (s *streamDecoder) Decode(f codec.Frame) ([]*genwayv1.StreamGenerateTextResponse, error) {
	data := bytes.TrimSpace(f.Data)
	if s.done || len(data) == 0 {
		return nil, nil
	}
	s.events = nil
	if bytes.Equal(data, doneData) {
		return s.end()
	}
	if f.Event == "error" {
		return nil, s.fail(decodeError(0, data))
	}
	a := &s.chunk
	if *a = (answer{}); !member.ReadIn(s.room, data, a) {
		if err := member.DecodeLoose(data, a, "usage", "created"); err != nil {
			return nil, s.fail(err)
		}
	}
	if given(a.Error) {
		return nil, s.fail(decodeError(0, data))
	}
	if s.fingerprint == "" {
		s.fingerprint, s.late = a.SystemFingerprint, s.started && a.SystemFingerprint != ""
	}
	s.start(a)
	s.report(a.Usage, a.ServiceTier)
	s.fields = replaceNatives(s.fields, natives(a.Extra))
	d := decoder{body: data}
	for i := range a.Choices {
		c := &a.Choices[i]
		if err := s.choice(c, int32(i)).read(d, c); err != nil {
			return s.events, s.fail(fault.MalformedAnswer(err))
		}
	}
	return s.events, nil
}

// Close implements codec.StreamDecoder.
func (s *streamDecoder) Close() ([]*genwayv1.StreamGenerateTextResponse, error) {
	if s.done {
		return nil, nil
	}
	s.events = nil
	if !s.Finished() {
		return nil, s.fail(fault.New(fault.BadUpstream, fault.ReasonStreamCut, "the upstream's stream ended before the answer was complete"))
	}
	events, err := s.end()
	if s.failure != nil {
		return nil, s.fail(s.failure)
	}
	return events, err
}

// Finished reports that every choice has its finish_reason, so that only usage can
// follow: some upstreams leave [DONE] out and the connection open (S3). A stream that ended with
// no answer has ended, too; Close gives the failure, since callers of this protocol have the end.
func (s *streamDecoder) Finished() bool {
	whole := len(s.choices) > 0
	for _, cd := range s.choices {
		whole = whole && cd.finished
	}
	return whole || s.failure != nil
}

// Reported is the usage so far; nil if no chunk has reported any.
func (s *streamDecoder) Reported() *genwayv1.Usage { return s.usage }

func (s *streamDecoder) fail(err error) error {
	s.done = true
	return err
}

// start opens the stream with the first chunk that belongs to the answer: Azure
// sends one of its own ahead of it, without an id.
func (s *streamDecoder) start(a *answer) {
	if s.started || a.ID == "" && len(a.Choices) == 0 {
		return
	}
	s.started = true
	s.emit(codec.Event(&genwayv1.TextStarted{
		Id: a.ID, Model: a.Model, CreateTime: a.Created.time(),
		ServiceTier: a.ServiceTier, SystemFingerprint: s.fingerprint,
	}))
}

func (s *streamDecoder) emit(ev *genwayv1.StreamGenerateTextResponse) {
	s.events = append(s.events, ev)
}

func (s *streamDecoder) choice(c *choice, place int32) *choiceDecoder {
	if c.Index != nil {
		place = *c.Index
	}
	for _, cd := range s.choices {
		if cd.index == place {
			return cd
		}
	}
	cd := &choiceDecoder{queue: queue{Emitter: codec.NewEmitter(place, &s.events), index: place}}
	s.choices = append(s.choices, cd)
	return cd
}

// unanswered reports whether the answer has no choices, one that says nothing, or a call that has no
// function, or one without a name, or a last call without arguments and without a reason to stop. That is a
// failure, as of a unary answer.
func (s *streamDecoder) unanswered() bool {
	if len(s.choices) == 0 {
		s.failure = noChoices(s.usage)
	}
	for _, cd := range s.choices {
		if !cd.began && !cd.finished {
			s.failure = voidChoice(s.usage)
		}
		for i, st := range cd.list {
			missing := ""
			switch {
			case st.kind != kindCall:
			case !st.defined:
				missing = "choices.delta.tool_calls.function"
			case st.opening.GetToolCall().GetName() == "":
				missing = "choices.delta.tool_calls.function.name"
			case cd.word == "" && i == len(cd.list)-1 && codec.AreNone(st.text.String()):
				missing = "choices.delta.tool_calls.function.arguments"
			}
			if missing != "" {
				s.failure = fault.MalformedAnswer(fault.Missing(missing))
				s.failure.Usage = s.usage
			}
		}
	}
	return s.failure != nil
}

// report takes over the usage and the tier that a chunk reports, if it does.
func (s *streamDecoder) report(u *usage, tier string) {
	s.tier = cmp.Or(tier, s.tier)
	s.usage = mergeUsage(s.usage, u.decode(s.tier))
	if s.usage != nil {
		s.usage.ServiceTier = s.tier
	}
}

// end closes every part and the stream.
func (s *streamDecoder) end() ([]*genwayv1.StreamGenerateTextResponse, error) {
	if !s.started {
		return nil, s.fail(fault.New(fault.BadUpstream, fault.ReasonStreamCut, "the upstream's stream ended without an answer"))
	}
	if s.usage != nil {
		codec.Completed(s.usage)
	}
	if s.unanswered() {
		return nil, nil
	}
	s.done, s.completed = true, true
	completed := &genwayv1.TextCompleted{Usage: s.usage, ServiceTier: s.tier, NativeFields: s.fields}
	var losses codec.Losses
	for _, cd := range s.choices {
		completed.Candidates = append(completed.Candidates, cd.end())
		loseLogprobs(cd.index, cd.tokens, cd.refused, &losses)
	}
	if s.late {
		// As vLLM sends it, with the usage. The contract has it in the event that starts a stream.
		losses.Add("system_fingerprint", "it came after the stream had begun")
	}
	completed.Losses = losses.List()
	s.emit(codec.Event(completed))
	return s.events, nil
}
