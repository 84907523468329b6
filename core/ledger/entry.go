package ledger

import (
	"time"
	"unicode/utf8"

	"github.com/genway/genway/core/amount"
)

// Outcome is what became of a request.
type Outcome string

// The outcomes. All but Open are terminal.
const (
	// Open is a request in flight.
	Open Outcome = "open"
	// OK is a complete answer.
	OK Outcome = "ok"
	// Failed is an error answer, or a stream that ended with one; Kind and Reason of
	// the Result say which.
	Failed Outcome = "failed"
	// Cancelled is a request whose caller disconnected before the answer was complete.
	Cancelled Outcome = "cancelled"
	// Interrupted is a request whose process ended before it did.
	Interrupted Outcome = "interrupted"
)

// Known reports whether the outcome is one of these.
func (o Outcome) Known() bool {
	switch o {
	case Open, OK, Failed, Cancelled, Interrupted:
		return true
	}
	return false
}

// Request is what is known of a request on admission.
type Request struct {
	// ID is the identifier the caller sees. Callers may choose it, so it need not be
	// unique.
	ID string
	// KeyID is the caller's key's identifier, never the key.
	KeyID string
	// Owner is the key's owner, by the operator's word; empty where none is named.
	Owner string
	// Protocol is chat_completions, responses, messages, generate_content, images, or
	// grpc for a direct caller.
	Protocol string
	// Method is the RPC: GenerateText.
	Method string
	// Model is the model that was asked for, at most 256 bytes of its name.
	Model string
	// Start is when the request came in, to the microsecond.
	Start time.Time
	// TraceID is the trace's, in hexadecimal digits; empty for none.
	TraceID string
}

// Result is what is known of a request at its end.
type Result struct {
	// Outcome is a terminal one.
	Outcome Outcome
	// Kind and Reason are the fault's, of failed and cancelled requests. Kind is the
	// contract's ErrorKind in lower case, without its prefix: rate_limited.
	Kind, Reason string
	// Route is the pattern of the route taken, Upstream the name of the upstream that
	// served the request or failed last.
	Route, Upstream string
	// Attempts is how often an upstream was called, retries included.
	Attempts int64
	// Model is the model that answered, by the upstream's word.
	Model string
	Usage Usage
	// UsageSource says where Usage is from.
	UsageSource UsageSource
	// Cost is what the usage costs, in nano-dollars, and Price the ID of the price it was
	// reckoned by (core/price). Without a Price the cost is 0 and unknown.
	Cost  int64
	Price string
	// Duration is from Start to the end; 0 where the process ended first.
	Duration time.Duration
	// FirstEvent is from Start to a stream's first event; 0 for none.
	FirstEvent time.Duration
	// UpstreamProtocol is what Upstream speaks, by the names of Request.Protocol; empty where
	// there was none.
	UpstreamProtocol string
	// Losses are the members that were lost in translation, by the last names of their paths,
	// separated by commas. They are names of the contract, or "other".
	Losses string
	// Timeline is what the request went through, as AppendTimeline writes it; empty for what is
	// not known.
	Timeline string
}

// UsageSource is where the figures of a usage are from.
type UsageSource string

// The sources.
const (
	// Reported is usage that the upstream reported, or no usage at all.
	Reported UsageSource = ""
	// Estimated is a count of our own, in whole or in part: the upstream's answer had no usage, or
	// broke off before it.
	Estimated UsageSource = "estimated"
	// Rejected is a count of our own as well: the upstream's figures cannot be true.
	Rejected UsageSource = "rejected"
)

// Usage is what a request used, in tokens by class, and in images. The figures are
// the upstream's unless UsageSource says otherwise.
type Usage struct {
	// Input includes what was read from or written to a cache, Output includes
	// thinking.
	Input, Output int64
	// Parts of Input. CacheWrite is of every lifetime; CacheWrite1h is the part of it
	// that is kept an hour.
	CacheRead, CacheWrite, CacheWrite1h, InputImage, InputAudio int64
	// Parts of Output.
	Thinking, OutputImage, OutputAudio int64
	// Images is how many images were made by an image request.
	Images int64
}

// Add adds another usage's figures. Sums saturate.
func (u *Usage) Add(other Usage) {
	sum(&u.Input, other.Input)
	sum(&u.Output, other.Output)
	sum(&u.CacheRead, other.CacheRead)
	sum(&u.CacheWrite, other.CacheWrite)
	sum(&u.CacheWrite1h, other.CacheWrite1h)
	sum(&u.InputImage, other.InputImage)
	sum(&u.InputAudio, other.InputAudio)
	sum(&u.Thinking, other.Thinking)
	sum(&u.OutputImage, other.OutputImage)
	sum(&u.OutputAudio, other.OutputAudio)
	sum(&u.Images, other.Images)
}

func sum(to *int64, more int64) { *to = amount.Sum(*to, more) }

// Entry is one request in the ledger.
type Entry struct {
	// Number identifies a request among those of one process.
	Number int64
	Request
	Result
}

// maxText bounds a text that a caller or an upstream chose, in bytes.
const maxText = 256

// clip cuts a text to maxText bytes of whole, valid characters.
func clip(s string) string {
	if len(s) > maxText {
		s = s[:maxText]
		for s != "" && !utf8.ValidString(s) {
			s = s[:len(s)-1]
		}
	}
	return s
}
