package faults_test

import (
	"github.com/genway/genway/test/cases/harness"
	"github.com/genway/genway/test/faults/faulty"
)

// outcome is what a caller gets.
type outcome struct {
	// complete says that the answer is there, in full, and looks like it.
	complete bool
	// inBand says that the failure is an event at the end of a stream; else it is
	// nothing but an error, with a status of its own.
	inBand bool
	why    why
	// calls is how often the upstream is asked, with one retry allowed.
	calls int
}

// why is the reported failure.
type why string

const (
	unreachable why = "unreachable"
	timeout     why = "timeout"
	cut         why = "cut off"
	malformed   why = "malformed"
)

// statuses are those of an error without an answer.
var statuses = map[why]int{unreachable: 503, timeout: 504, cut: 502, malformed: 502}

// The outcomes.
var (
	whole = outcome{complete: true, calls: 1}
	// never: no connection, or nothing that is an answer; made again once.
	never = outcome{why: unreachable, calls: 2}
	// late: another try would take as long again.
	late = outcome{why: timeout, calls: 1}
	// halved and unreadable: a stream of which nothing was sent, since it had no
	// content: made again once.
	halved     = outcome{why: cut, calls: 2}
	unreadable = outcome{why: malformed, calls: 2}
	// halvedOnce and unreadableOnce: a unary answer, which begins with its headers; never
	// made again.
	halvedOnce     = outcome{why: cut, calls: 1}
	unreadableOnce = outcome{why: malformed, calls: 1}
	// The same after content was sent: the call is never repeated.
	lateIn       = outcome{inBand: true, why: timeout, calls: 1}
	halvedIn     = outcome{inBand: true, why: cut, calls: 1}
	unreadableIn = outcome{inBand: true, why: malformed, calls: 1}
)

// byMoment are outcomes in the order of faulty.Moments.
type byMoment [6]outcome

// none fills the places of cases that do not exist (faulty.Meaningless).
var none = outcome{}

// unary and streamed are the written outcomes. They are the same for every
// protocol of the upstream and of the caller; exceptions has what is not.
var (
	unary = map[faulty.Fault]byMoment{
		faulty.Refuse:       {never, none, none, none, none, none},
		faulty.ConnectStall: {late, none, none, none, none, none},
		faulty.TLSFailure:   {never, halvedOnce, halvedOnce, halvedOnce, halvedOnce, none},
		faulty.Reset:        {never, halvedOnce, halvedOnce, halvedOnce, halvedOnce, none},
		faulty.HalfClose:    {never, unreadableOnce, unreadableOnce, unreadableOnce, unreadableOnce, none},
		faulty.Stall:        {late, late, late, late, late, none},
		faulty.Trickle:      {whole, whole, whole, whole, whole, none},
		faulty.Garbage:      {never, halvedOnce, halvedOnce, halvedOnce, halvedOnce, none},
		faulty.Garbled:      {none, unreadableOnce, unreadableOnce, unreadableOnce, unreadableOnce, none},
		faulty.Truncation:   {never, unreadableOnce, unreadableOnce, unreadableOnce, unreadableOnce, none},
	}
	streamed = map[faulty.Fault]byMoment{
		faulty.Refuse:       {never, none, none, none, none, none},
		faulty.ConnectStall: {late, none, none, none, none, none},
		faulty.TLSFailure:   {never, halved, halved, halvedIn, halvedIn, whole},
		faulty.Reset:        {never, halved, halved, halvedIn, halvedIn, whole},
		faulty.HalfClose:    {never, halved, halved, halvedIn, halvedIn, whole},
		faulty.Stall:        {late, late, late, lateIn, lateIn, whole},
		faulty.Trickle:      {whole, whole, whole, whole, whole, whole},
		faulty.Garbage:      {never, halved, halved, halvedIn, halvedIn, whole},
		faulty.Garbled:      {none, unreadable, unreadable, unreadableIn, unreadableIn, unreadableIn},
		faulty.Truncation:   {never, halved, halved, halvedIn, halvedIn, whole},
	}
)

// exception is where an upstream's protocol makes the difference.
type exception struct {
	fault    faulty.Fault
	moment   faulty.Moment
	upstream harness.Protocol
}

var exceptions = map[exception]struct {
	outcome
	because string
}{
	{faulty.Garbled, faulty.AfterEnd, harness.Responses}: {whole, "the event that ends it, `response.completed`, has the whole answer; the other protocols end later"},
}
