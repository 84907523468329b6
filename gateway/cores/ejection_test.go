package cores

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/genway/genway/internal/transport"
)

// always is a connection that is there.
type always struct{}

func (always) Pick(balancer.PickInfo) (balancer.PickResult, error) { return balancer.PickResult{}, nil }

// pickerOf makes a picker of n cores.
func pickerOf(n int) *picker {
	p, shared := &picker{}, newPool(slog.New(slog.DiscardHandler))
	for range n {
		p.ready = append(p.ready, choice{always{}, &core{pool: shared}})
	}
	return p
}

// end makes a call at each core that is chosen for one of n calls in flight, and ends them.
func end(t *testing.T, p *picker, n int, how func(*core) balancer.DoneInfo) map[*core]int {
	t.Helper()
	chosen := map[*core]int{}
	for range n {
		c := &call{}
		result, err := p.Pick(balancer.PickInfo{Ctx: context.WithValue(t.Context(), callKey{}, c)})
		if err != nil {
			t.Fatal(err)
		}
		chosen[c.at.Load()]++
		result.Done(how(c.at.Load()))
	}
	return chosen
}

// lost is the end of a call whose connection broke.
func lost() balancer.DoneInfo {
	return balancer.DoneInfo{Err: status.Error(codes.Unavailable, "error reading from server: EOF"), BytesSent: true}
}

// A core that fails is left out for 2 s, then for twice as long each time, 20 s at most; one
// call tries it out, and one that succeeds ends it.
func TestEjection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := pickerOf(3)
		sick := p.ready[1].core
		failing := func(c *core) balancer.DoneInfo {
			if c == sick {
				return lost()
			}
			return balancer.DoneInfo{BytesSent: true, BytesReceived: true}
		}
		if n := end(t, p, 60, failing)[sick]; n != ejectAfter {
			t.Fatalf("%d calls came to a core that fails", n)
		}
		for _, seconds := range []int{2, 4, 8, 16, 20, 20} {
			time.Sleep(time.Duration(seconds)*time.Second - time.Millisecond) //nolint:forbidigo // the bubble's own clock
			if n := end(t, p, 60, failing)[sick]; n != 0 {
				t.Fatalf("%d calls came to it within %d s", n, seconds)
			}
			time.Sleep(time.Millisecond) //nolint:forbidigo // the bubble's own clock
			if n := end(t, p, 60, failing)[sick]; n != 1 {
				t.Fatalf("%d calls tried it out after %d s", n, seconds)
			}
		}
		time.Sleep(20 * time.Second) //nolint:forbidigo // the bubble's own clock
		healthy := func(*core) balancer.DoneInfo { return balancer.DoneInfo{BytesSent: true} }
		if n := end(t, p, 60, healthy)[sick]; n != 20 {
			t.Errorf("%d of 60 calls came to it when it was well", n)
		}
		if n := end(t, p, 60, failing)[sick]; n != ejectAfter {
			t.Errorf("%d calls came to it when it failed again", n)
		}
	})
}

// While one call tries a core out, no other comes to it.
func TestOneCallTriesItOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := pickerOf(2)
		sick := p.ready[0].core
		sick.ejectedUntil.Store(1)
		time.Sleep(time.Second) //nolint:forbidigo // the bubble's own clock
		trials := 0
		for range 10 {
			c := &call{}
			if _, err := p.Pick(balancer.PickInfo{Ctx: context.WithValue(t.Context(), callKey{}, c)}); err != nil {
				t.Fatal(err)
			}
			if c.at.Load() == sick {
				trials++
			}
		}
		if trials != 1 {
			t.Errorf("%d calls at once tried it out", trials)
		}
	})
}

// When more than half of the cores fail, calls go to all: it is not the cores.
func TestNotAllAreEjected(t *testing.T) {
	for n, want := range map[int]int{1: 1, 2: 2, 3: 3, 5: 5} {
		p := pickerOf(n)
		end(t, p, 100, func(*core) balancer.DoneInfo { return lost() })
		if got := len(end(t, p, 100, func(*core) balancer.DoneInfo { return balancer.DoneInfo{} })); got != want {
			t.Errorf("of %d cores that all fail %d get calls", n, got)
		}
	}
}

// What the end of a call says of its core.
func TestVerdicts(t *testing.T) {
	detailed, err := status.New(codes.Unavailable, "the upstream could not be reached").WithDetails(&genwayv1.ErrorDetail{})
	if err != nil {
		t.Fatal(err)
	}
	trailer := func(how string) metadata.MD { return metadata.Pairs(transport.RefusedKey, how) }
	for name, c := range map[string]struct {
		info balancer.DoneInfo
		want verdict
	}{
		"success":                 {balancer.DoneInfo{BytesSent: true}, good},
		"upstream unavailable":    {balancer.DoneInfo{Err: detailed.Err(), BytesSent: true}, good},
		"refused, unavailable":    {balancer.DoneInfo{Err: detailed.Err(), Trailer: trailer("unavailable")}, bad},
		"refused, overloaded":     {balancer.DoneInfo{Err: detailed.Err(), Trailer: trailer("overloaded")}, good},
		"refused, unknown word":   {balancer.DoneInfo{Err: detailed.Err(), Trailer: trailer("x")}, good},
		"connection lost":         {lost(), bad},
		"no connection":           {balancer.DoneInfo{Err: lost().Err}, unknown},
		"internal of gRPC":        {balancer.DoneInfo{Err: status.Error(codes.Internal, "stream terminated by RST_STREAM"), BytesSent: true}, bad},
		"no status":               {balancer.DoneInfo{Err: errors.New("x"), BytesSent: true}, bad},
		"the caller left":         {balancer.DoneInfo{Err: status.Error(codes.Canceled, ""), BytesSent: true}, unknown},
		"the caller left, a ctx":  {balancer.DoneInfo{Err: status.FromContextError(context.Canceled).Err(), BytesSent: true}, unknown},
		"too late, silent":        {balancer.DoneInfo{Err: status.Error(codes.DeadlineExceeded, ""), BytesSent: true}, bad},
		"too late, not silent":    {balancer.DoneInfo{Err: status.Error(codes.DeadlineExceeded, ""), BytesSent: true, BytesReceived: true}, unknown},
		"a message too large":     {balancer.DoneInfo{Err: status.Error(codes.ResourceExhausted, ""), BytesSent: true}, unknown},
		"a method it lacks":       {balancer.DoneInfo{Err: status.Error(codes.Unimplemented, ""), BytesSent: true}, unknown},
		"two refusals in trailer": {balancer.DoneInfo{Err: detailed.Err(), Trailer: metadata.Pairs(transport.RefusedKey, "unavailable", transport.RefusedKey, "unavailable")}, good},
	} {
		if got := verdictOf(c.info, refusalOf(c.info.Trailer)); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
}
