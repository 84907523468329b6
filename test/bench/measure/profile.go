package measure

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/genway/genway/test/bench/load"
	"github.com/genway/genway/test/bench/profile"
	"github.com/genway/genway/test/bench/workload"
	pprof "github.com/google/pprof/profile"
	"golang.org/x/sys/unix"
)

// Profile puts each gateway through a workload, profiled, and returns the stages' shares
// of its CPU time by target. The profiles stay in dir, a file for each process. The
// gateways' programs must be those of [profile.Build].
func (b *Bench) Profile(ctx context.Context, w workload.Workload, dir string) (map[string]map[profile.Stage]float64, error) {
	if err := b.control(ctx, w.Upstream); err != nil {
		return nil, err
	}
	shares := map[string]map[profile.Stage]float64{}
	for _, s := range b.gateways() {
		var paths []string
		for i := range s.plan.Commands {
			path := filepath.Join(dir, w.Name+"-"+s.Name+"-"+strconv.Itoa(i)+".pprof")
			s.plan.Commands[i].Env = []string{profile.Env + "=" + path}
			paths = append(paths, path)
		}
		if err := b.restart(ctx, s); err != nil {
			return nil, err
		}
		client, job := b.client(s, w)
		client.Do(ctx, job, load.Run{Duration: b.config.Warm})
		s.group.Signal(unix.SIGUSR1)
		result := client.Do(ctx, job, b.pace(w))
		s.group.Signal(unix.SIGUSR2)
		client.Close()
		if result.Failed() > 0 {
			return nil, fmt.Errorf("%s, %s: %v", s.Name, w.Name, result.Errors)
		}
		profiles, err := readProfiles(ctx, paths)
		if err != nil {
			return nil, err
		}
		shares[s.Name] = profile.Shares(profiles...)
		b.stop(s)
		b.logf("profile %-10s %-10s %d requests", w.Name, s.Name, result.Requests)
	}
	return shares, nil
}

// readProfiles waits until all are complete.
func readProfiles(ctx context.Context, paths []string) ([]*pprof.Profile, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	var profiles []*pprof.Profile
	for _, path := range paths {
		for {
			if _, err := os.Stat(path); err == nil {
				break
			}
			if err := rest(ctx, 10*time.Millisecond); err != nil {
				return nil, fmt.Errorf("no profile %s: %w", path, err)
			}
		}
		data, err := os.ReadFile(path) //nolint:gosec // A file of ours.
		if err != nil {
			return nil, err
		}
		p, err := pprof.ParseData(data)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		profiles = append(profiles, p)
	}
	return profiles, nil
}
