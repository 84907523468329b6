package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/genway/genway/test/bench/measure"
	"github.com/genway/genway/test/bench/process"
	"github.com/genway/genway/test/bench/report"
	"github.com/genway/genway/test/bench/target"
	"github.com/genway/genway/test/bench/workload"
)

// options are the flags of commands that measure.
type options struct {
	programs, results, targets, only string
	peers                            string
	duration, warm                   time.Duration
	others                           float64
	tries, rounds, starts            int
	memory                           measure.MemoryConfig
	quick                            bool

	// What is chosen by only.
	workloads                  []workload.Workload
	pairs, streams, withMemory bool
}

func (o *options) register(flags *flag.FlagSet) {
	flags.StringVar(&o.programs, "programs", "bin", "directory with genway, genway-core and genway-edge, stripped")
	flags.StringVar(&o.results, "results", "", "file that results are written to, a line of JSON each; none when empty")
	flags.StringVar(&o.targets, "targets", "", "targets, separated by commas; all when empty")
	flags.StringVar(&o.peers, "peers", "", "file with other gateways to measure, as test/bench/peers.yaml; none when empty or not there")
	flags.DurationVar(&o.duration, "duration", 500*time.Millisecond, "length of a run")
	flags.DurationVar(&o.warm, "warm", 200*time.Millisecond, "requests ahead of a run that do not count")
	flags.Float64Var(&o.others, "others", 0.2, "cores that others may use during a run before it is made again")
	flags.IntVar(&o.tries, "tries", 3, "how often a disturbed run is made in all")
}

// open returns a bench and what closes it.
func (o *options) open(ctx context.Context, stderr io.Writer) (*measure.Bench, func() error, error) {
	peers, err := o.readPeers()
	if err != nil {
		return nil, nil, err
	}
	names := strings.FieldsFunc(o.targets, func(r rune) bool { return r == ',' })
	targets := append(target.All(), peers...)
	if len(names) > 0 {
		if targets, err = target.Named(names, peers...); err != nil {
			return nil, nil, err
		}
	} else if o.quick {
		targets = slices.DeleteFunc(targets, func(t target.Target) bool { return t.Name == target.WholeBodies })
	}
	cores, err := process.Cores()
	if err != nil {
		return nil, nil, err
	}
	if len(cores) < 2 {
		return nil, nil, errors.New("two cores are needed: one for the target, one for upstream and generator")
	}
	self, err := os.Executable()
	if err != nil {
		return nil, nil, err
	}
	programs, err := filepath.Abs(o.programs)
	if err != nil {
		return nil, nil, err
	}
	dir, err := os.MkdirTemp("", "genway-bench-")
	if err != nil {
		return nil, nil, err
	}
	results, err := o.resultsFile()
	if err != nil {
		return nil, nil, errors.Join(err, os.RemoveAll(dir))
	}
	b, err := measure.New(ctx, measure.Config{
		Targets: targets, Dir: dir, Programs: programs, Self: self,
		LoadCore: cores[0], TargetCore: cores[len(cores)-1],
		Duration: o.duration, Warm: o.warm, MaxOthers: o.others, Tries: o.tries,
		Results: results, Log: stderr,
	})
	if err != nil {
		return nil, nil, errors.Join(err, results.Close(), os.RemoveAll(dir))
	}
	return b, func() error {
		b.Close()
		return errors.Join(results.Close(), os.RemoveAll(dir))
	}, nil
}

// readPeers returns the peers, if a file of them is named.
func (o *options) readPeers() ([]target.Target, error) {
	if o.peers == "" {
		return nil, nil
	}
	return target.Peers(o.peers)
}

// resultsFile is where results go; read again at the end for the tables.
func (o *options) resultsFile() (*os.File, error) {
	if o.results == "" {
		file, err := os.CreateTemp("", "genway-bench-*.jsonl")
		if err != nil {
			return nil, err
		}
		o.results = file.Name()
		return file, nil
	}
	if err := os.MkdirAll(filepath.Dir(o.results), 0o750); err != nil {
		return nil, err
	}
	return os.Create(o.results)
}

