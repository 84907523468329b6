package measure

import (
	"context"
	"fmt"
	"time"

	"github.com/genway/genway/test/bench/load"
	"github.com/genway/genway/test/bench/process"
	"github.com/genway/genway/test/bench/workload"
)

// Startup starts each target so many times, in turn, and leaves all running.
func (b *Bench) Startup(ctx context.Context, rounds int) error {
	for round := range rounds {
		for _, s := range b.subjects {
			b.stop(s)
			took, err := b.start(ctx, s)
			if err != nil {
				return err
			}
			size, err := s.plan.Size()
			if err != nil {
				return err
			}
			if err := b.record(Record{Kind: KindStart, Target: s.Name, Round: round, StartSeconds: took.Seconds(), Binary: size}); err != nil {
				return err
			}
		}
	}
	return nil
}

// Rounds puts all targets that run through all workloads, so many times. Workloads
// that cross protocols are only for gateways; with gatewaysOnly all are.
func (b *Bench) Rounds(ctx context.Context, group string, workloads []workload.Workload, rounds int, gatewaysOnly bool) error {
	for round := range rounds {
		for _, w := range workloads {
			if err := b.control(ctx, w.Upstream); err != nil {
				return err
			}
			for _, s := range b.subjects {
				if !s.takes(w, gatewaysOnly) {
					continue
				}
				r, err := b.run(ctx, s, w)
				switch {
				case err != nil && s.Peer != nil && ctx.Err() == nil:
					b.logf("WARNING: %s, %s: %v", s.Name, w.Name, err)
					continue
				case err != nil:
					return fmt.Errorf("%s, %s: %w", s.Name, w.Name, err)
				}
				r.Group, r.Round = group, round
				b.logf("%s %d/%d %-24s %-13s %8.1f µs/request %8.0f rps  p50 %.2f ms  others %.2f", group, round+1, rounds, w.Name, s.Name, r.CPUPer1000, r.Load.RPS, r.Load.Latency.P50, r.Others)
				if err := b.record(r); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// run runs one workload on one target, again when others disturbed it.
func (b *Bench) run(ctx context.Context, s *subject, w workload.Workload) (r Record, err error) {
	client, job := b.client(s, w)
	defer client.Close()
	// The connections are made, and the target's memory, by requests that do not count;
	// short ones, where a run is long.
	warm := job
	if w.Requests > 0 {
		chat := workload.Chat1K()
		warm = chat.Job(s.recipient(chat))
	}
	for tries := 1; ; tries++ {
		if result := client.Do(ctx, warm, load.Run{Duration: b.config.Warm}); result.Failed() > 0 {
			return r, fmt.Errorf("while warming up: %v", result.Errors)
		}
		if r, err = b.measured(ctx, s, func() load.Result { return client.Do(ctx, job, b.pace(w)) }); err != nil {
			return r, err
		}
		r.Kind, r.Workload, r.Tries = KindRun, w.Name, tries
		if r.Others <= b.config.MaxOthers || tries >= b.config.Tries {
			return r, nil
		}
		if err := rest(ctx, time.Second); err != nil {
			return r, err
		}
	}
}

func (b *Bench) client(s *subject, w workload.Workload) (*load.Client, *load.Job) {
	stream := w.Upstream.Latency + time.Duration(w.Upstream.Pieces)*w.Upstream.Gap
	client := load.NewClient(s.plan.Address, w.Connections, 30*time.Second+2*stream)
	return client, w.Job(s.recipient(w))
}

func (b *Bench) pace(w workload.Workload) load.Run {
	run := load.Run{Duration: w.Duration, Requests: w.Requests, Rate: w.Rate, Ramp: w.Ramp}
	if run.Duration == 0 {
		run.Duration = b.config.Duration
	}
	return run
}

// afterwork is how long a target may go on after its last answer at its own expense.
// Genway's ledger waits 20 ms for company.
const afterwork = 60 * time.Millisecond

// measured returns what a target spends while do runs.
func (b *Bench) measured(ctx context.Context, s *subject, do func() load.Result) (Record, error) {
	if err := rest(ctx, afterwork); err != nil {
		return Record{}, err
	}
	r := Record{Target: s.Name, IdleRSS: s.group.RSS(), IdleAnonymous: s.group.Anonymous()}
	if err := s.group.ResetPeak(); err != nil {
		return r, err
	}
	begin := time.Now()
	ours := b.ours(s)
	machine, err := process.MachineCPU()
	if err != nil {
		return r, err
	}
	cpu := s.group.CPU()

	result := do()
	if err := rest(ctx, afterwork); err != nil {
		return r, err
	}

	r.CPU = (s.group.CPU() - cpu).Seconds()
	after, err := process.MachineCPU()
	if err != nil {
		return r, err
	}
	r.Others = max(0, (after-machine)-(b.ours(s)-ours)).Seconds() / time.Since(begin).Seconds()
	r.PeakRSS, r.AfterRSS, r.AfterAnonymous = s.group.Peak(), s.group.RSS(), s.group.Anonymous()
	r.Load = &result
	if result.Requests == 0 {
		return r, fmt.Errorf("no answer was good: %v", result.Errors)
	}
	r.CPUPer1000 = r.CPU * 1e6 / float64(result.Requests)
	return r, nil
}

// ours is the time that a run itself has taken: the target, the upstream, this process.
func (b *Bench) ours(s *subject) time.Duration {
	return s.group.CPU() + b.upstream.CPU() + process.SelfCPU()
}
