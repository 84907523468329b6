package cases_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/genway/genway/core/keys"
	"github.com/genway/genway/core/route"
	"github.com/genway/genway/core/store"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

func growthCases() []Case {
	return []Case{
		{"G1", "from a start on each key is served, before all keys are read; wrong ones are refused, and revoked ones within two seconds", onStores(servedBeforeAllAreRead)},
		{"G2", "callers of known keys do not wait while changes of others are read", onStores(nobodyWaits)},
		{"G3", "a revocation counts within two seconds, however many changes are ahead of it", onStores(revokedBehindMany)},
		{"G4", "of ten thousand routes the first one that matches wins, whatever is ahead of it", firstOfManyRoutes},
		{"G5", "a key whose policy cannot be read is unavailable, and others are served", unreadPolicy},
	}
}

// slowStore blocks reads until it is released.
type slowStore struct {
	keys.Store

	mu      sync.Mutex
	reading chan struct{} // of all keys; nil does not hold back
	asking  chan struct{} // of changes
}

func (s *slowStore) hold(of *chan struct{}) (letGo func()) {
	gate := make(chan struct{})
	s.mu.Lock()
	defer s.mu.Unlock()
	*of = gate
	return sync.OnceFunc(func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		*of = nil
		close(gate)
	})
}

func (s *slowStore) held(ctx context.Context, of *chan struct{}) error {
	s.mu.Lock()
	gate := *of
	s.mu.Unlock()
	if gate == nil {
		return nil
	}
	select {
	case <-gate:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (s *slowStore) Holding(ctx context.Context, after keys.Place, limit int) ([]keys.Holder, keys.Place, error) {
	if err := s.held(ctx, &s.reading); err != nil {
		return nil, after, err
	}
	return s.Store.Holding(ctx, after, limit)
}

func (s *slowStore) Version(ctx context.Context) (int64, error) {
	if err := s.held(ctx, &s.asking); err != nil {
		return 0, err
	}
	return s.Store.Version(ctx)
}

// answers demands a status.
func (k *keyed) answers(t *testing.T, when, raw string, want int) {
	t.Helper()
	if got, answer := k.ask(t, raw); got != want {
		t.Errorf("%s: got %d, want %d: %s", when, got, want, answer)
	}
}

func (k *keyed) revoke(t *testing.T, key keys.Key) {
	t.Helper()
	if _, err := k.operator.Revoke(t.Context(), key.ID); err != nil {
		t.Fatal(err)
	}
}

func servedBeforeAllAreRead(t *testing.T, k *keyed) {
	letGo := k.slow.hold(&k.slow.reading)
	defer letGo()
	first, key := k.key(t, keys.GroupChat, "first")
	second, _ := k.key(t, keys.GroupChat, "second")
	k.answers(t, "the first request", first, http.StatusOK)
	k.answers(t, "another key", second, http.StatusOK)
	wrong, err := keys.Generate(zeros{})
	if err != nil {
		t.Fatal(err)
	}
	k.answers(t, "a wrong key", wrong, http.StatusUnauthorized)
	k.revoke(t, key)
	k.pass(1500 * time.Millisecond)
	k.answers(t, "a revoked key", first, http.StatusUnauthorized)
	k.answers(t, "the other key", second, http.StatusOK)
}

// zeros is the randomness of an unknown key.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

func nobodyWaits(t *testing.T, k *keyed) {
	raw, _ := k.key(t, keys.GroupChat, "known")
	k.answers(t, "a new key", raw, http.StatusOK)
	twenty := func() time.Duration {
		began := time.Now()
		for range 20 {
			k.answers(t, "a known key", raw, http.StatusOK)
		}
		return time.Since(began)
	}
	usual := twenty()
	letGo := k.slow.hold(&k.slow.asking)
	defer letGo()
	k.key(t, keys.GroupChat, "another")
	k.pass(time.Second)
	// A call that waited would do so for the timeout of a query, a second, each time.
	if took := twenty(); took > 10*time.Second+10*usual {
		t.Errorf("20 requests took %s, before %s", took, usual)
	}
}

func revokedBehindMany(t *testing.T, k *keyed) {
	raw, key := k.key(t, keys.GroupChat, "known")
	k.answers(t, "a new key", raw, http.StatusOK)
	letGo := k.slow.hold(&k.slow.reading)
	defer letGo()
	params := make([]keys.CreateParams, 3000)
	for i := range params {
		params[i] = keys.CreateParams{Group: keys.GroupChat, Settings: keys.Settings{Name: fmt.Sprint("of many ", i)}}
	}
	made, err := k.operator.Import(t.Context(), params, false)
	if err != nil {
		t.Fatal(err)
	}
	k.revoke(t, key)
	k.pass(1500 * time.Millisecond)
	k.answers(t, "a revoked key", raw, http.StatusUnauthorized)
	k.answers(t, "the last of many", made[len(made)-1].Raw, http.StatusOK)
}

func firstOfManyRoutes(t *testing.T) {
	var routes []route.Route
	for i := range 10_000 {
		routes = append(routes, route.Route{Model: fmt.Sprintf([]string{"model-%d", "team-%d/*", "*-of-%d", "x*-%d-*y"}[i%4], i)})
	}
	routes = append(routes, route.Route{Model: "team-*"}, route.Route{Model: "*"}, route.Route{Model: "model-8"})
	router := route.New(routes)
	for model, want := range map[string]int{
		"model-8": 8, "team-9/x": 9, "a-of-10": 10, "xa-11-by": 11, "team-9": 10_000, "team-10/x": 10_000, "model-9": 10_001, "team-9999/": 10_000,
	} {
		if got := router.Explain(genwayv1.Protocol_PROTOCOL_CHAT_COMPLETIONS, model).Route; got != want {
			t.Errorf("%s comes to route %d, want %d", model, got, want)
		}
	}
}

func unreadPolicy(t *testing.T) {
	location := filepath.Join(t.TempDir(), store.FileName)
	k := newKeyed(t, location)
	later, _ := k.key(t, keys.GroupChat, "later")
	plain, _ := k.key(t, keys.GroupChat, "plain")
	db, err := sql.Open("sqlite", location)
	if err != nil {
		t.Fatal(err)
	}
	_, err = db.ExecContext(t.Context(), `UPDATE keys SET policy = '{"regions":["eu"]}' WHERE name = 'later'`)
	if err = errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
	got, answer := k.ask(t, later)
	if got != http.StatusServiceUnavailable || strings.Contains(answer, "regions") {
		t.Errorf("the policy of a later release: %d %s", got, answer)
	}
	k.answers(t, "another key", plain, http.StatusOK)
}
