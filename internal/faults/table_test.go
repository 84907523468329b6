package faults_test

import (
	"github.com/genway/genway/internal/cases/gate"
	"github.com/genway/genway/internal/faults/wreck"
)

// outcome is what a caller is told.
type outcome struct {
	// complete says that the answer is there, in full, and looks like it.
	complete bool
	// inBand says that the failure is an event at the end of a stream; else it is
	// an error alone, with a status of its own.
	inBand bool
	why    why
	// calls is how often the upstream is asked, with one retry allowed.
	calls int
}

// why is the failure that is told.
type why string

const (
	unreachable why = "unreachable"
	timeout     why = "timeout"
	cut         why = "cut off"
	malformed   why = "malformed"
)

// statuses are the ones of an error alone.
var statuses = map[why]int{unreachable: 503, timeout: 504, cut: 502, malformed: 502}

// The outcomes.
var (
	whole = outcome{complete: true, calls: 1}
	// never: no connection, or nothing that is an answer; made again once.
	never = outcome{why: unreachable, calls: 2}
	// late: another try would take as long again.
	late = outcome{why: timeout, calls: 1}
	// halved and unreadable: a stream of which nothing has gone out, since it has had no
	// content: made again once.
	halved     = outcome{why: cut, calls: 2}
	unreadable = outcome{why: malformed, calls: 2}
	// halvedOnce and unreadableOnce: a unary answer, which begins with its headers; never
	// made again.
	halvedOnce     = outcome{why: cut, calls: 1}
	unreadableOnce = outcome{why: malformed, calls: 1}
	// The same after content has gone out: never made again.
	lateIn       = outcome{inBand: true, why: timeout, calls: 1}
	halvedIn     = outcome{inBand: true, why: cut, calls: 1}
	unreadableIn = outcome{inBand: true, why: malformed, calls: 1}
)

// byMoment are outcomes in the order of wreck.Moments.
type byMoment [6]outcome

// none fills the places of cases that do not exist (wreck.Meaningless).
var none = outcome{}

// unary and streamed are the written outcomes. They are the same for every
// protocol of the upstream and of the caller; exceptions has what is not.
var (
	unary = map[wreck.Fault]byMoment{
		wreck.Refuse:       {never, none, none, none, none, none},
		wreck.ConnectStall: {late, none, none, none, none, none},
		wreck.TLSFailure:   {never, halvedOnce, halvedOnce, halvedOnce, halvedOnce, none},
		wreck.Reset:        {never, halvedOnce, halvedOnce, halvedOnce, halvedOnce, none},
		wreck.HalfClose:    {never, unreadableOnce, unreadableOnce, unreadableOnce, unreadableOnce, none},
		wreck.Stall:        {late, late, late, late, late, none},
		wreck.Trickle:      {whole, whole, whole, whole, whole, none},
		wreck.Garbage:      {never, halvedOnce, halvedOnce, halvedOnce, halvedOnce, none},
		wreck.Garbled:      {none, unreadableOnce, unreadableOnce, unreadableOnce, unreadableOnce, none},
		wreck.Truncation:   {never, unreadableOnce, unreadableOnce, unreadableOnce, unreadableOnce, none},
	}
	streamed = map[wreck.Fault]byMoment{
		wreck.Refuse:       {never, none, none, none, none, none},
		wreck.ConnectStall: {late, none, none, none, none, none},
		wreck.TLSFailure:   {never, halved, halved, halvedIn, halvedIn, whole},
		wreck.Reset:        {never, halved, halved, halvedIn, halvedIn, whole},
		wreck.HalfClose:    {never, halved, halved, halvedIn, halvedIn, whole},
		wreck.Stall:        {late, late, late, lateIn, lateIn, whole},
		wreck.Trickle:      {whole, whole, whole, whole, whole, whole},
		wreck.Garbage:      {never, halved, halved, halvedIn, halvedIn, whole},
		wreck.Garbled:      {none, unreadable, unreadable, unreadableIn, unreadableIn, unreadableIn},
		wreck.Truncation:   {never, halved, halved, halvedIn, halvedIn, whole},
	}
)

// exception is where an upstream's protocol makes the difference.
type exception struct {
	fault    wreck.Fault
	moment   wreck.Moment
	upstream gate.Protocol
}

var exceptions = map[exception]struct {
	outcome
	because string
}{
	{wreck.Garbled, wreck.AfterEnd, gate.Responses}: {whole, "the event that ends it, `response.completed`, has the whole answer; the other protocols end later"},
}
