package keys_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/genway/genway/core/keys"
)

// loading is a memory of which all keys can be read only once gate is closed, and which counts
// how often keys are looked up.
type loading struct {
	*memory

	gate    chan struct{}
	lookups atomic.Int64
	before  func()
}

func (u *loading) Holding(ctx context.Context, after keys.Place, limit int) ([]keys.Holder, keys.Place, error) {
	select {
	case <-u.gate:
		return u.memory.Holding(ctx, after, limit)
	case <-ctx.Done():
		return nil, after, ctx.Err()
	}
}

func (u *loading) Holders(ctx context.Context, hashes []keys.Digest) ([]keys.Holder, error) {
	u.lookups.Add(1)
	if u.before != nil {
		u.before()
	}
	return u.memory.Holders(ctx, hashes)
}

// While not all keys are read, a flood of wrong keys is looked up in few questions, and a
// good key among them is served.
func TestFloodAtTheStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u := &loading{memory: &memory{}, gate: make(chan struct{})}
		u.before = func() { <-time.After(10 * time.Millisecond) } // the bubble's time
		s, err := keys.New(keys.Config{Store: u})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		raw, _ := create(t, s, keys.CreateParams{Group: keys.GroupChat})
		var wait sync.WaitGroup
		for range 2000 {
			wait.Go(func() {
				if _, err := s.Authenticate(t.Context(), unknown(t)); !errors.Is(err, keys.ErrWrongKey) {
					t.Errorf("a wrong key: %v", err)
				}
			})
		}
		wait.Go(func() {
			if _, err := s.Authenticate(t.Context(), raw); err != nil {
				t.Errorf("a good key: %v", err)
			}
		})
		wait.Wait()
		if n := u.lookups.Load(); n > 10 || s.Loaded() {
			t.Errorf("%d questions, all are read: %t", n, s.Loaded())
		}
		close(u.gate)
	})
}

// A key costs less than 400 bytes of memory, with names and owners of their own.
func TestMemoryOfKeys(t *testing.T) {
	const n = 50_000
	m := &generated{n: n}
	s, err := keys.New(keys.Config{Store: m})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	before := inUse()
	s.Warm()
	s.Idle()
	if !s.Loaded() {
		t.Fatal("not all keys are read")
	}
	each := (inUse() - before) / n
	t.Logf("%d bytes a key", each)
	if each < 50 || each > 400 {
		t.Errorf("%d bytes a key", each)
	}
	if p, err := s.Authenticate(t.Context(), m.raw(n-1)); err != nil || p.Name != fmt.Sprint("key number ", n-1) || p.Owner != fmt.Sprint("owner ", n-1) {
		t.Errorf("%+v, %v", p, err)
	}
}

func inUse() int64 {
	runtime.GC()
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc)
}

// generated is a store of n keys, of which none is kept.
type generated struct {
	memory

	n int
}

func (g *generated) raw(i int) string {
	raw, err := keys.Generate(number(i))
	if err != nil {
		panic(err)
	}
	return raw
}

// number is randomness of which a number can be told.
type number int

func (n number) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = byte(int(n) >> (8 * (i % 4)) & 63)
		if i%4 == 3 {
			p[i] = byte(int(n) >> 6 & 63)
		}
		if i%4 == 2 {
			p[i] = byte(int(n) >> 12 & 63)
		}
	}
	return len(p), nil
}

func (g *generated) Holding(_ context.Context, after keys.Place, limit int) ([]keys.Holder, keys.Place, error) {
	start := int(after.CreateTime.Unix())
	if after == (keys.Place{}) {
		start = 0
	}
	var list []keys.Holder
	for i := start; i < min(start+limit, g.n); i++ {
		list = append(list, keys.Holder{
			Hash: keys.Hash(g.raw(i)), KeyID: fmt.Sprintf("key_%012d", i), Group: keys.GroupChat, Name: fmt.Sprint("key number ", i), Owner: fmt.Sprint("owner ", i),
			Policy: fmt.Sprintf(`{"limits":{"requests_per_minute":%d}}`, i%100),
		})
		after = keys.Place{CreateTime: time.Unix(int64(i+1), 0), ID: "key"}
	}
	return list, after, nil
}
