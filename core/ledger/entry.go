package ledger

import (
	"time"
	"unicode/utf8"
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
	// Cost is what the usage costs, in nano-dollars, and Price the ID of the price of the answer
	// (core/price). Without a Price that is unknown.
	Cost  int64
	Price string
	// Unpriced says that something that was used had no price. The cost is without it.
	Unpriced bool
	// Charges are what the usage and the cost are the sums of, as Charge keeps them; empty where that is one
	// charge that the entry's own fields say.
	Charges string
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

// Entry is one request in the ledger.
type Entry struct {
	// Number identifies a request among those of one process.
	Number int64
	Request
	Result
}

// IsUnpriced reports whether something that was used had no price. Entries of older programs say so by their empty Price alone.
func (r *Result) IsUnpriced() bool {
	return r.Unpriced || r.Charges == "" && r.Price == "" && (r.Usage.Input > 0 || r.Usage.Output > 0 || r.Usage.Images > 0)
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
