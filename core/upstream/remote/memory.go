package remote

import (
	"bytes"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/core/upstream"
	"github.com/genway/genway/internal/arena"
)

// AnswerMemory is the budget of memory for the answers of all upstreams of a process, in bytes: for
// the bytes that have arrived, after decompression, and for the decoded messages. One upstream may
// have half of it, so that one that floods leaves memory for the others. The first 64 KiB of an answer are not counted. It is safe for concurrent use.
type AnswerMemory struct {
	limit int64
	held  atomic.Int64
	// garbage counts the bytes that large answers have released since the last collection.
	garbage atomic.Int64
}

// DefaultAnswerMemory is the budget of a process without one in its flags.
const DefaultAnswerMemory = 1 << 30

// NewAnswerMemory makes a budget of limit bytes; 0 means DefaultAnswerMemory.
func NewAnswerMemory(limit int64) *AnswerMemory {
	if limit == 0 {
		limit = DefaultAnswerMemory
	}
	return &AnswerMemory{limit: limit}
}

// Held gives the number of bytes that are held now.
func (m *AnswerMemory) Held() int64 { return m.held.Load() }

// take reserves bytes for an answer of the upstream. It reports false if there are not as many.
func (m *AnswerMemory) take(u *Upstream, bytes int64) bool {
	if u.held.Add(bytes) > m.limit/2 {
		u.held.Add(-bytes)
		return false
	}
	if m.held.Add(bytes) > m.limit {
		m.give(u, bytes)
		return false
	}
	return true
}

func (m *AnswerMemory) give(u *Upstream, bytes int64) {
	u.held.Add(-bytes)
	m.held.Add(-bytes)
}

// discard counts the memory of a large answer as garbage, and starts a collection when there is much
// of it. By itself Go would let garbage grow to the size of all answers that were held at once.
func (m *AnswerMemory) discard(bytes int64) {
	if bytes >= large && m.garbage.Add(bytes) > m.limit/8 {
		m.garbage.Store(0)
		runtime.GC()
	}
}

const (
	// uncounted is the part of each answer that does not count, since most answers are smaller.
	uncounted = 64 << 10
	// weighed is the size of a body from which on the memory of its decoded form counts; perValue is
	// the most that each of its values takes, in bytes: a body of empty objects takes a hundred times
	// its length.
	weighed  = 1 << 20
	perValue = 128
	// large is the size of an answer from which on its memory counts as garbage (discard).
	large = 8 << 20
)

// hold sets how many bytes of the budget the answer holds. The error is one for the caller.
func (a *answer) hold(bytes int64) error {
	if bytes <= uncounted {
		bytes = 0
	}
	memory, more := a.upstream.config.Memory, bytes-a.held
	switch {
	case bytes > memory.limit/2:
		return fault.New(fault.BadUpstream, fault.ReasonMalformedAnswer, "the upstream's answer is too large: it takes more memory than the answers of one upstream may have")
	case more > 0 && !memory.take(a.upstream, more):
		f := fault.New(fault.Unavailable, upstream.ReasonAnswersFull, "the server holds as many bytes of answers as it may; try again")
		f.RetryAfter = time.Second
		return f
	case more < 0:
		memory.give(a.upstream, -more)
	}
	a.held, a.peak = bytes, max(a.peak, bytes)
	return nil
}

// keep has the answer's bytes held until the end of the call, since its body is read until then. It
// does nothing for a call whose end is not known.
func (a *answer) keep() {
	held, u := a.held, a.upstream
	give := func() {
		u.config.Memory.give(u, held)
		u.config.Memory.discard(held)
	}
	if held > 0 && arena.Of(a.ctx).Hold(give) {
		a.held = 0
	}
}

// weight is the memory that a decoded body takes in addition to its own length: its values, and if
// its texts are decoded, three copies of those (decoded, in a message, encoded). For a small body it
// is 0.
func weight(body []byte, decoded bool) int64 {
	if len(body) < weighed {
		return 0
	}
	values := bytes.Count(body, []byte("{")) + bytes.Count(body, []byte("[")) + bytes.Count(body, []byte(","))
	weight := perValue * int64(values)
	if decoded {
		weight += 3 * int64(len(body))
	}
	return weight
}

// tooLarge is the fault of an answer above its bound.
func (u *Upstream) tooLarge() error {
	return fault.New(fault.BadUpstream, fault.ReasonMalformedAnswer, "the upstream's answer is too large: the most is %d bytes after decompression", u.config.MaxAnswerBytes)
}
