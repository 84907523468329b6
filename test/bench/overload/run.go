package overload

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/genway/genway/test/bench/load"
	"github.com/genway/genway/test/bench/process"
	"github.com/genway/genway/test/bench/target"
	"github.com/genway/genway/test/bench/upstream"
)

// Config is where and how is measured.
type Config struct {
	Targets []target.Target
	// Dir is a directory for the targets' files, Programs that of Genway's commands, Self
	// this program.
	Dir, Programs, Self string
	// LoadCore is for the upstream and the generator, TargetCore for the targets.
	LoadCore, TargetCore int
	// Times is how many times the capacity is offered, Connections over how many
	// connections, and Deadline is how long callers wait.
	Times       float64
	Connections int
	Deadline    time.Duration
	// Duration is that of the overload.
	Duration time.Duration
	Log      io.Writer
}

// Scenario is what limits the capacity.
type Scenario struct {
	Name     string
	Model    string
	Upstream upstream.Settings
	// Capacity is the requests a second that the upstream can serve; 0 is to be measured.
	Capacity float64
}

// Scenarios are a gateway without CPU to spare, and an upstream that refuses what is too much.
func Scenarios() []Scenario {
	refusing := upstream.Defaults()
	refusing.Latency, refusing.Slots, refusing.Waiting = 50*time.Millisecond, 16, 16
	return []Scenario{
		{Name: "sandbox", Model: "sandbox-text", Upstream: upstream.Defaults()},
		{Name: "fast upstream", Model: "bench-model", Upstream: upstream.Defaults()},
		{Name: "upstream that refuses", Model: "bench-model", Upstream: refusing, Capacity: 320},
	}
}

// Row is what one target has shown in one scenario.
type Row struct {
	Target, Scenario string
	// Peak is the capacity in requests a second, Goodput the answers a second that came in
	// time under Times of it.
	Peak, Goodput float64
	// Unloaded are the latencies at a quarter of the capacity, Admitted those of the
	// answers under overload, Refused those of the refusals, in ms.
	Unloaded, Admitted, Refused load.Percentiles
	// Settled are those of Admitted from the end of the first second on.
	Settled load.Percentiles
	// RSS is the most memory that the processes held before and under overload, in bytes.
	Idle, RSS int64
	// After is the share of requests that are answered in time from two seconds after
	// the overload on, at half the capacity.
	After float64
	// LogLines are the lines of the logs that the overload has caused, a second.
	LogLines float64
	Errors   map[string]int
}

// Run measures one target in one scenario.
func Run(ctx context.Context, config Config, t target.Target, s Scenario) (row Row, err error) {
	row = Row{Target: t.Title, Scenario: s.Name}
	if err := process.PinSelf(config.LoadCore); err != nil {
		return row, err
	}
	vendor, err := target.FreeAddress(ctx)
	if err != nil {
		return row, err
	}
	query := s.Upstream
	started, err := process.Start(process.Command{Path: config.Self, Core: config.LoadCore, Args: []string{
		target.UpstreamCommand, "-listen", vendor, "-latency", query.Latency.String(),
		"-slots", strconv.Itoa(query.Slots), "-waiting", strconv.Itoa(query.Waiting),
	}})
	if err != nil {
		return row, err
	}
	defer started.Stop(time.Second)
	dir := filepath.Join(config.Dir, t.Name+"-"+strings.ReplaceAll(s.Name, " ", "-"))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return row, err
	}
	plan, err := t.Prepare(ctx, target.Site{Dir: dir, Core: config.TargetCore, Upstream: vendor, Programs: config.Programs, Self: config.Self})
	if err != nil {
		return row, err
	}
	for i := range plan.Commands {
		plan.Commands[i].Env = append(plan.Commands[i].Env, "GOMAXPROCS=1")
	}
	group, err := plan.Start()
	if err != nil {
		return row, err
	}
	defer group.Stop(5 * time.Second)
	r := runner{Config: config, plan: plan, group: group, job: job(plan, s.Model)}
	if err := r.await(ctx); err != nil {
		return row, err
	}
	return r.measure(ctx, s, row)
}

