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

// AnswerMemory is the budget of memory for the answers of all upstreams of a process, in
// bytes: for what has arrived of them, after decompression, and for what they take
// decoded. One upstream may have half of it, so that one that floods leaves room for the
// others. The first 64 KiB of an answer are not counted. It is safe for concurrent use.
type AnswerMemory struct {
	most int64
	held atomic.Int64
	// garbage counts what large answers have given back since the last collection.
	garbage atomic.Int64
}

// DefaultAnswerMemory is the budget of a process without one in its flags.
const DefaultAnswerMemory = 1 << 30

// NewAnswerMemory makes a budget of so many bytes; 0 is DefaultAnswerMemory.
func NewAnswerMemory(most int64) *AnswerMemory {
	if most == 0 {
		most = DefaultAnswerMemory
	}
	return &AnswerMemory{most: most}
}

// Held is how many bytes are held at the moment.
func (m *AnswerMemory) Held() int64 { return m.held.Load() }

// take takes bytes for an answer of the upstream, if there are as many.
func (m *AnswerMemory) take(u *Upstream, bytes int64) bool {
	if u.held.Add(bytes) > m.most/2 {
		u.held.Add(-bytes)
		return false
	}
	if m.held.Add(bytes) > m.most {
		m.give(u, bytes)
		return false
	}
	return true
}

func (m *AnswerMemory) give(u *Upstream, bytes int64) {
	u.held.Add(-bytes)
	m.held.Add(-bytes)
}

// discard counts what a large answer leaves to the collector. By itself Go would let garbage
// grow to the size of all that was held at once.
func (m *AnswerMemory) discard(bytes int64) {
	if bytes >= large && m.garbage.Add(bytes) > m.most/8 {
		m.garbage.Store(0)
		runtime.GC()
	}
}

const (
	// uncounted is how much of an answer is not counted, since most are smaller.
	uncounted = 64 << 10
	// weighed is from where on a body is looked at for what it takes decoded, and
	// perValue what each of its values takes at most, in bytes: a body of empty objects
	// takes a hundred times its length.
	weighed  = 1 << 20
	perValue = 128
	// large is from where on an answer's memory is collected ahead of time.
	large = 8 << 20
)

// hold has the answer hold so many bytes of the budget, instead of what it held. The error
// is the caller's.
func (a *answer) hold(bytes int64) error {
	if bytes <= uncounted {
		bytes = 0
	}
	memory, more := a.upstream.config.Memory, bytes-a.held
	switch {
	case bytes > memory.most/2:
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

// keep has what the answer holds be held until the call is over, where it is known when
// that is: the body is read from until then.
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

// weight is what a body takes decoded beside its own length: its values, and if its texts
// are decoded, those once more decoded, in a message and encoded. Of a small body it is 0.
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
