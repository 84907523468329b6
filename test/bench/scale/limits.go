package scale

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/genway/genway/core/limit"
	"github.com/genway/genway/core/limit/shared"
	"github.com/genway/genway/test/bench/growth"
	"github.com/genway/genway/test/bench/process"
	"github.com/genway/genway/test/servers"
)

// Limits admits and settles requests of so many callers at once, for that long, by one Redis or
// Valkey. Each key has each kind of limit.
func Limits(ctx context.Context, callers int, during time.Duration) (row growth.Row, err error) {
	row = growth.Row{Name: "requests at once that ask one Redis or Valkey", N: int64(callers)}
	server, err := servers.StartRedis()
	if err != nil {
		return row, err
	}
	defer server.End()
	store, err := shared.Start(ctx, shared.Config{URL: server.URL(), Timeout: 10 * time.Second})
	if err != nil {
		return row, err
	}
	limiter := limit.New(store, limit.Rules{Keys: limit.Limits{
		RequestsPerMinute: 1 << 30, TokensPerMinute: 1 << 40, Concurrent: 1 << 20,
		Budgets: []limit.Budget{{Amount: 1 << 20 * limit.Dollar, Period: limit.Month}},
	}})
	before, err := stateOf(server)
	if err != nil {
		return row, errors.Join(err, store.Close())
	}
	self, began := process.SelfCPU(), time.Now()
	var requests atomic.Int64
	var group sync.WaitGroup
	failed := make([]error, callers)
	for i := range callers {
		group.Go(func() {
			for n := i; time.Since(began) < during && failed[i] == nil; n += callers {
				r := limiter.Prepare(limit.Who{KeyID: fmt.Sprintf("key_%012d", n%keys), Model: "model"})
				_, failed[i] = r.Reserve(ctx, limit.Amount{Tokens: 1000, Cost: 1000})
				r.Settle(limit.Amount{Tokens: 500, Cost: 500})
				requests.Add(1)
			}
		})
	}
	group.Wait()
	took := time.Since(began)
	self = process.SelfCPU() - self
	// What is still to be settled is settled by Close.
	if err := errors.Join(errors.Join(failed...), store.Close()); err != nil {
		return row, err
	}
	after, err := stateOf(server)
	if err != nil {
		return row, err
	}
	n := float64(requests.Load())
	row.Metrics = []growth.Metric{
		{What: "requests a second", Unit: "1/s", Value: n / took.Seconds()},
		{What: "calls of Lua for a request", Unit: "calls", Value: float64(after.calls-before.calls) / n},
		{What: "calls of Lua a second", Unit: "1/s", Value: float64(after.calls-before.calls) / took.Seconds()},
		{What: "the server's CPU time for a request", Unit: "µs", Value: (after.cpu - before.cpu) * 1e6 / n},
		{What: "the core's CPU time for a request", Unit: "µs", Value: float64(self.Nanoseconds()) / n / 1000},
		{What: "the answer takes", Unit: "ms", Value: took.Seconds() * 1000 * float64(callers) / n},
		{What: "memory of the server for a key", Unit: "bytes", Value: max(0, float64(after.memory-before.memory)/keys)}, // connections have ended, too
	}
	return row, nil
}

// state is what a server says of itself.
type state struct {
	calls, memory int64
	cpu           float64 // seconds
}

var (
	luaCalls   = regexp.MustCompile(`cmdstat_(?:evalsha|eval|fcall):calls=(\d+)`)
	cpuSeconds = regexp.MustCompile(`used_cpu_(?:sys|user):([0-9.]+)`)
	usedMemory = regexp.MustCompile(`used_memory:(\d+)`)
)

func stateOf(server *servers.Redis) (s state, err error) {
	text, err := server.Command("INFO", "all")
	if err != nil {
		return s, err
	}
	for _, m := range luaCalls.FindAllStringSubmatch(text, -1) {
		n, err := strconv.ParseInt(m[1], 10, 64)
		if err != nil {
			return s, err
		}
		s.calls += n
	}
	for _, m := range cpuSeconds.FindAllStringSubmatch(text, -1) {
		n, err := strconv.ParseFloat(m[1], 64)
		if err != nil {
			return s, err
		}
		s.cpu += n
	}
	m := usedMemory.FindStringSubmatch(text)
	if len(m) != 2 {
		return s, errors.New("the server does not say how much memory it uses")
	}
	s.memory, err = strconv.ParseInt(m[1], 10, 64)
	return s, err
}
