package gateway

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/genway/genway/internal/overload"
	"github.com/genway/genway/internal/transport"
	"github.com/genway/genway/protocol"
)

// TestThrottle has a core take 200 of 1,000 requests a second.
func TestThrottle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var th throttle
		offer := func(perSecond, takes int, lasts time.Duration) (forwarded, taken int) {
			pause := time.Second / time.Duration(perSecond)
			credit := 0.0
			for range int(lasts / pause) {
				time.Sleep(pause) //nolint:forbidigo // of the bubble's clock
				credit = min(2, credit+float64(takes)/float64(perSecond))
				if !th.admit(overload.Interactive) {
					continue
				}
				forwarded++
				if credit >= 1 {
					credit--
					taken++
				} else {
					th.refuse(overload.Interactive)
				}
			}
			return forwarded, taken
		}
		offer(1000, 200, 2*time.Second)
		if forwarded, taken := offer(1000, 200, 5*time.Second); taken < 750 || forwarded > 2400 {
			t.Errorf("of 1000 requests that the core could take it took %d; %d were forwarded", taken, forwarded)
		}
		if !th.admit(overload.Batch) {
			t.Error("batch requests have an account of their own")
		}
		offer(100, 200, 2*time.Second)
		if forwarded, _ := offer(100, 200, time.Second); forwarded != 100 {
			t.Errorf("two seconds later %d of 100 were forwarded", forwarded)
		}
	})
}

// TestPrioritiesAreLearnt from what the core says, and forgotten when it says otherwise.
func TestPrioritiesAreLearnt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b batchKeys
		x := &exchange{endpoint: &endpoint{protocol: protocol.All()[0]}, authorization: "Bearer a", client: "192.0.2.1:1"}
		other := &exchange{endpoint: x.endpoint, authorization: "Bearer b", client: x.client}
		said := []transport.Field{{Name: keyKey, Value: "key_a"}, {Name: priorityKey, Value: "batch"}}
		b.learn(x, said)
		if b.priorityOf(x) != overload.Batch || b.priorityOf(other) != overload.Interactive {
			t.Error("not learnt, or of another key")
		}
		b.learn(x, said[:1])
		if b.priorityOf(x) != overload.Interactive {
			t.Error("not forgotten when the core says otherwise")
		}
		b.learn(x, said)
		time.Sleep(batchFor + time.Second) //nolint:forbidigo // of the bubble's clock
		if b.priorityOf(x) != overload.Interactive {
			t.Error("remembered for more than a minute")
		}
	})
}