// runner measures a target that runs.
type runner struct {
	Config
	plan  *target.Plan
	group process.Group
	job   *load.Job
}

func job(plan *target.Plan, model string) *load.Job {
	body := fmt.Appendf(nil, `{"model":%q,"messages":[{"role":"user","content":"%s"}]}`, model, text)
	headers := []load.Header{{Name: "Authorization", Value: "Bearer " + plan.Key("chat")}}
	return &load.Job{Request: load.NewRequest(plan.Address, "/v1/chat/completions", headers, body), Expect: load.Expect{MinBytes: 100}}
}

// text is half a kilobyte of a prompt.
var text = strings.Repeat("Say in one word what a gateway does well. ", 12)

func (r *runner) await(ctx context.Context) error {
	client := load.NewClient(r.plan.Address, 1, time.Second)
	defer client.Close()
	for begin := time.Now(); ; {
		err := client.Once(ctx, r.job)
		if err == nil {
			return nil
		}
		if ended := r.group.Err(); ended != nil {
			return ended
		}
		if time.Since(begin) > 20*time.Second {
			return fmt.Errorf("no answer: %w", err)
		}
		time.Sleep(5 * time.Millisecond) //nolint:forbidigo // nothing tells when it listens
	}
}

// measure goes through the phases.
func (r *runner) measure(ctx context.Context, s Scenario, row Row) (Row, error) {
	closed := load.NewClient(r.plan.Address, 32, 10*time.Second)
	row.Peak = closed.Do(ctx, r.job, load.Run{Duration: 2 * time.Second}).RPS
	closed.Close()
	if s.Capacity > 0 {
		row.Peak = s.Capacity
	}
	client := load.NewClient(r.plan.Address, r.Connections, r.Deadline)
	defer client.Close()
	if ctx.Err() != nil || row.Peak == 0 {
		return row, errors.Join(ctx.Err(), errors.New("there is no capacity"))
	}
	row.Unloaded = client.Do(ctx, r.job, load.Run{Duration: 2 * time.Second, Rate: row.Peak / 4, Deadline: r.Deadline, Callers: true}).Latency
	row.Idle = r.group.RSS()
	if err := r.group.ResetPeak(); err != nil {
		return row, err
	}
	lines := r.lines()
	over := client.Do(ctx, r.job, load.Run{Duration: r.Duration, Rate: r.Times * row.Peak, Deadline: r.Deadline, Settle: settle, Callers: true})
	row.LogLines = float64(r.lines()-lines)/r.Duration.Seconds() - float64(over.Requests)*linesEach/r.Duration.Seconds()
	row.Goodput, row.Admitted, row.Refused, row.Errors = float64(over.Requests)/over.Wall, over.Latency, over.Refused, over.Errors
	row.Settled = over.Settled
	row.RSS = r.group.Peak()
	const rest = 2 * time.Second
	client.Do(ctx, r.job, load.Run{Duration: rest, Rate: row.Peak / 2, Deadline: r.Deadline, Callers: true})
	after := client.Do(ctx, r.job, load.Run{Duration: rest, Rate: row.Peak / 2, Deadline: r.Deadline, Callers: true})
	row.After = float64(after.Requests) / float64(after.Requests+after.Failed())
	return row, ctx.Err()
}

// settle is how long Genway has to find out that there is too much to do.
const settle = time.Second

// linesEach is how many lines of the logs a request has that is served.
const linesEach = 2

// lines counts those of the logs.
func (r *runner) lines() (n int) {
	for _, c := range r.plan.Commands {
		log, err := os.ReadFile(c.Log)
		if err != nil {
			return 0
		}
		for _, b := range log {
			if b == '\n' {
				n++
			}
		}
	}
	return n
}
