// Package check asks upstreams at intervals whether they answer, so that one which fails is no
// longer called before a caller finds out, and one which is back is used again at once.
//
// It must not import an adapter, routes, nor net/http or grpc.
package check

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/genway/genway/codec/fault"
)

// Check is the check of one upstream.
type Check struct {
	// Name is the upstream's, for the log.
	Name string
	// Every is the time from one check to the next, and how long one may take.
	Every time.Duration
	// Ask makes the call. It returns when ctx ends.
	Ask func(ctx context.Context) error
	// Report is called after each check with whether the upstream may be called.
	Report func(ok bool)
}

// maxFailed is how many checks in a row fail before the upstream is not called: one by itself
// may be an accident of the network. One that succeeds is enough to use it again.
const maxFailed = 2

// Watch makes the checks until ctx ends, each by itself. What changes is logged. In the end
// all upstreams may be called.
func Watch(ctx context.Context, checks []*Check, log *slog.Logger) {
	var group sync.WaitGroup
	for _, c := range checks {
		group.Go(func() { c.watch(ctx, log) })
	}
	group.Wait()
}

func (c *Check) watch(ctx context.Context, log *slog.Logger) {
	defer c.Report(true)
	tick := time.NewTicker(c.Every)
	defer tick.Stop()
	for failed := 0; ; {
		err := c.once(ctx)
		if ctx.Err() != nil {
			return
		}
		switch before := failed; {
		case err != nil:
			if failed++; failed == maxFailed {
				log.Warn("the upstream fails its checks and is not called until one succeeds", "upstream", c.Name, "error", err)
			}
		default:
			if failed = 0; before >= maxFailed {
				log.Info("the upstream answers its checks again", "upstream", c.Name)
			}
		}
		c.Report(failed < maxFailed)
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// once makes a check. An upstream that refuses it for a limit, or for what was asked, is there.
func (c *Check) once(ctx context.Context) error {
	ctx, stop := context.WithTimeout(ctx, c.Every)
	defer stop()
	err := c.Ask(ctx)
	if err == nil {
		return nil
	}
	switch fault.From(err).Kind { //nolint:exhaustive // all others are of an upstream that does not answer
	case fault.RateLimited, fault.InvalidRequest, fault.NotFound, fault.TooLarge:
		return nil
	}
	return err
}
