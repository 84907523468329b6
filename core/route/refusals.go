package route

import "time"

// refusals finds out whether an upstream refuses calls because too many are under way. One
// refusal does not say so, nor does a small share of them: vendors refuse some requests for
// what is in them, or for a limit that fewer calls at once do not change. So what counts is
// the share of refusals among the calls of a window. When the share is large the bound is
// lowered, until it is not large any more. Where it stays large even for one call at a
// time, the number of calls is not the reason: then there is no bound, and
// refusals are ignored for a while (blind).
//
// Calls are counted when they begin, since an answer may take an hour, and refusals when
// they come. A call that began before the bound was last lowered is not counted.
type refusals struct {
	since          time.Time
	calls, refused int
	// most is the largest number of calls under way at once in the window. Their number at the
	// moment of a refusal may be far smaller: calls that began together end together.
	most int
	// worked says that a call of the window has ended without a refusal.
	worked bool
	// all says that the last window had nothing but refusals.
	all bool
	// blind is until when refusals change nothing, and pause how long it was the last time.
	blind time.Time
	pause time.Duration
}

const (
	// A window of refusals is at least so long, and at most, and has at least so many calls.
	shareTime, shareMost = 100 * time.Millisecond, time.Second
	shareCalls           = 10
	// largeShare of refusals lowers the bound. While most calls are refused soon after it
	// was lowered, it is lowered by more.
	largeShare, mostShare = 0.2, 0.5
	lowerToLess           = 0.5
	// allShare of refusals in a window without any other answer is all of them: some
	// calls of the window are still under way.
	allShare = 0.9
	// leastBlind and mostBlind are for how long refusals are ignored that are not for the
	// number of calls: twice as long each time.
	leastBlind, mostBlind = 10 * time.Second, 10 * time.Minute
)

// call counts a call that begins, with how many are under way then.
func (r *refusals) call(now time.Time, underWay int) {
	if r.calls == 0 || r.calls < shareCalls && now.Sub(r.since) > shareMost {
		r.begin(now)
	}
	r.calls++
	r.most = max(r.most, underWay)
}

// begin starts another window.
func (r *refusals) begin(now time.Time) {
	r.since, r.calls, r.refused, r.most, r.worked = now, 0, 0, 0, false
}

// refuse counts a refusal. When the window is over it gives the share of refusals, and the
// most calls that were under way at once.
func (r *refusals) refuse(now time.Time) (share float64, most int, over bool) {
	r.refused++
	if r.calls < shareCalls || now.Sub(r.since) < shareTime {
		return 0, 0, false
	}
	most = r.most
	share = min(1, float64(r.refused)/float64(r.calls))
	r.all = share >= allShare && !r.worked
	r.begin(now)
	return share, most, true
}

// work notes a call that has ended without a refusal.
func (r *refusals) work() { r.worked, r.all = true, false }

// ignore has refusals change nothing for a while.
func (r *refusals) ignore(now time.Time) {
	if now.Sub(r.blind) > mostBlind {
		r.pause = 0
	}
	r.pause = min(mostBlind, max(leastBlind, 2*r.pause))
	r.blind = now.Add(r.pause)
}
