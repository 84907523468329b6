package overload

import (
	"context"
	"log/slog"
	"time"
)

// How often the signals are read: often while requests come, seldom while none do.
const (
	busyTick = 20 * time.Millisecond
	idleTick = 100 * time.Millisecond
)

// Run reads the signals until ctx ends. There is one Run of a Gate.
func (g *Gate) Run(ctx context.Context) {
	if g == nil {
		return
	}
	c := controller{gate: g, reported: time.Now()}
	defer g.attend(ctx)()
	timer := time.NewTimer(busyTick)
	defer timer.Stop()
	defer func() {
		c.report(ctx)
		g.pressed.Store(0) // otherwise the overload would never end
		c.collector.running.Wait()
	}()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		if now := time.Now(); c.step(now) {
			timer.Reset(busyTick)
		} else {
			timer.Reset(idleTick)
		}
		if time.Since(c.reported) >= time.Second {
			c.report(ctx)
			c.reported = time.Now()
		}
	}
}

// controller turns the signals into what the gate does.
type controller struct {
	gate *Gate
	// Of the step before.
	admitted, refused int64
	collector         collector

	reported time.Time
	shown    [signals][priorities]int64
}

// step reads the signals; it reports whether requests come.
func (c *controller) step(now time.Time) bool {
	g := c.gate
	if g.config.Memory > 0 {
		c.weigh(now, g.config.probe.memory())
	}
	admitted, refused := g.admitted.Load(), g.refusals()
	asked := admitted != c.admitted || refused != c.refused
	c.admitted, c.refused = admitted, refused
	return asked
}

// refusals are those of this process.
func (g *Gate) refusals() (n int64) {
	for p := range priorities {
		n += g.refused[Processor][p].Load() + g.refused[Memory][p].Load()
	}
	return n
}

// The parts of the memory from which on batch requests and all requests are refused.
const (
	memoryForBatch = 0.80
	memoryForAll   = 0.92
)

func (c *controller) weigh(now time.Time, used int64) {
	g, most := c.gate, float64(c.gate.config.Memory)
	set := func(bit uint32, on bool) {
		if on {
			g.pressed.Or(bit)
		} else {
			g.pressed.And(^bit)
		}
	}
	short := float64(used) > most*memoryForBatch
	set(noBatch, short)
	set(noneAtAll, float64(used) > most*memoryForAll)
	if short {
		c.collector.whileShort(g.config.probe, now)
	}
}

// report logs the refusals since the last time, and calls OnRefused with them.
func (c *controller) report(ctx context.Context) {
	g := c.gate
	var attrs []slog.Attr
	total := int64(0)
	for signal := range signals {
		for p := range priorities {
			n := g.refused[signal][p].Load()
			since := n - c.shown[signal][p]
			if since == 0 {
				continue
			}
			c.shown[signal][p] = n
			total += since
			attrs = append(attrs, slog.Int64(signal.String()+"_"+p.String(), since))
			if g.config.OnRefused != nil {
				g.config.OnRefused(signal, p, since)
			}
		}
	}
	if total > 0 {
		g.config.Logger.LogAttrs(ctx, slog.LevelWarn, "requests are refused: there are more than can be served", append([]slog.Attr{slog.Int64("refused", total)}, attrs...)...)
	}
}
