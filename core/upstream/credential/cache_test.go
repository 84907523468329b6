package credential

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// issuer counts what it returns: tokens of a life, unless it is away.
type issuer struct {
	mu    sync.Mutex
	given int
	asked int
	life  time.Duration
	takes time.Duration
	away  error
}

func (i *issuer) fetch(ctx context.Context) (string, time.Time, error) {
	select {
	case <-time.After(i.takes):
	case <-ctx.Done():
		return "", time.Time{}, context.Cause(ctx)
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	i.asked++
	if i.away != nil {
		return "", time.Time{}, i.away
	}
	i.given++
	if i.life == 0 {
		return fmt.Sprint("token-", i.given), time.Time{}, nil
	}
	return fmt.Sprint("token-", i.given), time.Now().Add(i.life), nil
}

func (i *issuer) set(f func(*issuer)) {
	i.mu.Lock()
	defer i.mu.Unlock()
	f(i)
}

func (i *issuer) asks() int {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.asked
}

func (i *issuer) cache(t *testing.T) *cache[string] {
	t.Helper()
	c := newCache("auth.test of upstream u", i.fetch, func(s string) []string { return []string{s} })
	t.Cleanup(func() {
		if err := c.close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

func value(t *testing.T, c *cache[string]) string {
	t.Helper()
	held, err := c.get(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return held.value
}

func TestOneFetchServesAllWhoWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		i := &issuer{life: time.Hour, takes: time.Second}
		c := i.cache(t)
		var group sync.WaitGroup
		for range 100 {
			group.Go(func() {
				if held, err := c.get(t.Context()); err != nil || held.value != "token-1" {
					t.Errorf("got %v, %v", held, err)
				}
			})
		}
		group.Wait()
		if i.asks() != 1 {
			t.Errorf("the issuer was asked %d times", i.asks())
		}
	})
}

// Requests go on with the token that is valid while the next one is fetched.
func TestTokensAreRenewedAheadOfTheirEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		i := &issuer{life: time.Hour}
		c := i.cache(t)
		value(t, c)
		i.set(func(i *issuer) { i.takes = 5 * time.Second })
		time.Sleep(50*time.Minute + time.Second) //nolint:forbidigo // synctest: the bubble's clock
		begun := time.Now()
		if got := value(t, c); got != "token-1" || time.Since(begun) != 0 {
			t.Errorf("got %s after %v", got, time.Since(begun))
		}
		time.Sleep(6 * time.Second) //nolint:forbidigo // synctest: the bubble's clock
		if got := value(t, c); got != "token-2" {
			t.Errorf("got %s after the renewal", got)
		}
		if i.asks() != 2 {
			t.Errorf("the issuer was asked %d times", i.asks())
		}
	})
}

// While the issuer is away, the token is used to its end and not a moment longer; then
// requests fail at once and name the credential, and the issuer is not flooded.
func TestIssuerAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		i := &issuer{life: time.Hour}
		c := i.cache(t)
		value(t, c)
		away := errors.New("the issuer answered 503")
		i.set(func(i *issuer) { i.away = away })
		ends := time.Now().Add(time.Hour)
		for time.Now().Before(ends.Add(-margin)) {
			if got := value(t, c); got != "token-1" {
				t.Fatalf("got %s", got)
			}
			time.Sleep(time.Second) //nolint:forbidigo // synctest: the bubble's clock
		}
		asked := i.asks()
		if asked < 10 || asked > 60 {
			t.Errorf("the issuer was asked %d times in the last 10 minutes", asked)
		}
		for range 100 {
			_, err := c.get(t.Context())
			var failed *Error
			if !errors.As(err, &failed) || failed.Name != "auth.test of upstream u" || !errors.Is(err, away) {
				t.Fatalf("got %v", err)
			}
		}
		if more := i.asks() - asked; more > 2 {
			t.Errorf("100 requests at once asked the issuer %d times", more)
		}
		i.set(func(i *issuer) { i.away = nil })
		time.Sleep(maxPause) //nolint:forbidigo // synctest: the bubble's clock
		if got := value(t, c); got != "token-2" {
			t.Errorf("got %s from the issuer that is back", got)
		}
	})
}

