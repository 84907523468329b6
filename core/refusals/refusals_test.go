package refusals_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/core/call"
	"github.com/genway/genway/core/keys"
	"github.com/genway/genway/core/refusals"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

func by(key string) *call.Record {
	return &call.Record{ID: "req", Method: "/genway.v1.Generation/GenerateText", AskedModel: "m", Caller: call.Caller{Principal: keys.Principal{KeyID: key, Owner: "o"}}}
}

// However many requests are refused, of however many keys, the log keeps a bounded sample, and counts the others.
func TestBounds(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	log := refusals.New(func() time.Time { return now })
	total := int64(0)
	add := func(key string, n int) {
		for range n {
			log.Add(by(key), fault.New(fault.Unauthenticated, fault.ReasonInvalidKey, "invalid API key"))
			total++
		}
	}
	held := func(key string, want, all int) {
		t.Helper()
		sample, of := log.Sample(), 0
		for _, r := range sample.Requests {
			if r.KeyID == key {
				of++
			}
		}
		if of != want || len(sample.Requests) != all || sample.Omitted+int64(len(sample.Requests)) != total {
			t.Fatalf("%d of %q, %d of all, %d omitted of %d", of, key, len(sample.Requests), sample.Omitted, total)
		}
	}
	add("", 1000)
	held("", refusals.MaxPerMinute, refusals.MaxPerMinute)
	add("key", 3)
	held("key", 3, refusals.MaxPerMinute+3)
	for range 10 {
		now = now.Add(time.Minute)
		add("", 100)
	}
	held("", refusals.MaxOfKey, refusals.MaxOfKey+3)
	for n := range 10_000 {
		add(fmt.Sprint("key_", n), 1)
	}
	held("key_4000", 1, refusals.MaxKept)
	held("key_9999", 0, refusals.MaxKept) // beyond the keys of a minute
	now = now.Add(time.Minute)
	add("key_9999", 1)
	held("key_9999", 1, refusals.MaxKept)
	if first := log.Sample().Requests[0]; first.KeyID != "key_9999" {
		t.Errorf("the newest is %+v", first)
	}
}

// What a caller says is kept shortened; what is no refusal, what was admitted and what was shed is not kept.
func TestAdd(t *testing.T) {
	log := refusals.New(time.Now)
	long := by("key")
	long.AskedModel = strings.Repeat("模", 1000)
	log.Add(long, &fault.Error{Kind: fault.RateLimited, Reason: "R", Message: strings.Repeat("x", 9000), Quota: &genwayv1.Quota{Scope: "key"}})
	admitted, shed := by("key"), by("key")
	admitted.Admitted, shed.Shed = true, true
	for _, r := range []*call.Record{admitted, shed} {
		log.Add(r, fault.New(fault.RateLimited, "R", "m"))
	}
	log.Add(by("key"), fault.New(fault.InvalidRequest, "R", "m"))
	log.Add(by("key"), fault.New(fault.NotFound, "R", "m"))
	(*refusals.Log)(nil).Add(by("key"), fault.New(fault.RateLimited, "R", "m"))
	sample := log.Sample()
	if len(sample.Requests) != 1 || sample.Omitted != 0 {
		t.Fatalf("%+v", sample)
	}
	if r := sample.Requests[0]; len(r.Model) > 128 || len(r.Message) > 240 || r.Quota.GetScope() != "key" || r.Method != "GenerateText" || r.Owner != "o" || r.Kind != "rate_limited" {
		t.Errorf("%+v", r)
	}
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 100 {
				log.Add(by("another"), fault.New(fault.RateLimited, "R", "m"))
				_ = log.Sample()
			}
		})
	}
	all.Wait()
	if got := log.Sample(); len(got.Requests)+int(got.Omitted) != 801 {
		t.Errorf("%d are kept, %d omitted", len(got.Requests), got.Omitted)
	}
}
