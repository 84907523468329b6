package codec

import genwayv1 "github.com/genway/genway/gen/genway/v1"

// Accumulator adds up the events of a stream to one answer. Its zero value is ready for use.
// It ignores pings and upstream frames.
type Accumulator struct {
	sequence   Sequence
	resp       genwayv1.GenerateTextResponse
	candidates map[int32]*accumulatedCandidate
	order      []int32
}

type accumulatedCandidate struct {
	*genwayv1.Candidate
	open *openPart
}

// Add adds one event. An event out of order (Sequence) is an error of kind BadUpstream.
func (f *Accumulator) Add(ev *genwayv1.StreamGenerateTextResponse) error {
	if ev.GetWire() != nil {
		f.sequence.passesThrough = true
		return nil
	}
	if err := f.sequence.Check(ev); err != nil {
		return err
	}
	switch p := ev.GetPayload().(type) {
	case *genwayv1.StreamGenerateTextResponse_Started:
		f.Start(p.Started)
	case *genwayv1.StreamGenerateTextResponse_PartStarted:
		f.candidate(p.PartStarted.Candidate).open = open(p.PartStarted.GetPart())
	case *genwayv1.StreamGenerateTextResponse_PartDelta:
		f.candidate(p.PartDelta.Candidate).open.add(p.PartDelta)
	case *genwayv1.StreamGenerateTextResponse_PartCompleted:
		c := f.candidate(p.PartCompleted.Candidate)
		c.Parts = append(c.Parts, c.open.close())
		c.open = nil
	case *genwayv1.StreamGenerateTextResponse_Completed:
		f.complete(p.Completed)
	}
	return nil
}

// Start begins the answer, as the event of it does. Nothing must have been added before.
func (f *Accumulator) Start(s *genwayv1.TextStarted) {
	f.sequence.started = true
	f.resp.Id, f.resp.Model, f.resp.CreateTime = s.Id, s.Model, s.CreateTime
	f.resp.Usage, f.resp.ServiceTier, f.resp.SystemFingerprint = s.Usage, s.ServiceTier, s.SystemFingerprint
	f.resp.Losses, f.resp.NativeFields = s.Losses, s.NativeFields
}

// Complete reports whether the completed event has been seen.
func (f *Accumulator) Complete() bool { return f.sequence.completed }

// Response is the answer so far; whole once Complete.
func (f *Accumulator) Response() *genwayv1.GenerateTextResponse {
	f.resp.Candidates = f.resp.Candidates[:0]
	for _, i := range f.order {
		f.resp.Candidates = append(f.resp.Candidates, f.candidates[i].Candidate)
	}
	return &f.resp
}

func (f *Accumulator) candidate(index int32) *accumulatedCandidate {
	if c, ok := f.candidates[index]; ok {
		return c
	}
	if f.candidates == nil {
		f.candidates = map[int32]*accumulatedCandidate{}
	}
	c := &accumulatedCandidate{Candidate: &genwayv1.Candidate{Index: index}}
	f.candidates[index] = c
	at := len(f.order)
	for at > 0 && f.order[at-1] > index {
		at--
	}
	f.order = append(f.order[:at], append([]int32{index}, f.order[at:]...)...)
	return c
}

func (f *Accumulator) complete(end *genwayv1.TextCompleted) {
	for _, e := range end.Candidates {
		c := f.candidate(e.Index)
		c.StopReason, c.NativeStopReason = e.StopReason, e.NativeStopReason
		c.StopSequence, c.StopMessage = e.StopSequence, e.StopMessage
		c.NativeFields = append(c.NativeFields, e.NativeFields...)
	}
	if end.Usage != nil {
		f.resp.Usage = end.Usage
	}
	if end.ServiceTier != "" {
		f.resp.ServiceTier = end.ServiceTier
	}
	f.resp.PromptFeedback = end.PromptFeedback
	f.resp.Losses = append(f.resp.Losses, end.Losses...)
	f.resp.NativeFields = append(f.resp.NativeFields, end.NativeFields...)
}