func runAll(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	var o options
	flags := newFlags("run", stderr)
	o.register(flags)
	flags.IntVar(&o.rounds, "rounds", 6, "turns of each target; half of them through all pairs of protocols, a third with many streams")
	flags.IntVar(&o.starts, "starts", 7, "how often each target is started")
	flags.StringVar(&o.only, "only", "", "workloads, separated by commas, and pairs, stream-pairs, memory; all when empty")
	flags.IntVar(&o.memory.Streams, "streams", 1000, "streams open at once, for their memory")
	flags.Int64Var(&o.memory.Pictures, "pictures", 200, "images of 20 MB")
	flags.DurationVar(&o.memory.Collect, "collect", 15*time.Second, "small requests after them, which make the runtime collect, and as long a rest")
	last := flags.String("last", "", "document with the last figures: rows that are dearer by more than a twentieth are printed; none when empty")
	flags.BoolVar(&o.quick, "quick", false, "short runs, two turns, two starts, few images of 20 MB, deferral always: figures to look at, not to quote")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if o.quick {
		o.rounds, o.starts, o.tries, o.memory.Pictures, o.memory.Collect = 2, 2, 2, 10, 2*time.Second
		o.duration, o.warm = 300*time.Millisecond, 100*time.Millisecond
	}
	if err := o.choose(); err != nil {
		return err
	}
	begin := time.Now()
	b, done, err := o.open(ctx, stderr)
	if err != nil {
		return err
	}
	err = b.Site(ctx, o.programs, o.rounds)
	if err == nil {
		err = o.measure(ctx, b)
	}
	// What was measured before a failure is printed too.
	fmt.Fprintf(stdout, "took %v\n", time.Since(begin).Round(time.Second))
	return errors.Join(err, done(), printReport(stdout, o.results), compareReport(stdout, o.results, *last))
}

// choose finds the workloads that were asked for.
func (o *options) choose() error {
	names := strings.FieldsFunc(o.only, func(r rune) bool { return r == ',' })
	chosen := func(name string) bool {
		i := slices.Index(names, name)
		if i >= 0 {
			names = slices.Delete(names, i, i+1)
		}
		return o.only == "" || i >= 0
	}
	for _, w := range workload.Main() {
		if chosen(w.Name) {
			o.workloads = append(o.workloads, w)
		}
	}
	o.pairs, o.streams, o.withMemory = chosen("pairs"), chosen("stream-pairs"), chosen("memory")
	if len(names) > 0 {
		return fmt.Errorf("no such workload: %s", strings.Join(names, ", "))
	}
	return nil
}

// measure runs what was chosen.
func (o *options) measure(ctx context.Context, b *measure.Bench) error {
	if err := b.Startup(ctx, o.starts); err != nil {
		return err
	}
	if err := b.Rounds(ctx, report.GroupMain, o.workloads, o.rounds, false); err != nil {
		return err
	}
	if o.pairs {
		if err := b.Rounds(ctx, report.GroupPairs, workload.Pairs(), max(1, o.rounds/2), true); err != nil {
			return err
		}
	}
	if o.streams {
		if err := b.Rounds(ctx, report.GroupStreams, workload.StreamPairs(), max(1, o.rounds/2), true); err != nil {
			return err
		}
	}
	if o.withMemory {
		o.memory.Rounds = max(1, o.rounds/3)
		return b.Memory(ctx, o.memory)
	}
	return nil
}

func runSoak(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	var o options
	flags := newFlags("soak", stderr)
	o.register(flags)
	streams := flags.Int("streams", 2000, "streams at once")
	last := flags.Duration("last", 5*time.Minute, "how long each lasts, with ten events a second")
	flags.Lookup("targets").Usage = "targets, separated by commas; the forms of Genway when empty"
	if err := flags.Parse(args); err != nil {
		return err
	}
	if o.targets == "" {
		o.targets = strings.Join([]string{target.AllInOne, target.TwoProcesses, target.WholeBodies}, ",")
	}
	b, done, err := o.open(ctx, stderr)
	if err != nil {
		return err
	}
	if err := errors.Join(b.Soak(ctx, *streams, *last), done()); err != nil {
		return err
	}
	return printReport(stdout, o.results)
}
