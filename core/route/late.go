package route

import "time"

// lateness finds out whether an upstream keeps callers in a queue of its own, by the time
// until answers begin. Answers differ in length, so their average says little; but a queue
// delays every one of them, the quickest included. So what counts is the quickest answer of
// a window, as in CoDel (RFC 8289), beside the quickest that is usual.
//
// Longer answers look the same. Therefore the bound is lowered once, and it is looked at
// whether the answers became quicker: if not, there was no queue, and what they take is
// usual from then on.
type lateness struct {
	// factor is how many times longer than usual is late; 0 turns this off.
	factor float64

	usual time.Duration
	now   window // of calls begun since the bound was last lowered
	old   window // of the others, while they still end
	// before is what the quickest of those took that were begun ahead of the lowering; 0
	// when that is not in question.
	before time.Duration
}

// window is answers that began in a row.
type window struct {
	since   time.Time
	answers int
	quick   time.Duration // the quickest
}

// add notes an answer that took so long to begin. It reports whether the window is over.
func (w *window) add(now time.Time, took time.Duration) bool {
	if w.answers == 0 {
		w.since, w.quick = now, took
	}
	w.answers++
	w.quick = min(w.quick, took)
	return w.answers >= windowAnswers && now.Sub(w.since) >= windowTime
}

// rate is how many answers began in a second.
func (w *window) rate(now time.Time) float64 {
	return float64(w.answers-1) / now.Sub(w.since).Seconds()
}

// What add gives.
type verdictOfTime int

const (
	isFine verdictOfTime = iota
	isLate
	wasNoQueue
)

const (
	// A window is at least so long and has at least so many answers.
	windowTime    = 100 * time.Millisecond
	windowAnswers = 8
	// leastLate is how much later than usual is late at least: a network's jitter is none.
	leastLate = 20 * time.Millisecond
	// usualRise is how much of the way to what a window shows the usual goes up.
	usualRise = 0.01
	// quicker is the part of the time before that shows that there was a queue.
	quicker = 0.85
	// ample is how many times the calls that an upstream can work on at once the bound is
	// once it has recovered: their number is its rate times what they usually take
	// (Little's law).
	ample = 1.5
)

// add notes that the answer to a call began after took. old says that the call was begun
// before the bound was last lowered. With isLate comes how many calls at once are ample.
func (l *lateness) add(now time.Time, took time.Duration, old bool, underWay int) (v verdictOfTime, enough float64) {
	if old {
		if l.before > 0 && l.old.add(now, took) {
			l.before = max(l.before, l.old.quick)
			l.old.answers = 0
		}
		return isFine, 0
	}
	if !l.now.add(now, took) {
		return isFine, 0
	}
	w := l.now
	l.now.answers, l.old.answers = 0, 0
	if l.before > 0 && float64(w.quick) > quicker*float64(l.before) {
		l.usual, l.before = w.quick, 0
		return wasNoQueue, 0
	}
	l.before = 0
	if l.usual == 0 || w.quick < l.usual {
		l.usual = w.quick
	}
	if float64(w.quick) > l.factor*float64(l.usual) && w.quick > l.usual+leastLate && underWay > windowAnswers {
		l.before = w.quick
		return isLate, ample * w.rate(now) * l.usual.Seconds()
	}
	l.usual += time.Duration(usualRise * float64(w.quick-l.usual))
	return isFine, 0
}
