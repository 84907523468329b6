package codec

import (
	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

// Emitter appends the events of one candidate's parts to a list, in the contract's order: parts
// count up from 0, and each is completed before the next is opened. All candidates of a stream
// append to one list.
type Emitter struct {
	candidate int32
	next      int32 // the index of the open part, or of the next one
	open      bool
	to        *[]*genwayv1.StreamGenerateTextResponse
}

// NewEmitter returns an emitter that appends to a list.
func NewEmitter(candidate int32, to *[]*genwayv1.StreamGenerateTextResponse) Emitter {
	return Emitter{candidate: candidate, to: to}
}

// IsOpen reports whether a part is open.
func (e *Emitter) IsOpen() bool { return e.open }

// Open completes the open part, if there is one, and opens the next.
func (e *Emitter) Open(p *genwayv1.Part) {
	e.Complete()
	e.open = true
	*e.to = append(*e.to, Event(&genwayv1.PartStarted{Candidate: e.candidate, Index: e.next, Part: p}))
}

// Add adds to the open part, which there must be.
func (e *Emitter) Add(d *genwayv1.PartDelta) {
	d.Candidate, d.Index = e.candidate, e.next
	*e.to = append(*e.to, Event(d))
}

// Complete completes the open part, if there is one.
func (e *Emitter) Complete() {
	if !e.open {
		return
	}
	e.open = false
	*e.to = append(*e.to, Event(&genwayv1.PartCompleted{Candidate: e.candidate, Index: e.next}))
	e.next++
}
