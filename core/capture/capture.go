package capture

import (
	"io"
	"sync"
	"time"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

// Kind is which body of a request one is. The words are stored: they never change.
type Kind string

// The kinds. Bodies of upstreams are there once for each call of one, retries included.
const (
	// CallerRequest is the body that the caller has sent to an edge, as the core has it.
	CallerRequest Kind = "caller_request"
	// ContractRequest is the message of a direct caller, as ProtoJSON.
	ContractRequest Kind = "contract_request"
	// UpstreamRequest is what an upstream was sent: its protocol's JSON, or the contract's
	// message as ProtoJSON.
	UpstreamRequest Kind = "upstream_request"
	// UpstreamAnswer is what it answered, decompressed: JSON, or events as they came. Upstreams
	// that take the contract's messages have none: their answer is the contract's.
	UpstreamAnswer Kind = "upstream_answer"
	// ContractAnswer is the contract's message that the core answered with, as ProtoJSON, or the
	// events of a stream, a line each. An answer that passes through has none: it is the upstream's.
	ContractAnswer Kind = "contract_answer"
)

const (
	// maxCalls bounds the calls of upstreams of one request. Of more, the last one takes the
	// place of the one before it.
	maxCalls = 3
	// MaxTotal bounds all bodies of one request: an answer of the Admin service holds them.
	MaxTotal = 3 << 20
	// slack is how much of a body is collected beyond what is kept of it, so that a credential
	// which an upstream repeats is replaced before the body is cut.
	slack = 16 << 10
	// heavy is how many times larger than what is kept of it a message may be to be written as
	// JSON at all: it is written on the request's path.
	heavy = 8
)

// Capture collects the bodies of one request. Its methods are safe for concurrent use, and those
// of a nil Capture do nothing.
type Capture struct {
	most   int
	redact *redactor
	budget *Budget
	began  time.Time

	mu     sync.Mutex
	bodies []*collected
	calls  int
	held   int64
	full   bool // the budget was spent: nothing is kept
	closed bool
}

// collected is a body as it comes.
type collected struct {
	Body
	// clean replaces credentials of our own in it; nil does not.
	clean func([]byte) []byte
}

// Body is one captured body.
type Body struct {
	Kind Kind `json:"kind"`
	// Call is which call of an upstream it is of, from 1; 0 for a body of no call.
	Call int `json:"call,omitzero"`
	// Upstream is the name of that upstream, and Protocol the name of the protocol that the body is
	// in; empty is the contract's.
	Upstream string `json:"upstream,omitzero"`
	Protocol string `json:"protocol,omitzero"`
	// Size is how many bytes there were, as far as they came.
	Size int64 `json:"size"`
	// Redacted says that members were replaced in it, or that it was left out for want of being
	// JSON.
	Redacted bool `json:"redacted,omitzero"`
	// Cut says that Data is not all of it.
	Cut bool `json:"cut,omitzero"`
	// Data is its beginning.
	Data []byte `json:"-"`
}

// Add adds a whole body.
func (c *Capture) Add(kind Kind, protocol string, data []byte) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.write(c.open(Body{Kind: kind, Protocol: protocol}, nil), data)
}

// Message adds a message of the contract, which must not change meanwhile. Messages of one kind
// are lines of one body.
func (c *Capture) Message(kind Kind, upstream string, m proto.Message) {
	if c == nil {
		return
	}
	size := proto.Size(m)
	var text []byte
	if size <= heavy*c.most {
		text, _ = protojson.Marshal(m) // what cannot be written has a size, and is cut
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	var to *collected
	for _, b := range c.bodies {
		if b.Kind == kind && kind == ContractAnswer {
			to = b
		}
	}
	switch {
	case kind == UpstreamRequest:
		to = c.open(Body{Kind: kind, Upstream: upstream, Call: c.next()}, nil)
	case to == nil:
		to = c.open(Body{Kind: kind}, nil)
	}
	if text == nil {
		to.Size += int64(size)
		return
	}
	c.write(to, text)
	if kind == ContractAnswer {
		c.write(to, []byte("\n"))
	}
}

// Call adds what an upstream is sent, and returns a reader that adds what is read of its answer, for
// a body that is there by then. clean replaces credentials of the gateway's in the answer.
func (c *Capture) Call(upstream, protocol string, sent []byte, clean func([]byte) []byte) (answer func(io.Reader) io.Reader) {
	c.mu.Lock()
	defer c.mu.Unlock()
	call := c.next()
	c.write(c.open(Body{Kind: UpstreamRequest, Upstream: upstream, Protocol: protocol, Call: call}, nil), sent)
	return func(body io.Reader) io.Reader {
		c.mu.Lock()
		defer c.mu.Unlock()
		return &tee{from: body, capture: c, to: c.open(Body{Kind: UpstreamAnswer, Upstream: upstream, Protocol: protocol, Call: call}, clean)}
	}
}

// next returns the number of the next call. Beyond the bound, the bodies of the last one are
// forgotten.
func (c *Capture) next() int {
	c.calls++
	if c.calls > maxCalls {
		kept := c.bodies[:0]
		for _, b := range c.bodies {
			if b.Call != c.calls-1 {
				kept = append(kept, b)
			}
		}
		c.bodies = kept
	}
	return c.calls
}

func (c *Capture) open(b Body, clean func([]byte) []byte) *collected {
	to := &collected{Body: b, clean: clean}
	if !c.closed {
		c.bodies = append(c.bodies, to)
	}
	return to
}

// write adds bytes to a body, up to its bound.
func (c *Capture) write(to *collected, p []byte) {
	if c.closed {
		return
	}
	to.Size += int64(len(p))
	room := c.most + slack - len(to.Data)
	if p = p[:max(0, min(len(p), room))]; len(p) == 0 || c.full {
		return
	}
	if !c.budget.take(int64(len(p))) {
		c.full = true
		return
	}
	c.held += int64(len(p))
	to.Data = append(to.Data, p...)
}

// Close ends the collecting: what comes later is left out. It reports whether there is something
// to keep; where there is not, since the budget was spent, the memory is given back.
func (c *Capture) Close() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	if c.full || len(c.bodies) == 0 {
		c.release()
		return false
	}
	return true
}

// Release gives back the memory of a closed capture, which has no bodies from then on.
func (c *Capture) Release() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.release()
}

func (c *Capture) release() {
	c.budget.held.Add(-c.held)
	c.held, c.bodies = 0, nil
}

// Began is when the request began.
func (c *Capture) Began() time.Time { return c.began }

// Bodies returns what is to be kept of a closed capture: without credentials of the gateway's,
// redacted, and then cut to its bounds.
func (c *Capture) Bodies() []Body {
	c.mu.Lock()
	defer c.mu.Unlock()
	total := MaxTotal
	list := make([]Body, 0, len(c.bodies))
	for _, from := range c.bodies {
		b := from.Body
		whole := int64(len(b.Data)) == b.Size
		if from.clean != nil {
			b.Data = from.clean(b.Data)
		}
		if c.redact != nil {
			b.Data, b.Redacted = c.redact.body(b.Data, whole)
		}
		if most := min(c.most, total); len(b.Data) > most {
			b.Data, whole = b.Data[:most], false
		}
		total -= len(b.Data)
		b.Cut = !whole
		list = append(list, b)
	}
	return list
}
