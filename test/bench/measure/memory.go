package measure

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/genway/genway/test/bench/load"
	"github.com/genway/genway/test/bench/workload"
)

// MemoryConfig says how much memory is asked for.
type MemoryConfig struct {
	// Rounds is how often streams are opened. The CPU time that they take is of these rounds.
	Rounds int
	// Streams is how many are open at once.
	Streams int
	// Pictures is how many images of 20 MB are answered with. 0 is none.
	Pictures int64
	// Collect is for how long chat requests of 1 KB follow them. Their garbage makes
	// the runtime collect, as any traffic does; then it has as long again to give back
	// what is free.
	Collect time.Duration
}

// Memory asks targets for what takes memory, each time with a target newly started: all for images
// and for streams, gateways for images of 20 MB. A target that fails at one of them, as one that
// sheds load while others use the machine, is asked again up to Tries times; the failures that
// remain are given when all else is measured.
func (b *Bench) Memory(ctx context.Context, config MemoryConfig) error {
	failed := b.memories(ctx, imagesAtOnce(), 0)
	for round := range config.Rounds {
		failed = errors.Join(failed, b.memories(ctx, workload.OpenStreams(config.Streams), round))
	}
	if config.Pictures > 0 {
		failed = errors.Join(failed, b.pictures(ctx, workload.Pictures(config.Pictures), config.Collect))
	}
	return failed
}

// memories puts each target through a workload, newly started.
func (b *Bench) memories(ctx context.Context, w workload.Workload, round int) (failed error) {
	for _, s := range b.subjects {
		if s.Peer != nil && !s.Peer.Takes(string(w.Caller), "") {
			continue
		}
		err := b.again(ctx, s, func() error {
			if err := b.restart(ctx, s); err != nil {
				return err
			}
			if err := b.control(ctx, w.Upstream); err != nil { // of the direct target, too
				return err
			}
			r, err := b.memory(ctx, s, w)
			if err != nil {
				return err
			}
			r.Round = round
			return b.record(r)
		})
		failed = errors.Join(failed, err)
	}
	return failed
}

// again measures a target up to Tries times, until that succeeds, and stops it. A peer's failures
// are only warned of.
func (b *Bench) again(ctx context.Context, s *subject, do func() error) (err error) {
	for range max(1, b.config.Tries) {
		err = do()
		b.stop(s)
		if err == nil || ctx.Err() != nil {
			return err
		}
		b.logf("WARNING: %v", err)
	}
	if s.Peer != nil {
		return nil
	}
	return err
}

// gateways are the forms of Genway, or what stands for one.
func (b *Bench) gateways() (gateways []*subject) {
	for _, s := range b.subjects {
		if s.Gateway {
			gateways = append(gateways, s)
		}
	}
	return gateways
}

// imagesAtOnce is eight images of 1.5 MB at a time, for a while.
func imagesAtOnce() workload.Workload {
	for _, w := range workload.Main() {
		if w.Name == "image-out" {
			w.Requests, w.Duration = 400, time.Minute
			return w
		}
	}
	panic("bench: no workload image-out")
}

// memory puts a target at rest through a workload, without requests before it.
func (b *Bench) memory(ctx context.Context, s *subject, w workload.Workload) (Record, error) {
	client, job := b.client(s, w)
	defer client.Close()
	r, err := b.measured(ctx, s, func() load.Result { return client.Do(ctx, job, b.pace(w)) })
	if err == nil && r.Load.Failed() > 0 {
		err = fmt.Errorf("%v", r.Load.Errors)
	}
	if err != nil {
		return r, fmt.Errorf("%s, %s: %w", s.Name, w.Name, err)
	}
	r.Kind, r.Workload = KindMemory, w.Name
	b.logf("memory %-13s %-13s idle %5.1f MB (anonymous %5.1f)  peak %6.1f MB  after %6.1f MB (anonymous %6.1f)", w.Name, s.Name,
		megabytes(r.IdleRSS), megabytes(r.IdleAnonymous), megabytes(r.PeakRSS), megabytes(r.AfterRSS), megabytes(r.AfterAnonymous))
	return r, nil
}

// recovers is how long a gateway may take from an overload, which the images are for one processor,
// until it serves all small requests. Those that it refuses until then are logged.
const recovers = 2 * time.Second

// pictures sends large images through each gateway, then small requests, and looks at
// its memory when it has come to rest.
func (b *Bench) pictures(ctx context.Context, w workload.Workload, collect time.Duration) (failed error) {
	for _, s := range b.gateways() {
		err := b.again(ctx, s, func() error {
			if err := b.control(ctx, w.Upstream); err != nil {
				return err
			}
			if err := b.restart(ctx, s); err != nil {
				return err
			}
			r, err := b.memory(ctx, s, w)
			if err != nil {
				return err
			}
			client, job := b.client(s, workload.Chat1K())
			first := client.Do(ctx, job, load.Run{Duration: recovers})
			result := client.Do(ctx, job, load.Run{Duration: collect})
			client.Close()
			if first.Failed() > 0 {
				b.logf("memory %-13s %-13s %d small requests of the first %v failed: %v", w.Name, s.Name, first.Failed(), recovers, first.Errors)
			}
			if result.Failed() > 0 {
				return fmt.Errorf("%s, %v after images: %v", s.Name, recovers, result.Errors)
			}
			if err := rest(ctx, collect); err != nil {
				return err
			}
			r.AfterRSS, r.AfterAnonymous = s.group.RSS(), s.group.Anonymous()
			b.logf("memory %-13s %-13s after %d small requests %.1f MB", w.Name, s.Name, result.Requests, megabytes(r.AfterRSS))
			return b.record(r)
		})
		failed = errors.Join(failed, err)
	}
	return failed
}

func megabytes(bytes int64) float64 { return float64(bytes) / (1 << 20) }

// Soak holds so many streams open for a time, on each target in turn. Streams that
// lose an event are errors of the record.
func (b *Bench) Soak(ctx context.Context, streams int, last time.Duration) error {
	w := workload.Open("soak", "streams for a long time", streams, last)
	// To open a stream costs what some dozens of its events do: to open them all within two seconds would
	// be an overload of one processor, and streams would be refused.
	w.Ramp = time.Duration(streams) * 5 * time.Millisecond
	for _, s := range b.subjects {
		if err := b.restart(ctx, s); err != nil {
			return err
		}
		if !s.takes(w, false) {
			b.logf("WARNING: %s does not take %s", s.Name, w.Title)
			b.stop(s)
			continue
		}
		if err := b.control(ctx, w.Upstream); err != nil { // of the direct target, too
			return err
		}
		client, job := b.client(s, w)
		r, err := b.measured(ctx, s, func() load.Result { return client.Do(ctx, job, b.pace(w)) })
		client.Close()
		if err != nil {
			return fmt.Errorf("%s: %w", s.Name, err)
		}
		r.Kind, r.Workload = KindSoak, w.Name
		b.logf("soak %-13s %d streams whole, %d events, errors %v, %.2f of a core, peak %.1f MB", s.Name, r.Load.Requests, r.Load.Events, r.Load.Errors, r.CPU/r.Load.Wall, megabytes(r.PeakRSS))
		if err := b.record(r); err != nil {
			return err
		}
		b.stop(s)
	}
	return nil
}
