package remote

import (
	"sync"
	"time"

	"github.com/genway/genway/core/call"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

// opening holds back what an upstream says before the first content of its
// answer. Upstreams that are about to fail often say hello first; while nothing
// has gone to the caller, a failure is a plain error with a status of its own, and
// another upstream may still be asked (case S6). After a while the caller is told
// nevertheless: proxies cut those who hear nothing (case S2).
type opening[E any] struct {
	timer *time.Timer

	// mu keeps the timer's release and the call's own events apart.
	mu   sync.Mutex
	send func(*E) error
	ping func() *E
	held []*E
	// record hears of the first event, which may be held, and is flushed before a wait.
	record *call.Record
	// open says that nothing is held any more, over that nothing may be sent.
	open, over bool
	err        error
}

// mostHeld is how many events are held: a stream that says so much has begun.
const mostHeld = 1024

// newOpening begins to hold, for at most the given time; ping makes an event that says
// only that the call is alive.
// record is the call's.
func newOpening[E any](send func(*E) error, ping func() *E, most time.Duration, record *call.Record) *opening[E] {
	o := &opening[E]{send: send, ping: ping, record: record}
	// The timer may run out before it is known here.
	o.mu.Lock()
	defer o.mu.Unlock()
	o.timer = time.AfterFunc(most, o.expire)
	return o
}

// pass sends an event, or holds it until content comes.
func (o *opening[E]) pass(ev *E, content bool) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case o.err != nil:
		return o.err
	case o.open:
		return o.send(ev)
	}
	if len(o.held) == 0 {
		o.record.FirstContent()
	}
	o.held = append(o.held, ev)
	if content || len(o.held) >= mostHeld {
		o.release()
	}
	return o.err
}

// release sends what is held and holds nothing more.
func (o *opening[E]) release() {
	o.open = true
	o.timer.Stop()
	for _, ev := range o.held {
		if o.err = o.send(ev); o.err != nil {
			break
		}
	}
	o.held = nil
}

// expire ends the wait for content; to a caller who has nothing to be sent it says
// that the call is alive.
func (o *opening[E]) expire() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.open || o.over {
		return
	}
	if len(o.held) == 0 {
		o.held = append(o.held, o.ping())
	}
	o.release()
	o.record.Flush()
}

// flush has what was sent go to the caller, ahead of a wait.
func (o *opening[E]) flush() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.record.Flush()
}

// isOpen reports whether the caller has been told anything.
func (o *opening[E]) isOpen() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.open
}

// close drops what is still held. Nothing is sent after it returns.
func (o *opening[E]) close() {
	o.timer.Stop()
	o.mu.Lock()
	defer o.mu.Unlock()
	o.over = true
}

// contentful reports whether one of the events says something of the answer
// itself, not only that there will be one.
func contentful(events []*genwayv1.StreamGenerateTextResponse) bool {
	for _, ev := range events {
		switch p := ev.GetPayload().(type) {
		case *genwayv1.StreamGenerateTextResponse_PartDelta, *genwayv1.StreamGenerateTextResponse_Completed:
			return true
		case *genwayv1.StreamGenerateTextResponse_PartStarted:
			if !hollow(p.PartStarted.GetPart()) {
				return true
			}
		}
	}
	return false
}

// hollow reports whether a part says nothing yet but its kind.
func hollow(part *genwayv1.Part) bool {
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
