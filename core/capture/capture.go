// Package capture records the bodies of requests that an operator has asked to see. A Rule, of
// a key or of a route, says which: a share of them, up to a size, without the members that are
// redacted, until a time. A Capture collects the bodies of one request. Headers, addresses and
// queries are never a part of it, since credentials are there.
//
// The package must not import any other of the core: keys are made of rules, and the record of a
// call has a capture.
package capture

import (
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf8"

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
	// Call is the number of the call of an upstream, from 1; 0 for a caller's body.
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

// Release frees the memory of a closed capture, which has no bodies from then on.
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

// Budget bounds the memory of all captures of a process, from their first byte until they are
// written. It is safe for concurrent use.
type Budget struct {
	most int64
	held atomic.Int64
}

// NewBudget makes a budget of so many bytes.
func NewBudget(most int64) *Budget { return &Budget{most: most} }

// Held is how many bytes are held at the moment.
func (b *Budget) Held() int64 { return b.held.Load() }

func (b *Budget) take(n int64) bool {
	if b.held.Add(n) > b.most {
		b.held.Add(-n)
		return false
	}
	return true
}

// tee adds to a body what is read.
type tee struct {
	from    io.Reader
	capture *Capture
	to      *collected
}

func (t *tee) Read(p []byte) (int, error) {
	n, err := t.from.Read(p)
	if n > 0 {
		t.capture.mu.Lock()
		t.capture.write(t.to, p[:n])
		t.capture.mu.Unlock()
	}
	return n, err
}

const (
	// DefaultBytes is Rule.MaxBytes where it is 0.
	DefaultBytes = 64 << 10
	// MaxBytes is the largest Rule.MaxBytes.
	MaxBytes = 1 << 20
	// MaxAhead is how far ahead a rule's end may be.
	MaxAhead = 7 * 24 * time.Hour

	maxRedacted     = 64  // entries of Rule.Redact
	maxRedactedSize = 255 // bytes of one
)

// Rule says which requests have their bodies captured. The zero value of a member is its default;
// there is none for Until.
type Rule struct {
	// Share is the part of the requests: above 0 and up to 1. 0 is 1, all.
	Share float64 `json:"share,omitzero"`
	// MaxBytes is how much is kept of each body, up to MaxBytes. 0 is DefaultBytes.
	MaxBytes int64 `json:"max_bytes,omitzero"`
	// Redact are the members whose values are replaced in every body before anything is kept:
	// names, wherever they are, and JSON pointers (RFC 6901) in which * is any one name or
	// index. Of a body that is neither JSON nor events of JSON nothing is kept then.
	Redact []string `json:"redact,omitzero"`
	// Until is when capturing ends. It is at most MaxAhead ahead.
	Until time.Time `json:"until"`
}

// Mistake is what is wrong with a member of a rule.
type Mistake struct{ Member, Reason string }

// Check lists what is wrong with a rule, but for an end that has passed: rules are kept longer
// than they hold.
func (r *Rule) Check(now time.Time) []Mistake {
	var list []Mistake
	add := func(member, format string, args ...any) {
		list = append(list, Mistake{member, fmt.Sprintf(format, args...)})
	}
	if r.Share != 0 && !(r.Share > 0 && r.Share <= 1) { // NaN is none either
		add("share", "expected a number above 0 and up to 1, got %v", r.Share)
	}
	if r.MaxBytes < 0 || r.MaxBytes > MaxBytes {
		add("max_bytes", "expected 1 to %d, got %d", MaxBytes, r.MaxBytes)
	}
	if len(r.Redact) > maxRedacted {
		add("redact", "at most %d, not %d", maxRedacted, len(r.Redact))
	}
	for i, entry := range r.Redact {
		switch at := fmt.Sprintf("redact[%d]", i); {
		case entry == "" || entry == "/":
			add(at, "it is empty: expected a member's name, or a JSON pointer such as /messages/*/content")
		case len(entry) > maxRedactedSize || !utf8.ValidString(entry):
			add(at, "expected at most %d bytes of UTF-8", maxRedactedSize)
		case entry[0] == '/' && !isPointer(entry):
			add(at, "%.80q is no JSON pointer: ~ is written ~0, and / within a name ~1", entry)
		case slices.Contains(r.Redact[:i], entry):
			add(at, "%.80q stands there twice", entry)
		}
	}
	switch {
	case r.Until.IsZero():
		add("until", "it is missing: the time at which capturing ends, at most %s from now", ahead)
	case r.Until.Sub(now) > MaxAhead:
		add("until", "expected at most %s from now, got %s", ahead, r.Until.UTC().Format(time.RFC3339))
	}
	return list
}

const ahead = "7 days"

// isPointer reports whether a text is a JSON pointer: each ~ begins ~0 or ~1.
func isPointer(text string) bool {
	for {
		at := strings.IndexByte(text, '~')
		if at < 0 {
			return true
		}
		if at+1 >= len(text) || text[at+1] != '0' && text[at+1] != '1' {
			return false
		}
		text = text[at+2:]
	}
}

// Clone returns a copy that shares nothing with the rule.
func (r *Rule) Clone() *Rule {
	if r == nil {
		return nil
	}
	c := *r
	c.Redact = slices.Clone(r.Redact)
	return &c
}

// holds reports whether a rule is in force. One whose end is further ahead than an end may be has
// been overtaken by a clock that was put back: it is not.
func (r *Rule) holds(now time.Time) bool {
	left := time.Duration(0)
	if r != nil {
		left = r.Until.Sub(now)
	}
	return left > 0 && left <= MaxAhead
}

// hits draws whether one request is captured.
func (r *Rule) hits() bool {
	return r.Share == 0 || rand.Float64() < r.Share //nolint:gosec // a sample, no secret
}

// Begin returns the capture of a request to which these rules apply, nil ones among them; nil where
// none asks for it. The size is set by the first rule that does. What any rule in force redacts is
// redacted.
func Begin(now time.Time, budget *Budget, rules ...*Rule) *Capture {
	var chosen *Rule
	var redact []string
	for _, r := range rules {
		if !r.holds(now) {
			continue
		}
		redact = append(redact, r.Redact...)
		if chosen == nil && r.hits() {
			chosen = r
		}
	}
	if chosen == nil {
		return nil
	}
	most := chosen.MaxBytes
	if most == 0 {
		most = DefaultBytes
	}
	return &Capture{most: int(most), redact: newRedactor(redact), budget: budget, began: now}
}
