package remote

import (
	"sync"
	"time"

	"github.com/genway/genway/core/call"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

// holdBack buffers the events ahead of an answer's first content. Upstreams that are about to
// fail often send a first event: while nothing was sent to the caller, a failure is a plain error
// with a status of its own, and another upstream can still be called (case S6). The buffer is
// released after a time even without content, since proxies end connections that are silent
// (case S2).
type holdBack[E any] struct {
	timer *time.Timer

	// mu guards all below, and the Ending of the record: the timer releases the buffer from a goroutine of
	// its own.
	mu   sync.Mutex
	send func(*E) error
	ping func() *E
	held []*E
	// record is the call's: it notes the first event, which may be held, and flushes gathered events.
	record *call.Record
	// released means that events are sent at once, closed that none is sent any more.
	released, closed bool
	err              error
}

// maxHeld is the most events that are held.
const maxHeld = 1024

// newHoldBack makes a buffer that is released after limit at the latest. If it is empty by then,
// the event that ping makes is sent.
func newHoldBack[E any](send func(*E) error, ping func() *E, limit time.Duration, record *call.Record) *holdBack[E] {
	b := &holdBack[E]{send: send, ping: ping, record: record}
	// The timer may expire before the field is set.
	b.mu.Lock()
	defer b.mu.Unlock()
	b.timer = time.AfterFunc(limit, b.expire)
	return b
}

// add sends an event, or holds it until one with content comes.
func (b *holdBack[E]) add(ev *E, content bool) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.err != nil:
		return b.err
	case b.released:
		return b.send(ev)
	}
	if len(b.held) == 0 {
		b.record.FirstContent()
	}
	b.held = append(b.held, ev)
	if content || len(b.held) >= maxHeld {
		b.release()
	}
	return b.err
}

// release sends the events that are held. From then on none is held.
func (b *holdBack[E]) release() {
	b.released = true
	b.timer.Stop()
	for _, ev := range b.held {
		if b.err = b.send(ev); b.err != nil {
			break
		}
	}
	b.held = nil
}

// expire releases the buffer, with a ping if it is empty.
func (b *holdBack[E]) expire() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.released || b.closed {
		return
	}
	if len(b.held) == 0 {
		b.held = append(b.held, b.ping())
	}
	b.release()
	b.record.Flush()
}

// ends notes whether the events that are added from now on are those of the end of the answer.
func (b *holdBack[E]) ends(end bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.record.Ending = end
}

// flush has the events that were sent reach the caller, before the adapter waits for more.
func (b *holdBack[E]) flush() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.record.Flush()
}

// isReleased reports whether the caller was sent anything.
func (b *holdBack[E]) isReleased() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.released
}

// close drops the events that are held. Nothing is sent after it returns.
func (b *holdBack[E]) close() {
	b.timer.Stop()
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
}

// hasContent reports whether one of the events has content of the answer, and does not only
// announce it.
func hasContent(events []*genwayv1.StreamGenerateTextResponse) bool {
	for _, ev := range events {
		switch p := ev.GetPayload().(type) {
		case *genwayv1.StreamGenerateTextResponse_PartDelta, *genwayv1.StreamGenerateTextResponse_Completed:
			return true
		case *genwayv1.StreamGenerateTextResponse_PartStarted:
			if !isEmptyPart(p.PartStarted.GetPart()) {
				return true
			}
		}
	}
	return false
}

// isEmptyPart reports whether a part has nothing but its kind.
func isEmptyPart(part *genwayv1.Part) bool {
	if part.GetThoughtSignature() != nil {
		return false
	}
	switch k := part.GetKind().(type) {
	case nil:
		return true
	case *genwayv1.Part_Text:
		return k.Text.GetText() == ""
	case *genwayv1.Part_Refusal:
		return k.Refusal.GetText() == ""
	case *genwayv1.Part_Thinking:
		t := k.Thinking
		return t.GetText() == "" && len(t.GetSummary()) == 0 && t.GetSignature() == nil && t.GetEncryptedContent() == nil
	}
	return false
}
