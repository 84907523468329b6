package intake

import (
	"time"

	"github.com/genway/genway/codec/fault"
)

// Bounds of callers that have shown no key. The methods that need none, health and
// reflection, have messages of less than a kilobyte.
const (
	keylessMessage  = 128 << 10
	keylessMessages = 4 << 20  // together
	keylessAnswers  = 16 << 20 // together
	// keylessCalls are those that one connection may have open, and one address over all
	// of its connections keylessCallsOfAddress.
	keylessCalls          = 250
	keylessCallsOfAddress = 1000
	// keylessUntaken are the answers to calls that have ended that one connection may leave in its window.
	keylessUntaken = 50
)

// Bounds of callers with a key. A call whose message has not come takes some 13 KiB, an answer that is not taken 4 KiB or more.
const (
	// waitingCalls limits the calls of one key whose message has not come, and waitingCallsInAll the calls of all keys.
	waitingCalls      = 1000
	waitingCallsInAll = 4000
	// untaken are the answers to calls that have ended that one key may leave in its windows, and untakenInAll those of all
	// keys.
	untaken      = 1000
	untakenInAll = 4000
)

// amount is what a call holds, what a holder has in all, or what it may have: the zero value of a figure is then no bound.
type amount struct {
	// calls are open: those with a key until their message has come.
	calls int
	// untaken are calls that have ended, and whose answers wait for room in the client's window.
	untaken int
	// bytes counts request messages.
	bytes int64
	// answers are the bytes of answers that are not on their way yet. They have a budget of their own: messages that come in do
	// not make an answer fail that is paid for.
	answers int64
}

func (a *amount) add(more amount) {
	a.calls, a.untaken, a.bytes, a.answers = a.calls+more.calls, a.untaken+more.untaken, a.bytes+more.bytes, a.answers+more.answers
}

// exceeds reports whether the amount and more are above a bound, by what there is more of. The first answer is of any size.
func (a *amount) exceeds(more, most amount) bool {
	return more.calls > 0 && most.calls > 0 && a.calls+more.calls > most.calls ||
		more.untaken > 0 && most.untaken > 0 && a.untaken+more.untaken > most.untaken ||
		more.bytes > 0 && most.bytes > 0 && a.bytes+more.bytes > most.bytes ||
		more.answers > 0 && most.answers > 0 && a.answers > 0 && a.answers+more.answers > most.answers
}

// holder is who the amounts of a call count against.
type holder struct {
	kind, name string
	connection *connection
}

// share is what a holder may have.
type share struct {
	holder

	most amount
}

// sharesOf are the shares that a call's amounts are parts of.
func (i *Intake) sharesOf(who Caller, c *connection) [4]share {
	half := i.config.Memory / 2
	all := share{holder{kind: "all"}, amount{bytes: i.config.Memory, answers: half}}
	if who.Keyless {
		return [4]share{
			all, {holder{kind: "keyless"}, amount{bytes: min(keylessMessages, half), answers: min(keylessAnswers, half/2)}},
			{holder{kind: "keyless of address", name: who.Address}, amount{calls: keylessCallsOfAddress, bytes: half}},
			{holder{kind: "keyless of connection", connection: c}, amount{calls: keylessCalls, untaken: keylessUntaken}},
		}
	}
	return [4]share{
		all, {holder{kind: "keyed"}, amount{calls: waitingCallsInAll, untaken: untakenInAll}},
		{holder{kind: "key", name: who.Key}, amount{calls: waitingCalls, untaken: untaken, bytes: half, answers: half / 2}},
		{holder{kind: "address", name: who.Address}, amount{bytes: half}},
	}
}

// minShare is the least of the shares: more than that, the call's bytes can never be.
func (c *Call) minShare() int64 {
	least := c.intake.config.Memory
	for _, s := range c.shares {
		if s.most.bytes > 0 {
			least = min(least, s.most.bytes)
		}
	}
	return least
}

// fits reports whether a call may have more. The caller holds the intake's mu.
func (c *Call) fits(more amount) bool {
	for _, s := range c.shares {
		if has := c.intake.holders[s.holder]; has != nil && has.exceeds(more, s.most) {
			return false
		}
	}
	return true
}

// take has a call hold more, or less. The caller holds the intake's mu.
func (c *Call) take(more amount) {
	c.held.add(more)
	for _, s := range c.shares {
		has := c.intake.holders[s.holder]
		if has == nil {
			has = &amount{}
			c.intake.holders[s.holder] = has
		}
		if has.add(more); *has == (amount{}) {
			delete(c.intake.holders, s.holder)
		}
	}
}

