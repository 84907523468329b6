package sandbox

import (
	"context"
	"time"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/core/call"
	"github.com/genway/genway/core/upstream"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/genway/genway/internal/tokens"
	"github.com/genway/genway/protocol/deferred"
)

// GenerateText returns one complete answer.
func (s *Sandbox) GenerateText(ctx context.Context, asked *deferred.Request) (*genwayv1.GenerateTextResponse, error) {
	req, err := asked.Whole()
	if err != nil {
		return nil, err
	}
	call.Of(ctx).Calls++
	m, err := s.find(req.GetModel(), false)
	if err != nil {
		return nil, err
	}
	if err := m.before(ctx); err != nil {
		return nil, err
	}
	if m.demand.fault != nil {
		return nil, m.demand.fault()
	}
	if err := codec.CheckRanges(req.GetSampling()); err != nil {
		return nil, err
	}
	resp, err := s.answer(call.Of(ctx).Caller.KeyID, req, m) //nolint:contextcheck // it takes a moment
	if err != nil {
		return nil, err
	}
	if m.demand.pace == beforeFirst {
		if err := wait(ctx, m.amount.wait); err != nil {
			return nil, err
		}
	}
	return resp, nil
}

// StreamGenerateText returns the same answer as events: texts in pieces of a token, the
// opening event before anything that takes time.
func (s *Sandbox) StreamGenerateText(ctx context.Context, asked *deferred.Request, send upstream.Send) error {
	req, err := asked.Whole()
	if err != nil {
		return err
	}
	call.Of(ctx).Calls++
	m, err := s.find(req.GetModel(), false)
	if err != nil {
		return err
	}
	if err := m.before(ctx); err != nil {
		return err
	}
	if err := codec.CheckRanges(req.GetSampling()); err != nil {
		return err
	}
	resp, err := s.answer(call.Of(ctx).Caller.KeyID, req, m) //nolint:contextcheck // it takes a moment
	if err != nil {
		return err
	}
	events := codec.Events(resp, pieces)
	for i, event := range events {
		if m.demand.halfway && i == (len(events)+1)/2 {
			return m.demand.fault()
		}
		if err := m.pause(ctx, i, func() error { return send(codec.Event(&genwayv1.Ping{})) }); err != nil {
			return err
		}
		if err := send(event); err != nil {
			return err
		}
	}
	return nil
}

func pieces(text string) []string {
	var list []string
	for _, p := range tokens.Pieces(text) {
		list = append(list, p.Text)
	}
	return list
}

// before is what a model does before it looks at the request.
func (m model) before(ctx context.Context) error {
	if m.demand.fault != nil && !m.demand.halfway {
		return m.demand.fault()
	}
	if m.demand.pace == forever {
		<-ctx.Done()
	}
	return left(ctx)
}

// left returns the fault of a call that its caller has left, or whose time is over; nil for one that goes
// on. What it used counts.
func left(ctx context.Context) error {
	if ctx.Err() == nil {
		return nil
	}
	call.Of(ctx).Accepted = true
	return upstream.Interrupted(ctx)
}

// pingEvery is how often a slow model shows that it is alive.
const pingEvery = time.Second

// pause waits before the i-th event, as the model's name asks. In a long wait it calls
// ping.
func (m model) pause(ctx context.Context, i int, ping func() error) error {
	switch {
	case m.demand.pace == beforeEach && i > 0:
		return wait(ctx, m.amount.wait)
	case m.demand.pace == beforeFirst && i == 1:
		for left := m.amount.wait; ; left -= pingEvery {
			if left <= pingEvery {
				return wait(ctx, left)
			}
			if err := wait(ctx, pingEvery); err != nil {
				return err
			}
			if err := ping(); err != nil {
				return err
			}
		}
	}
	return wait(ctx, 0)
}

// wait takes its time unless the context ends first.
func wait(ctx context.Context, d time.Duration) error {
	if d > 0 {
		defer call.Of(ctx).Await(time.Now())
		timer := time.NewTimer(d)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
		}
	}
	return left(ctx)
}
