package demo

import (
	"time"

	"github.com/genway/genway/core/ledger"
)

// answer is an attempt that has an answer, and gives when it ended.
func (m *maker) answer(c *caller, asked *model, s *session, stream bool, a *ledger.Attempt, at time.Duration, r *ledger.Result) time.Duration {
	a.Connected = at + m.took(25*time.Millisecond)/time.Duration(1+9*m.rand.IntN(2))
	a.Status = 200
	if m.rand.Float64() < .004 {
		a.Status, a.Kind, a.Reason = 400, "invalid_request", "context_length_exceeded"
		a.Headers = a.Connected + m.took(90*time.Millisecond)
		a.End = a.Headers + m.took(80*time.Microsecond)
		r.Outcome, r.Kind, r.Reason = ledger.Failed, a.Kind, a.Reason
		return a.End
	}
	r.Model = asked.served
	if asked.image {
		r.Usage.Images = 1 + int64(m.rand.IntN(3))
		a.Headers = a.Connected + m.took(21*time.Second)
		a.End = a.Headers + m.took(40*time.Millisecond)
		return a.End
	}
	m.use(c, s, r)
	ends := a.Connected + m.took(asked.first)
	last := ends + time.Duration(float64(r.Usage.Output)/asked.perSecond*float64(time.Second))
	if !stream {
		a.Headers, a.End = last, last+m.took(90*time.Microsecond)
		return a.End
	}
	a.Headers, a.FirstEvent = ends-m.took(3*time.Millisecond)/2, ends
	a.Headers = max(a.Headers, a.Connected)
	a.Released = ends + m.took(40*time.Microsecond)
	a.End = max(last, a.Released)
	r.FirstEvent = a.Released
	if m.rand.Float64() < c.left {
		part := m.rand.Float64()
		a.End = a.Released + time.Duration(part*float64(a.End-a.Released))
		r.Outcome, r.Kind, r.Reason = ledger.Cancelled, "cancelled", "CANCELLED"
		a.Kind, a.Reason = r.Kind, r.Reason
		if r.UpstreamProtocol != "messages" { // the others report at their end
			r.Usage = ledger.Usage{}
		} else {
			r.Usage.Output, r.Usage.Thinking = 1, 0
		}
	}
	return a.End
}

// use makes a usage up.
func (m *maker) use(c *caller, s *session, r *ledger.Result) {
	u := &r.Usage
	input := m.about(c.input, .6)
	if c.session > 0 {
		input = m.about(c.input, .25) * min(s.grown, 2.2)
	}
	u.Input = max(8, int64(input))
	u.Output = max(1, int64(m.about(c.output, .8)))
	u.Thinking = int64(float64(u.Output) * c.thinking * m.rand.Float64() * 1.6)
	u.Thinking = min(u.Thinking, u.Output)
	if c.cached > 0 && m.rand.Float64() < .9 {
		u.CacheRead = int64(float64(u.Input) * c.cached * (.9 + m.rand.Float64()*.1))
		if r.UpstreamProtocol == "messages" {
			u.CacheWrite = (u.Input - u.CacheRead) * 7 / 10
		}
	}
	if r.Upstream == "lab" || r.Upstream == "local" && m.rand.Float64() < .03 {
		r.UsageSource = ledger.Estimated
	}
}
