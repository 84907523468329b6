package codec

import (
	"github.com/genway/genway/codec/fault"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

// Sequence checks that the events of a stream come in the order of the contract
// (genway/v1/stream.proto):
//
//	started (part_started part_delta* part_completed)* completed
//
// Parts of a candidate count up from 0 and do not overlap, a delta fits the kind of its part, and
// each candidate has exactly one end. Behind an event that passes through (wire), which stands for
// the others, only completed and more of them may follow. Pings, and events of a newer contract, are
// allowed anywhere.
type Sequence struct {
	// Protocol is that of the caller's own body: events of no other may pass through, and none where
	// it is unspecified.
	Protocol genwayv1.Protocol

	started, passesThrough, completed bool
	// first is the state of candidate 0: most streams have no other.
	first  candidateSequence
	others map[int32]*candidateSequence
}

// candidateSequence is how far one candidate has come.
type candidateSequence struct {
	next      int32 // the index of the open part, or of the next one
	isOpen    bool
	part      *genwayv1.Part // the open one as it was started
	summaries int32          // of an open thinking part
	ended     bool
}

// Check checks the next event. An event out of order is an error of kind BadUpstream.
func (s *Sequence) Check(ev *genwayv1.StreamGenerateTextResponse) error {
	switch p := ev.GetPayload().(type) {
	case nil, *genwayv1.StreamGenerateTextResponse_Ping:
		return nil
	case *genwayv1.StreamGenerateTextResponse_Wire:
		if s.Protocol == genwayv1.Protocol_PROTOCOL_UNSPECIFIED || p.Wire.GetProtocol() != s.Protocol {
			return disorder("an event of another protocol passes through")
		}
		s.passesThrough = true
		return nil // an upstream's own events may follow its end
	}
	if s.completed {
		return disorder("an event follows the end")
	}
	if s.passesThrough {
		if s.completed = ev.GetCompleted() != nil; !s.completed {
			return disorder("an event follows one that passes through")
		}
		return nil
	}
	if started := ev.GetStarted() != nil; started == s.started {
		if started {
			return disorder("it starts twice")
		}
		return disorder("an event comes ahead of its start")
	}
	switch p := ev.GetPayload().(type) {
	case *genwayv1.StreamGenerateTextResponse_Started:
		s.started = true
	case *genwayv1.StreamGenerateTextResponse_PartStarted:
		return s.partStarted(p.PartStarted)
	case *genwayv1.StreamGenerateTextResponse_PartDelta:
		return s.partDelta(p.PartDelta)
	case *genwayv1.StreamGenerateTextResponse_PartCompleted:
		return s.partCompleted(p.PartCompleted)
	case *genwayv1.StreamGenerateTextResponse_Completed:
		return s.complete(p.Completed)
	}
	return nil
}

func (s *Sequence) partStarted(p *genwayv1.PartStarted) error {
	c, err := s.candidate(p.GetCandidate())
	if err != nil {
		return err
	}
	if c.isOpen || p.GetIndex() != c.next {
		return disorder("a part starts out of order")
	}
	c.isOpen, c.part = true, p.GetPart()
	c.summaries = int32(len(c.part.GetThinking().GetSummary()))
	return nil
}

func (s *Sequence) partDelta(d *genwayv1.PartDelta) error {
	c, err := s.candidate(d.GetCandidate())
	if err != nil {
		return err
	}
	if !c.isOpen || d.GetIndex() != c.next {
		return disorder("a delta belongs to no open part")
	}
	if !fits(d, c.part) {
		return disorder("a delta is in a part of another kind")
	}
	if summary := d.GetSummary(); summary != nil {
		if summary.GetIndex() < 0 || summary.GetIndex() > c.summaries {
			return disorder("a summary begins out of order")
		}
		c.summaries = max(c.summaries, summary.GetIndex()+1)
	}
	return nil
}

func (s *Sequence) partCompleted(p *genwayv1.PartCompleted) error {
	c, err := s.candidate(p.GetCandidate())
	if err != nil {
		return err
	}
	if !c.isOpen || p.GetIndex() != c.next {
		return disorder("a part ends that is not open")
	}
	c.isOpen, c.part = false, nil
	c.next++
	return nil
}

func (s *Sequence) complete(end *genwayv1.TextCompleted) error {
	for _, e := range end.GetCandidates() {
		c, err := s.candidate(e.GetIndex())
		if err != nil {
			return err
		}
		if c.ended {
			return disorder("a candidate ends twice")
		}
		c.ended = true
	}
	if s.first.unfinished() {
		return disorder("it ends within a candidate")
	}
	for _, c := range s.others {
		if c.unfinished() {
			return disorder("it ends within a candidate")
		}
	}
	if len(end.GetCandidates()) == 0 && end.GetPromptFeedback() == nil {
		return fault.New(fault.BadUpstream, fault.ReasonMalformedAnswer, "%s", noCandidates)
	}
	s.completed = true
	return nil
}

// unfinished reports whether the candidate has begun, and a part or the candidate has no end.
func (c *candidateSequence) unfinished() bool { return c.isOpen || c.next > 0 && !c.ended }

func (s *Sequence) candidate(index int32) (*candidateSequence, error) {
	if index == 0 {
		return &s.first, nil
	}
	if index < 0 {
		return nil, disorder("the index of a candidate is negative")
	}
	c, ok := s.others[index]
	if !ok {
		if s.others == nil {
			s.others = map[int32]*candidateSequence{}
		}
		c = &candidateSequence{}
		s.others[index] = c
	}
	return c, nil
}

// fits reports whether a part of that kind has what the delta adds.
func fits(d *genwayv1.PartDelta, p *genwayv1.Part) bool {
	switch d.GetDelta().(type) {
	case *genwayv1.PartDelta_Text, *genwayv1.PartDelta_Citation:
		return p.GetText() != nil
	case *genwayv1.PartDelta_Refusal:
		return p.GetRefusal() != nil
	case *genwayv1.PartDelta_ArgumentsJson, *genwayv1.PartDelta_Input:
		return p.GetToolCall() != nil
	case *genwayv1.PartDelta_Data, *genwayv1.PartDelta_Transcript:
		return MediaOf(p) != nil
	case *genwayv1.PartDelta_Thinking, *genwayv1.PartDelta_Summary, *genwayv1.PartDelta_Signature, *genwayv1.PartDelta_EncryptedContent:
		return p.GetThinking() != nil
	}
	return true // any part may have a thought signature or members of its protocol
}

func disorder(what string) error {
	return fault.New(fault.BadUpstream, fault.ReasonMalformedAnswer, "the upstream's stream is out of order: %s", what)
}

const noCandidates = "the upstream's answer has no content and no reason why"

// CheckAnswer checks what the contract promises of a unary answer, as Sequence does of a stream: it
// has a candidate unless the prompt was blocked, and each candidate an index of its own. An answer
// without that is an error of kind BadUpstream. An upstream's own body (wire) of the protocol, which
// is that of the caller's body, stands for all of it and is not looked at.
func CheckAnswer(resp *genwayv1.GenerateTextResponse, protocol genwayv1.Protocol) error {
	if wire := resp.GetWire(); wire != nil && wire.GetProtocol() == protocol {
		return nil
	}
	if len(resp.GetCandidates()) == 0 && resp.GetPromptFeedback() == nil {
		return fault.New(fault.BadUpstream, fault.ReasonMalformedAnswer, "%s", noCandidates)
	}
	var seen map[int32]bool
	for n, c := range resp.GetCandidates() {
		switch {
		case c.GetIndex() < 0:
			return fault.New(fault.BadUpstream, fault.ReasonMalformedAnswer, "the upstream's answer has a candidate with a negative index")
		case seen[c.GetIndex()]:
			return fault.New(fault.BadUpstream, fault.ReasonMalformedAnswer, "the upstream's answer has two candidates with one index")
		case n == 0 && len(resp.GetCandidates()) == 1:
			return nil
		case n == 0:
			seen = make(map[int32]bool, len(resp.GetCandidates()))
		}
		seen[c.GetIndex()] = true
	}
	return nil
}