// give has a call hold less. The caller holds the intake's mu.
func (c *Call) give(less amount) {
	c.take(amount{-less.calls, -less.untaken, -less.bytes, -less.answers})
}

// grow has a call hold bytes more of a message that comes in.
func (c *Call) grow(n int64) error {
	c.intake.mu.Lock()
	defer c.intake.mu.Unlock()
	switch more := (amount{bytes: n}); {
	case c.over.Load(): // what is claimed now would not be given back
		return c.ctx.Err()
	case !c.fits(more):
		return again(fault.Unavailable, "MESSAGES_FULL", "the server holds as many bytes of request messages as it may; try again")
	default:
		c.take(more)
	}
	return nil
}

// claim has a call hold bytes more of an answer, if it may.
func (c *Call) claim(n int64) bool {
	c.intake.mu.Lock()
	defer c.intake.mu.Unlock()
	more := amount{answers: n}
	if c.forgotten || !c.fits(more) {
		return false
	}
	c.take(more)
	return true
}

// release frees what the call holds of a received message.
func (c *Call) release() {
	c.intake.mu.Lock()
	defer c.intake.mu.Unlock()
	c.give(amount{bytes: c.held.bytes})
}

// come notes that the message of a call has come.
func (c *Call) come() {
	if c.who.Keyless {
		return
	}
	c.intake.mu.Lock()
	defer c.intake.mu.Unlock()
	c.give(amount{calls: c.held.calls})
}

// end frees what the call holds, except untaken answers: it holds those until they are taken or its connection ends.
func (c *Call) end() {
	c.mu.Lock()
	c.ended = true
	c.timer.Stop()
	c.mu.Unlock()
	i := c.intake
	i.mu.Lock()
	defer i.mu.Unlock()
	delete(i.keyless, c)
	c.over.Store(true)
	c.give(amount{calls: c.held.calls, bytes: c.held.bytes})
	if c.answers.Load() > 0 && c.connection.watched {
		c.take(amount{untaken: 1 - c.held.untaken})
		return
	}
	c.forget()
}

// stall counts the call as one whose answer is not taken, or with -1 no more, and returns the bytes of answers that it holds.
func (c *Call) stall(n int) (waiting int64) {
	c.intake.mu.Lock()
	defer c.intake.mu.Unlock()
	if !c.over.Load() && c.connection.watched {
		c.take(amount{untaken: min(max(n, -c.held.untaken), 1-c.held.untaken)})
	}
	return c.held.answers
}

// taken notes that an answer, of which the call held so many bytes, is on its way to the client, or that none waits for it.
func (c *Call) taken(n int64) {
	last := c.answers.Add(-1) == 0 && c.over.Load()
	if n == 0 && !last {
		return
	}
	c.intake.mu.Lock()
	defer c.intake.mu.Unlock()
	if c.forgotten {
		return
	}
	c.give(amount{answers: n})
	if last {
		c.forget()
	}
}

// forget is the end of a call in the account. The caller holds the intake's mu.
func (c *Call) forget() {
	c.give(c.held)
	c.forgotten = true
	delete(c.connection.calls, c)
	if len(c.connection.calls) == 0 && !c.connection.watched {
		delete(c.intake.connections, c.connection.peer)
	}
}

// closed is the end of a connection: nothing of its answers waits any more.
func (i *Intake) closed(connection *connection) {
	i.mu.Lock()
	defer i.mu.Unlock()
	connection.watched = false
	for c := range connection.calls {
		if c.over.Load() {
			c.forget()
		}
	}
	if len(connection.calls) == 0 {
		delete(i.connections, connection.peer)
	}
}

// again is an error that asks to try again soon.
func again(kind fault.Kind, reason, format string, args ...any) *fault.Error {
	f := fault.New(kind, reason, format, args...)
	f.RetryAfter = time.Second
	return f
}

// crowded is the error of a caller who has too many calls open.
func (c *Call) crowded() error {
	if c.who.Keyless {
		return fault.New(fault.RateLimited, "CALLS_WITHOUT_KEY",
			"too many calls without an API key are open; at most %d on a connection and %d from an address", keylessCalls, keylessCallsOfAddress)
	}
	return again(fault.RateLimited, "CALLS_WITHOUT_MESSAGE",
		"too many calls wait for their request message; at most %d of one API key and %d in all may", waitingCalls, waitingCallsInAll)
}

// notTaken is the error of a caller who leaves answers in its windows.
func (c *Call) notTaken() error {
	return again(fault.RateLimited, "ANSWERS_NOT_TAKEN",
		"the client does not take its answers: the server holds as many as it may that wait for room in a window; take them, and try again")
}
