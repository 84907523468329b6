package measure

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/genway/genway/test/bench/load"
	"github.com/genway/genway/test/bench/process"
	"github.com/genway/genway/test/bench/target"
	"github.com/genway/genway/test/bench/workload"
)

// Config is where and how is measured.
type Config struct {
	Targets []target.Target
	// Dir is a directory for the targets' files, Programs that of Genway's commands,
	// Self this program.
	Dir, Programs, Self string
	// LoadCore is for upstream and generator, TargetCore for the targets.
	LoadCore, TargetCore int
	// Duration is that of a run, and Warm of the requests before it.
	Duration, Warm time.Duration
	// MaxOthers is how many cores others may use during a run; one disturbed by more
	// is made again, up to Tries times in all.
	MaxOthers float64
	Tries     int
	// Results take a line of JSON for each record, Log a line for a reader.
	Results, Log io.Writer
}

// Bench is a configuration at work: the upstream runs, and targets are prepared.
type Bench struct {
	config   Config
	results  *json.Encoder
	upstream process.Group
	// controls are the upstreams' addresses, that of the direct target included.
	controls []string
	subjects []*subject
}

// subject is a target with what has been prepared for it.
type subject struct {
	target.Target
	plan  *target.Plan
	group process.Group // its processes, while it runs
}

// recipient is the target as the one that a workload's requests go to.
func (s *subject) recipient(w workload.Workload) workload.Recipient {
	to := workload.Recipient{Address: s.plan.Address, Key: s.plan.Key(w.Caller.Group())}
	if p := s.Peer; p != nil {
		to.Headers, to.Model, to.Models = p.Headers, p.Model, p.Models
	}
	return to
}

// takes reports whether a target can answer a workload: all can answer in the protocol asked in,
// and only gateways in others.
func (s *subject) takes(w workload.Workload, gatewaysOnly bool) bool {
	switch {
	case s.group == nil:
		return false
	case s.Peer != nil:
		return s.Peer.Takes(string(w.Caller), string(w.Served))
	}
	return s.Gateway || !gatewaysOnly && !w.Crosses()
}

// New starts the upstream and prepares the targets. One that cannot be prepared for
// want of nginx is left out, which is logged.
func New(ctx context.Context, config Config) (_ *Bench, err error) {
	b := &Bench{config: config, results: json.NewEncoder(config.Results)}
	if err := process.PinSelf(config.LoadCore); err != nil {
		return nil, err
	}
	address, err := target.FreeAddress(ctx)
	if err != nil {
		return nil, err
	}
	started, err := process.Start(process.Command{
		Path: config.Self, Args: []string{target.UpstreamCommand, "-listen", address}, Core: config.LoadCore,
	})
	if err != nil {
		return nil, err
	}
	b.upstream, b.controls = process.Group{started}, []string{address}
	defer func() {
		if err != nil {
			b.Close()
		}
	}()
	if err := b.await(ctx, address); err != nil {
		return nil, err
	}
	for _, t := range config.Targets {
		dir := filepath.Join(config.Dir, t.Name)
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, err
		}
		site := target.Site{Dir: dir, Core: config.TargetCore, Upstream: address, Programs: config.Programs, Self: config.Self}
		plan, err := t.Prepare(ctx, site)
		switch {
		case errors.Is(err, target.ErrNoNginx):
			b.logf("WARNING: %v", err)
			continue
		case err != nil:
			return nil, fmt.Errorf("%s: %w", t.Name, err)
		}
		b.subjects = append(b.subjects, &subject{Target: t, plan: plan})
	}
	return b, nil
}

// Close ends the upstream and all targets.
func (b *Bench) Close() {
	for _, s := range b.subjects {
		b.stop(s)
	}
	b.upstream.Stop(time.Second)
}

func (b *Bench) logf(format string, args ...any) {
	fmt.Fprintf(b.config.Log, format+"\n", args...)
}

func (b *Bench) record(r Record) error {
	r.Time = time.Now().UTC()
	for _, s := range b.subjects {
		if s.Name == r.Target && s.Peer != nil {
			r.Title = s.Title
		}
	}
	return b.results.Encode(r)
}

// start starts a target and waits for its first answer. It returns how long that took.
func (b *Bench) start(ctx context.Context, s *subject) (took time.Duration, err error) {
	chat := workload.Chat1K()
	job := chat.Job(s.recipient(chat))
	client := load.NewClient(s.plan.Address, 1, time.Second)
	defer client.Close()
	begin := time.Now()
	if s.group, err = s.plan.Start(); err != nil {
		return 0, err
	}
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	for {
		err := client.Once(ctx, job)
		if err == nil {
			return time.Since(begin), nil
		}
		if ended := s.group.Err(); ended != nil {
			return 0, ended
		}
		if rest(ctx, time.Millisecond) != nil {
			return 0, fmt.Errorf("%s gives no answer: %w", s.Name, err)
		}
	}
}

// stop ends a target. It is well to stop one that does not run.
func (b *Bench) stop(s *subject) {
	s.group.Stop(5 * time.Second)
	s.group = nil
}

// restart gives a target a new life and lets it come to rest.
func (b *Bench) restart(ctx context.Context, s *subject) error {
	b.stop(s)
	if _, err := b.start(ctx, s); err != nil {
		return err
	}
	return rest(ctx, time.Second)
}

// rest waits, or returns the error of ctx.
func rest(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
