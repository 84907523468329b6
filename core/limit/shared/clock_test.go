//go:build unix

package shared

import (
	"errors"
	"strconv"
	"testing"
	"time"

	"github.com/genway/genway/core/limit"
)

// Case N64: nothing that was taken while the server's clock was a day ahead refuses requests
// for longer than it would have, once the clock is put right. The test moves what is kept, since
// it has no hold on the server's clock.
func TestN64ServersClockIsPutBack(t *testing.T) {
	s, l, conn := beginOn(t, Config{})
	limits := limit.Limits{RequestsPerMinute: 2, TokensPerMinute: 1000, Concurrent: 5}
	reserve(t, l, limits, limit.Amount{Tokens: 300}).Settle(limit.Amount{Tokens: 300})
	held := reserve(t, l, limits, limit.Amount{Tokens: 300})
	const day = int64(24 * time.Hour / time.Microsecond)
	subject := &limit.Subject{Scope: limit.Key, ID: "key_a"}
	k := s.keys
	for _, key := range []string{k.rate(limit.Requests, subject), k.rate(limit.Tokens, subject)} {
		for _, field := range []string{"f", "t"} {
			if _, err := conn.HIncrBy(t.Context(), key, field, day).Result(); err != nil {
				t.Fatal(err)
			}
		}
	}
	running := k.running(subject)
	claims, err := conn.ZRange(t.Context(), running, 0, -1).Result()
	if err != nil || len(claims) == 0 {
		t.Fatal(claims, err)
	}
	for _, claim := range claims {
		if _, err := conn.ZIncrBy(t.Context(), running, float64(day), claim).Result(); err != nil {
			t.Fatal(err)
		}
	}
	r := l.Prepare(limit.Who{KeyID: "key_a", Limits: limits})
	_, err = r.Reserve(t.Context(), limit.Amount{Tokens: 300})
	refusal, ok := errors.AsType[*limit.Refusal](err)
	if !ok {
		t.Fatal(err)
	}
	if refusal.After <= 0 || refusal.After > time.Minute {
		t.Errorf("a third request of two a minute is to come in %v", refusal.After)
	}
	more := limits
	more.RequestsPerMinute = 100
	reserve(t, l, more, limit.Amount{Tokens: 300}).Settle(limit.Amount{})
	now := time.Now().Add(defaultLease + time.Hour).UnixMicro()
	if n, err := conn.ZCount(t.Context(), running, strconv.FormatInt(now, 10), "+inf").Result(); err != nil || n != 0 {
		t.Errorf("%d leases end long after they should: %v", n, err)
	}
	held.Settle(limit.Amount{Tokens: 300})
}
