package growth

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"syscall"
	"time"

	"github.com/genway/genway/core/keys"
	"github.com/genway/genway/core/limit"
	"github.com/genway/genway/core/store"
)

// keysAtOnce is how many keys one transaction makes.
const keysAtOnce = 10_000

// Keys makes n keys in an SQLite file, each with a name and an owner of its own and one of a
// hundred policies, and measures a core that starts on them.
func Keys(ctx context.Context, dir string, n int64) (Row, error) {
	row := Row{Name: "keys", N: n}
	add := func(what, unit string, value float64) {
		row.Metrics = append(row.Metrics, Metric{What: what, Unit: unit, Value: value})
	}
	db, err := store.Open(ctx, store.Config{Location: filepath.Join(dir, store.FileName)})
	if err != nil {
		return row, err
	}
	defer db.Close() //nolint:errcheck // its folder goes with it
	operator, err := keys.New(keys.Config{Store: db.Keys()})
	if err != nil {
		return row, err
	}
	defer operator.Close()
	began := time.Now()
	raw, err := importKeys(ctx, operator, n)
	if err != nil {
		return row, err
	}
	add("an import, each key", "µs", float64(time.Since(began).Microseconds())/float64(n))

	before := heap()
	core, err := keys.New(keys.Config{Store: db.Keys()})
	if err != nil {
		return row, err
	}
	defer core.Close()
	began = time.Now()
	if _, err := core.Authenticate(ctx, raw); err != nil {
		return row, err
	}
	add("the first request after a start waits", "ms", milliseconds(time.Since(began)))
	for !core.Loaded() {
		time.Sleep(time.Millisecond) //nolint:forbidigo // this is a measurement
	}
	add("until all keys are read, in the background", "ms", milliseconds(time.Since(began)))
	add("memory, each key", "bytes", float64(heap()-before)/float64(n))

	wait, cost, err := changeSeen(ctx, operator, core, raw)
	if err != nil {
		return row, err
	}
	add("a change of a key is seen: the longest wait of a caller of another", "ms", milliseconds(wait))
	add("a change of a key is seen: processor time", "ms", milliseconds(cost))

	const requests = 10_000
	began = time.Now()
	for range requests {
		if _, err := core.Authenticate(ctx, raw); err != nil {
			return row, err
		}
	}
	add("a request with a known key", "ns", float64(time.Since(began).Nanoseconds())/requests)
	page, err := timed(3, func() error {
		_, err := operator.List(ctx, keys.Query{Limit: 100, After: ""})
		return err
	})
	add("a page of 100 keys", "ms", page)
	runtime.KeepAlive(core)
	return row, err
}

// importKeys makes n keys and returns one of them.
func importKeys(ctx context.Context, to *keys.Service, n int64) (raw string, err error) {
	for done := int64(0); done < n; {
		params := make([]keys.CreateParams, min(n-done, keysAtOnce))
		for i := range params {
			number := done + int64(i)
			params[i] = keys.CreateParams{Group: keys.GroupChat, Settings: keys.Settings{
				Name: fmt.Sprintf("key number %d", number), Owner: fmt.Sprintf("owner %d", number),
				Policy: keys.Policy{Models: []string{"gpt-*"}, Limits: limit.Limits{RequestsPerMinute: 1 + number%100}},
			}}
		}
		made, err := to.Import(ctx, params, false)
		if err != nil {
			return "", err
		}
		raw, done = made[0].Raw, done+int64(len(made))
	}
	return raw, nil
}

// changeSeen revokes a key elsewhere while a caller of another calls every 10 ms, for a second,
// after which the revoked one must be refused. It returns the caller's longest wait, and the
// processor time of all that beside a second without a change: the least of three times.
func changeSeen(ctx context.Context, operator, core *keys.Service, raw string) (longest, cost time.Duration, err error) {
	for try := range 3 {
		revoked, key, err := operator.Create(ctx, keys.CreateParams{Group: keys.GroupChat})
		if err != nil {
			return 0, 0, err
		}
		if _, err := core.Authenticate(ctx, revoked); err != nil {
			return 0, 0, err
		}
		var taken [2]time.Duration // without a change, and with one
		for i := range taken {
			if i == 1 {
				if _, err := operator.Revoke(ctx, key.ID); err != nil {
					return 0, 0, err
				}
			}
			start := processor()
			for began := time.Now(); time.Since(began) < time.Second; time.Sleep(10 * time.Millisecond) { //nolint:forbidigo // likewise
				asked := time.Now()
				if _, err := core.Authenticate(ctx, raw); err != nil {
					return 0, 0, err
				}
				longest = max(longest, time.Since(asked))
			}
			taken[i] = processor() - start
		}
		if _, err := core.Authenticate(ctx, revoked); err == nil {
			return 0, 0, errors.New("growth: a key is accepted a second after it was revoked")
		}
		if extra := max(taken[1]-taken[0], 0); try == 0 || extra < cost {
			cost = extra
		}
	}
	return longest, cost, nil
}

// heap is what is in use of it.
func heap() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// processor is the processor time that this process has taken.
func processor() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