// No token is given after its end, whatever its life, and none is asked for more often than
// its life explains.
func TestExpiredTokensAreNeverGiven(t *testing.T) {
	for _, life := range []time.Duration{2 * time.Second, 10 * time.Second, time.Minute, 24 * time.Hour} {
		t.Run(life.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				i := &issuer{life: life}
				var ends sync.Map // of times, by token
				c := newCache("n", func(ctx context.Context) (string, time.Time, error) {
					token, end, err := i.fetch(ctx)
					ends.Store(token, end)
					return token, end, err
				}, func(s string) []string { return []string{s} })
				defer c.close()
				for range 1000 {
					got := value(t, c)
					if end, _ := ends.Load(got); !time.Now().Before(end.(time.Time)) {
						t.Fatalf("%s was given after its end", got)
					}
					time.Sleep(life / 37) //nolint:forbidigo // synctest: the bubble's clock
				}
				synctest.Wait()
				if i.asks() > 45 {
					t.Errorf("the issuer was asked %d times in 27 lives", i.asks())
				}
			})
		})
	}
}

func TestTokensThatHaveEndedAreRefused(t *testing.T) {
	for _, life := range []time.Duration{-time.Hour, time.Nanosecond, minLife - 1} {
		synctest.Test(t, func(t *testing.T) {
			c := (&issuer{life: life}).cache(t)
			if held, err := c.get(t.Context()); err == nil {
				t.Errorf("a token that ends in %v was given: %v", life, held)
			}
		})
	}
}

func TestWhoWaitsGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		i := &issuer{life: time.Hour, takes: time.Hour}
		c := i.cache(t)
		ctx, stop := context.WithTimeout(t.Context(), time.Second)
		defer stop()
		if _, err := c.get(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
		// The fetch itself ends by its own bound, and says so.
		begun := time.Now()
		_, err := c.get(t.Context())
		var failed *Error
		if !errors.As(err, &failed) || time.Since(begun) > fetchTimeout {
			t.Errorf("got %v after %v", err, time.Since(begun))
		}
	})
}

// A token that an upstream refuses is fetched again, once for all requests that it was refused
// to, and no more often than every discardEvery.
func TestRefusedTokens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		i := &issuer{life: time.Hour}
		c := i.cache(t)
		first, err := c.get(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for n := range 50 {
			if !c.discard(first) && n == 0 {
				t.Error("the first refusal was not believed")
			}
		}
		if got := value(t, c); got != "token-2" || i.asks() != 2 {
			t.Errorf("got %s after %d", got, i.asks())
		}
		if !c.discard(first) {
			t.Error("a request that had the old token is not sent again")
		}
		second, _ := c.get(t.Context())
		if c.discard(second) {
			t.Error("an upstream that refuses everything has the issuer asked each time")
		}
		time.Sleep(discardEvery) //nolint:forbidigo // synctest: the bubble's clock
		i.set(func(i *issuer) { i.away = errors.New("away") })
		if !c.discard(second) {
			t.Error("a later refusal was not believed")
		}
		if got := value(t, c); got != "token-2" {
			t.Errorf("got %s while the issuer is away", got)
		}
	})
}

// What never ends is looked at again: keys in files are rotated.
func TestTokensWithoutAnEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		i := &issuer{}
		c := i.cache(t)
		value(t, c)
		time.Sleep(recheck + time.Second) //nolint:forbidigo // synctest: the bubble's clock
		value(t, c)
		synctest.Wait()
		if got := value(t, c); got != "token-2" {
			t.Errorf("got %s", got)
		}
		if known := fmt.Sprint(c.known()); known != "[token-2 token-1]" {
			t.Errorf("the secrets are %s", known)
		}
	})
}

func TestClosedWhileFetching(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		i := &issuer{life: time.Hour, takes: time.Hour}
		c := i.cache(t)
		go func() {
			time.Sleep(time.Second) //nolint:forbidigo // synctest: the bubble's clock
			_ = c.close()
		}()
		if _, err := c.get(t.Context()); err == nil {
			t.Error("a token came out of a fetch that was ended")
		}
		if _, err := c.get(t.Context()); err == nil {
			t.Error("a token came out of a closed cache")
		}
	})
}
