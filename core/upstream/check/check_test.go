package check_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/core/upstream/check"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// After two failures in a row the upstream gets no calls, and after one success it does again; each change is
// logged once, and a configuration that is replaced leaves nothing behind.
func TestWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		down := errors.New("gone")
		limited := fault.New(fault.RateLimited, "X", "slow down")
		hang := errors.New("hang")
		answers := []error{nil, down, nil, down, down, down, hang, nil, limited, fault.New(fault.NotFound, "X", "no such model"), down, down}
		want := "yyyynnnyyyyn" + "y"
		var log strings.Builder
		var mu sync.Mutex
		reported, at := "", 0
		ctx, stop := context.WithCancel(t.Context())
		c := &check.Check{
			Name: "a", Every: time.Minute,
			Ask: func(ctx context.Context) error {
				mu.Lock()
				answer := answers[min(at, len(answers)-1)]
				at++
				mu.Unlock()
				if errors.Is(answer, hang) {
					<-ctx.Done()
					return ctx.Err()
				}
				return answer
			},
			Report: func(ok bool) {
				mu.Lock()
				defer mu.Unlock()
				reported += map[bool]string{true: "y", false: "n"}[ok]
			},
		}
		var group sync.WaitGroup
		group.Go(func() { check.Watch(ctx, []*check.Check{c}, slog.New(slog.NewTextHandler(&log, nil))) })
		for {
			time.Sleep(30 * time.Second) //nolint:forbidigo // synctest: the bubble's clock
			mu.Lock()
			enough := len(reported) == len(answers)
			mu.Unlock()
			if enough {
				break
			}
		}
		stop()
		group.Wait()
		if reported != want {
			t.Errorf("reported %s, want %s", reported, want)
		}
		if got := strings.Count(log.String(), "\n"); got != 3 || !strings.Contains(log.String(), "not called") || !strings.Contains(log.String(), "again") {
			t.Errorf("logged %s", log.String())
		}
	})
}
