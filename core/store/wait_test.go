//go:build unix

package store_test

import (
	"context"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/genway/genway/core/store"
	"github.com/genway/genway/test/servers"
)

// Case N90: who waits for another process that migrates is called with the database and with the process that it waits
// for, once as it begins and then at intervals, and goes on when that process has ended.
func TestWaitsForOthersThatMigrate(t *testing.T) {
	t.Parallel()
	for name, await := range map[string]func(ctx context.Context, location string, waits func(store.Wait)) error{
		"open": func(ctx context.Context, location string, waits func(store.Wait)) error {
			s, err := store.Open(ctx, store.Config{Location: location, Waits: waits})
			if err != nil {
				return err
			}
			return s.Close()
		},
		"migrate up": func(ctx context.Context, location string, waits func(store.Wait)) error {
			_, err := store.MigrateUp(ctx, store.Config{Location: location, Waits: waits})
			return err
		},
		"store copy": func(ctx context.Context, location string, waits func(store.Wait)) error {
			_, err := store.Copy(ctx, filled(t), location, nil, waits)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			location := servers.PostgresDatabase(t)
			release := migrating(t, location)
			told := make(chan store.Wait, 8)
			done := make(chan error, 1)
			go func() { done <- await(t.Context(), location, func(w store.Wait) { told <- w }) }()
			w := <-told
			if !regexp.MustCompile(`^process \d+ \(another one\) of user genway since 20\d\d-\S+Z$`).MatchString(w.Holder) {
				t.Errorf("the holder is %q", w.Holder)
			}
			if !strings.HasPrefix(w.Store, "postgres://genway@/test") || strings.Contains(w.Store, "canary") {
				t.Errorf("the store is %q", w.Store)
			}
			if w.Waited <= 0 || w.Waited > time.Minute {
				t.Errorf("waited for %s", w.Waited)
			}
			release()
			if err := <-done; err != nil || len(told) > 0 {
				t.Errorf("%v, and %d calls more", err, len(told))
			}
		})
	}
	t.Run("at intervals", func(t *testing.T) {
		t.Parallel()
		location := servers.PostgresDatabase(t)
		release := migrating(t, location)
		var last time.Duration
		calls := 0
		err := store.AwaitMigrations(t.Context(), location, time.Second, func(w store.Wait) {
			if calls++; w.Waited < time.Duration(calls-1)*time.Second || w.Waited <= last {
				t.Errorf("call %d after %s", calls, w.Waited)
			}
			if last = w.Waited; calls == 3 {
				release()
			}
		})
		if err != nil || calls != 3 {
			t.Errorf("%d calls, %v", calls, err)
		}
	})
}

// Who does not wait is not called.
func TestNoWaitForOthersThatMigrate(t *testing.T) {
	t.Parallel()
	location := servers.PostgresDatabase(t)
	s, err := store.Open(t.Context(), store.Config{Location: location, Waits: func(w store.Wait) { t.Errorf("%+v", w) }})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// migrating holds the lock of migrations until release is called.
func migrating(t *testing.T, location string) (release func()) {
	t.Helper()
	db := raw(t, location)
	tx, err := db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = tx.Rollback() })
	if _, err := tx.ExecContext(t.Context(), `SET LOCAL application_name = 'another one'; SELECT pg_advisory_xact_lock(x'67656e776179'::bigint)`); err != nil {
		t.Fatal(err)
	}
	return func() {
		if err := tx.Rollback(); err != nil {
			t.Error(err)
		}
	}
}
