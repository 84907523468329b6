package hostile

import (
	"context"
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// Outcome is what became of an attack.
type Outcome struct {
	// Opened is how many connections were opened, and Ended how many of them the server
	// ended, or did not take.
	Opened, Ended int64
	// Steps is how many times the attack's step was made.
	Steps int64
}

// Run makes the attack on so many connections at once until ctx ends. enough, if set, is
// called as a connection has ended; the attack ends once it reports true.
func (f Flood) Run(ctx context.Context, port Port, connections int, enough func(ended int64) bool) (Outcome, error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var opened, ended, steps atomic.Int64
	var failed atomic.Pointer[error]
	var attackers sync.WaitGroup
	for range connections {
		attackers.Go(func() {
			for ctx.Err() == nil {
				n, byServer, err := f.attack(ctx, port)
				if steps.Add(n); err != nil {
					var timeout net.Error
					if ctx.Err() == nil && (!errors.As(err, &timeout) || !timeout.Timeout()) { // the dialler may see the end first
						failed.Store(&err)
						stop()
					}
					return
				}
				opened.Add(1)
				if !byServer {
					continue
				}
				if n := ended.Add(1); enough != nil && enough(n) {
					stop()
				}
			}
		})
	}
	attackers.Wait()
	outcome := Outcome{Opened: opened.Load(), Ended: ended.Load(), Steps: steps.Load()}
	if err := failed.Load(); err != nil {
		return outcome, *err
	}
	return outcome, nil
}

// attack makes it on one connection, until the server ends that or ctx ends. The error is of
// the dialling.
func (f Flood) attack(ctx context.Context, port Port) (steps int64, byServer bool, err error) {
	p, err := dial(ctx, port)
	if err != nil {
		return 0, false, err
	}
	done := context.AfterFunc(ctx, func() { _ = p.SetDeadline(time.Now()) })
	defer done()
	var reading sync.WaitGroup
	defer reading.Wait()
	defer p.Close()
	if !f.Deaf {
		reading.Go(p.drain)
	}
	steps, err = f.keepOn(ctx, p)
	// A deadline is ours; all else is the server's.
	var timeout net.Error
	byServer = ctx.Err() == nil && (err == nil || !errors.As(err, &timeout) || !timeout.Timeout())
	return steps, byServer, nil
}

// batch is how many steps are written together.
const batch = 100

// keepOn makes steps until the connection fails.
func (f Flood) keepOn(ctx context.Context, p *peer) (steps int64, err error) {
	if !f.silent {
		if err := p.open(f.settings...); err != nil {
			return 0, err
		}
	}
	if f.prepare != nil {
		if err := errors.Join(f.prepare(p), p.out.Flush()); err != nil {
			return 0, err
		}
	}
	if f.step == nil {
		select {
		case <-p.ended:
		case <-ctx.Done():
		}
		return 0, nil
	}
	for {
		for range batch {
			if err := f.step(p); err != nil {
				return steps, err
			}
			steps++
		}
		if err := p.out.Flush(); err != nil {
			return steps, err
		}
		if p.stream > 1<<30 {
			return steps, nil
		}
	}
}
