package demo

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/genway/genway/core/ledger"
	"github.com/genway/genway/core/price"
)

// maker makes requests up, in the order in which they begin.
type maker struct {
	Week
	rand     *rand.Rand
	prices   *price.Catalogue
	callers  []*caller
	events   events
	sessions map[string]*session // by key
	left     int                 // how many were left open by the core that was killed
}

// session is what an agent is at: requests of one trace.
type session struct {
	trace string
	rest  int
	// grown is how far its input has grown.
	grown float64
}

// mostLeft is how many requests were in flight when a core was killed.
const mostLeft = 3

// record makes the requests of the week and records them.
func (m *maker) record(ctx context.Context, recorder *ledger.Recorder, progress func(int64)) (done int, err error) {
	from := m.End.Add(-time.Duration(m.Days) * day)
	for i, n := range spread(m.Week) {
		for _, at := range starts(m.rand, from.Add(time.Duration(i)*time.Hour), n) {
			request, result, settled := m.next(at)
			record, err := recorder.Open(ctx, request)
			if err != nil {
				if _, cause := recorder.Failing(); cause != nil && errors.Is(err, ledger.ErrBusy) {
					err = cause
				}
				return done, fmt.Errorf("demo: %w", err)
			}
			if settled {
				record.Settle(result)
			}
			done++
		}
		if progress != nil {
			progress(int64(done))
		}
	}
	return done, nil
}

// next makes the request that begins at a time; settled is false for one that was interrupted.
func (m *maker) next(at time.Time) (request ledger.Request, result ledger.Result, settled bool) {
	c := m.caller(at)
	asked := models[pick(m.rand, c.models)]
	s := m.session(c)
	request = ledger.Request{
		ID: "req_" + m.word(26, "abcdefghijklmnopqrstuvwxyz234567"), KeyID: c.id, Owner: c.owner, Protocol: c.protocol, Method: "GenerateText",
		Model: asked.name, Start: at, TraceID: s.trace,
	}
	stream := m.rand.Float64() < c.streams
	switch {
	case asked.image:
		request.Method = "GenerateImage"
	case stream:
		request.Method = "StreamGenerateText"
	}
	if m.left < mostLeft && !at.Before(m.events.kill) {
		m.left++
		return request, ledger.Result{}, false
	}
	result = m.run(c, asked, s, request, stream)
	return request, result, true
}

// caller chooses whose request it is.
func (m *maker) caller(at time.Time) *caller {
	weights := make([]float64, len(m.callers))
	total := 0.
	for i, c := range m.callers {
		if c.ended.IsZero() || at.Before(c.ended) {
			total += c.share * c.hours.load(at)
		}
		weights[i] = total
	}
	x := m.rand.Float64() * total
	return m.callers[min(len(weights)-1, slices.IndexFunc(weights, func(w float64) bool { return x < w }))]
}

func pick(chance *rand.Rand, of []choice) string {
	x := chance.Float64()
	for _, c := range of {
		if x -= c.part; x < 0 {
			return c.model
		}
	}
	return of[len(of)-1].model
}

// session gives the session that the request belongs to, or one of its own.
func (m *maker) session(c *caller) *session {
	s := m.sessions[c.id]
	if s == nil || s.rest == 0 {
		s = &session{trace: m.word(32, "0123456789abcdef"), rest: 1, grown: .2}
		if c.session > 0 {
			s.rest = 1 + m.rand.IntN(2*c.session)
		}
		m.sessions[c.id] = s
	}
	s.rest--
	s.grown += .12
	return s
}

func (m *maker) word(n int, digits string) string {
	b := make([]byte, n)
	for i := range b {
		b[i] = digits[m.rand.IntN(len(digits))]
	}
	return string(b)
}

// about gives a figure near a usual one: most within a factor of two, some far above.
func (m *maker) about(usual, sigma float64) float64 {
	return usual * math.Exp(m.rand.NormFloat64()*sigma)
}

func (m *maker) took(usual time.Duration) time.Duration {
	return time.Duration(m.about(float64(usual), .35)).Round(time.Microsecond)
}

// run is what becomes of a request.
func (m *maker) run(c *caller, asked *model, s *session, request ledger.Request, stream bool) ledger.Result {
	r := ledger.Result{Outcome: ledger.OK, Route: asked.route}
	t := ledger.Timeline{Admitted: m.took(900 * time.Microsecond)}
	if limits := m.took(250 * time.Microsecond); limits < t.Admitted {
		t.Limits = ledger.Stage{Begin: (t.Admitted - limits) / 2, End: (t.Admitted + limits) / 2}
	}
	at := t.Admitted + m.took(150*time.Microsecond)
	t.Route = ledger.Stage{Begin: t.Admitted + (at-t.Admitted)/3, End: at}
	for i, p := range m.places(asked) {
		a := ledger.Attempt{Upstream: p.upstream, Protocol: p.protocol, Model: request.Model, Begin: at, Calls: 1}
		r.Upstream, r.UpstreamProtocol = p.upstream, p.protocol
		hit := m.events.hits(m.rand, p.upstream, request.Start)
		if hit != nil && hit.status == 529 && m.rand.Float64() < .7 {
			at += m.took(hit.took) // and once more at the same place, which works
			a.Calls++
			r.Attempts++
			hit = nil
		}
		r.Attempts++
		if hit == nil {
			at = m.answer(c, asked, s, stream, &a, at, &r)
			t.Attempts = append(t.Attempts, a)
			break
		}
		at += m.took(hit.took)
		a.Status, a.Kind, a.Reason, a.End = hit.status, hit.kind, hit.reason, at
		if hit.status > 0 {
			a.Connected, a.Headers = a.Begin+m.took(20*time.Millisecond)/10, at
		}
		t.Attempts = append(t.Attempts, a)
		if i == len(asked.places)-1 {
			r.Outcome, r.Kind, r.Reason = ledger.Failed, hit.kind, hit.reason
		}
		at += m.took(200 * time.Microsecond)
	}
	r.Duration = at + m.took(120*time.Microsecond)
	t.Settled = r.Duration + m.took(60*time.Microsecond)
	if lost := lostTo[[2]string{request.Protocol, r.UpstreamProtocol}]; len(lost) > 0 && m.rand.Float64() < .55 {
		r.Losses = strings.Join(lost[:1+m.rand.IntN(len(lost))], ",")
	}
	if p, ok := m.prices.FindFirst(r.Upstream, []string{r.Model, request.Model}, request.Start); ok && r.Usage != (ledger.Usage{}) {
		r.Cost, r.Price = p.Cost(r.Usage), p.ID
	}
	r.Timeline = string(ledger.AppendTimeline(nil, &t, &request, &r))
	return r
}

// places are those that a request is sent to, in their order. A quarter of what may go to either
// of two begins with the second, which the first does not follow.
func (m *maker) places(asked *model) []place {
	if asked.route == "claude-*" && m.rand.IntN(4) == 0 {
		return asked.places[1:]
	}
	return asked.places
}
