// Package viewer measures what a viewer of the console's live tail costs the gateway: the difference of the
// process's CPU time with a viewer and without one, at the same rate of requests, in turns.
package viewer

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/genway/genway/test/bench/load"
	"github.com/genway/genway/test/bench/process"
	"github.com/genway/genway/test/bench/target"
)

// Config is where and how is measured.
type Config struct {
	// Dir is a directory for the gateway's files, Programs that of its commands, Self this program.
	Dir, Programs, Self string
	// LoadCore is for the upstream and the generator, TargetCore for the gateway.
	LoadCore, TargetCore int
	// Rate is how many requests there are a second, and Viewers how many follow the tail.
	Rate    float64
	Viewers int
	// Turns is how often each is measured, for Duration.
	Turns    int
	Duration time.Duration
	Log      io.Writer
}

// Result is the CPU time of the process, as a share of a core.
type Result struct {
	// Idle holds the shares of the turns without viewers, Watched of those with viewers.
	Idle, Watched []float64
	// Rows is how many requests the viewers were shown, Requests how many there were in those turns.
	Rows, Requests int64
}

// Median of some shares.
func Median(shares []float64) float64 {
	sorted := slices.Sorted(slices.Values(shares))
	return sorted[len(sorted)/2]
}

// gateway is the process that is measured.
type gateway struct {
	group   process.Group
	plan    *target.Plan
	console string
	session *http.Client
}

// Run measures.
func Run(ctx context.Context, c Config) (r Result, err error) {
	if err := process.PinSelf(c.LoadCore); err != nil {
		return r, err
	}
	vendor, err := target.FreeAddress(ctx)
	if err != nil {
		return r, err
	}
	upstream, err := process.Start(process.Command{Path: c.Self, Core: c.LoadCore, Args: []string{target.UpstreamCommand, "-listen", vendor}})
	if err != nil {
		return r, err
	}
	defer upstream.Stop(time.Second)
	g, err := start(ctx, c, vendor)
	if err != nil {
		return r, err
	}
	defer g.group.Stop(10 * time.Second)
	body := []byte(`{"model":"bench-on-messages","messages":[{"role":"user","content":"Hello there, how are you?"}]}`)
	job := &load.Job{Request: load.NewRequest(g.plan.Address, "/v1/chat/completions", []load.Header{{Name: "Authorization", Value: "Bearer " + g.plan.Keys["chat"]}}, body), Expect: load.Expect{MinBytes: 10}}
	client := load.NewClient(g.plan.Address, 16, 10*time.Second)
	defer client.Close()
	turn := func() (float64, error) {
		before, began := g.group.CPU(), time.Now()
		result := client.Do(ctx, job, load.Run{Duration: c.Duration, Rate: c.Rate})
		share := (g.group.CPU() - before).Seconds() / time.Since(began).Seconds()
		if result.Failed() > 0 {
			return 0, fmt.Errorf("%d requests failed: %v", result.Failed(), result.Errors)
		}
		return share, ctx.Err()
	}
	if _, err := turn(); err != nil { // it warms up
		return r, err
	}
	for n := range c.Turns {
		for _, watched := range []bool{n%2 == 0, n%2 != 0} {
			if !watched {
				share, err := turn()
				if err != nil {
					return r, err
				}
				r.Idle = append(r.Idle, share)
				continue
			}
			var rows atomic.Int64
			stop, err := g.watch(ctx, c.Viewers, &rows)
			if err != nil {
				return r, err
			}
			share, err := turn()
			if err := errors.Join(err, stop()); err != nil {
				return r, err
			}
			r.Watched, r.Rows, r.Requests = append(r.Watched, share), r.Rows+rows.Load(), r.Requests+int64(c.Rate*c.Duration.Seconds())
		}
		fmt.Fprintf(c.Log, "turn %d: %.2f %% of a core, watched %.2f %%\n", n+1, 100*r.Idle[n], 100*r.Watched[n])
	}
	return r, nil
}

// start starts a gateway with a console, and signs in.
func start(ctx context.Context, c Config, vendor string) (*gateway, error) {
	targets, err := target.Named([]string{target.AllInOne})
	if err != nil {
		return nil, err
	}
	g := &gateway{}
	if g.plan, err = targets[0].Prepare(ctx, target.Site{Dir: c.Dir, Core: c.TargetCore, Upstream: vendor, Programs: c.Programs, Self: c.Self}); err != nil {
		return nil, err
	}
	if g.console, err = target.FreeAddress(ctx); err != nil {
		return nil, err
	}
	g.plan.Commands[0].Args = append(g.plan.Commands[0].Args, "--console", g.console)
	//nolint:gosec // Our own command, with our own arguments.
	create := exec.CommandContext(ctx, filepath.Join(c.Programs, "genway"), "keys", "create", "--data", filepath.Join(c.Dir, "data"), "--group", "admin", "--name", "viewer")
	key, err := create.Output()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", create, err)
	}
	if g.group, err = g.plan.Start(); err != nil {
		return nil, err
	}
	for g.session == nil {
		if err := g.signIn(ctx, strings.TrimSpace(string(key))); err != nil {
			select {
			case <-g.group[0].Ended():
				return nil, g.group[0].Err()
			case <-ctx.Done():
				return nil, err
			case <-time.After(50 * time.Millisecond): // it starts
			}
		}
	}
	return g, nil
}

// signIn makes a session, whose cookie browsers send over plain HTTP to this machine only.
func (g *gateway) signIn(ctx context.Context, key string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+g.console+"/sign-in", strings.NewReader(url.Values{"key": {key}}.Encode()))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	resp, err := (&http.Transport{}).RoundTrip(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	cookies := resp.Cookies()
	if resp.StatusCode != http.StatusSeeOther || len(cookies) == 0 {
		return fmt.Errorf("the sign-in is answered by %s", resp.Status)
	}
	cookie := cookies[0].Name + "=" + cookies[0].Value
	g.session = &http.Client{Transport: withCookie(cookie)}
	return nil
}

// withCookie sends a cookie with each request.
type withCookie string

func (w withCookie) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Cookie", string(w))
	return http.DefaultTransport.RoundTrip(r)
}

// watch has viewers follow the tail, counts what they are shown, and returns what ends them.
func (g *gateway) watch(ctx context.Context, viewers int, rows *atomic.Int64) (stop func() error, err error) {
	ctx, cancel := context.WithCancel(ctx)
	var group sync.WaitGroup
	for range viewers {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+g.console+"/requests/live", http.NoBody)
		if err != nil {
			cancel()
			return nil, err
		}
		resp, err := g.session.Do(req) // the viewer closes its body
		if err != nil || resp.StatusCode != http.StatusOK {
			cancel()
			return nil, errors.Join(err, errors.New("the live tail is refused"))
		}
		group.Go(func() {
			defer resp.Body.Close()
			lines := bufio.NewScanner(resp.Body)
			lines.Buffer(nil, 16<<20)
			for lines.Scan() {
				rows.Add(int64(strings.Count(lines.Text(), `"id":`)))
			}
		})
	}
	return func() error {
		cancel()
		group.Wait()
		if rows.Load() == 0 {
			return errors.New("the viewers were shown nothing")
		}
		return nil
	}, nil
}
