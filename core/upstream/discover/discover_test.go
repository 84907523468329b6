package discover_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/genway/genway/core/upstream/discover"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

// lister returns what it is made of.
type lister func(ctx context.Context, token string) (*genwayv1.ListModelsResponse, error)

func (l lister) ListModels(ctx context.Context, token string) (*genwayv1.ListModelsResponse, error) {
	return l(ctx, token)
}

func page(next string, names ...string) *genwayv1.ListModelsResponse {
	list := &genwayv1.ListModelsResponse{NextPageToken: next}
	for _, name := range names {
		list.Models = append(list.Models, &genwayv1.Model{Name: name})
	}
	return list
}

func names(l *discover.Listing) string {
	var all []string
	for _, m := range l.Models() {
		all = append(all, m.GetName())
	}
	return strings.Join(all, " ")
}

// logged gathers the lines of a log.
type logged struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *logged) logger() *slog.Logger { return slog.New(slog.NewTextHandler(l, nil)) }

func (l *logged) take() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	defer l.text.Reset()
	return l.text.String()
}

// watch has listings kept fresh until the test ends.
func watch(t *testing.T, log *slog.Logger, listings ...*discover.Listing) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		discover.Watch(ctx, listings, log)
	}()
	return func() { cancel(); <-done }
}

// A list is asked for when it is due and not before, its failures keep the last one, and
// the log has one line for the beginning of an outage and one for its end.
func TestWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		steps := []struct {
			answer *genwayv1.ListModelsResponse
			err    error
			wait   time.Duration
			want   string
			says   string
		}{
			{page("", "a", "b"), nil, 5 * time.Minute, "a b", "models are listed"},
			{nil, errors.New("401 of u"), 30 * time.Second, "a b", "401 of u"},
			{nil, errors.New("still"), 30 * time.Second, "a b", ""},
			{page("", "b"), nil, 5 * time.Minute, "b", "again"},
			{page("", "b"), nil, 5 * time.Minute, "b", ""},
			{page(""), nil, 5 * time.Minute, "", "models=0"},
		}
		var asked atomic.Int64
		l := discover.New("u", "chat http://u", lister(func(context.Context, string) (*genwayv1.ListModelsResponse, error) {
			step := steps[asked.Add(1)-1]
			return step.answer, step.err
		}))
		log := &logged{}
		stop := watch(t, log.logger(), l)
		for i, step := range steps {
			synctest.Wait()
			if got := names(l); got != step.want || asked.Load() != int64(i+1) {
				t.Errorf("step %d: %q after %d questions, want %q", i, got, asked.Load(), step.want)
			}
			if line := log.take(); (step.says == "") != (line == "") || !strings.Contains(line, step.says) {
				t.Errorf("step %d: the log says %q, want %q", i, line, step.says)
			}
			time.Sleep(step.wait - time.Nanosecond) //nolint:forbidigo // of the bubble
			if asked.Load() != int64(i+1) {
				t.Errorf("step %d: it was asked again before it was due", i)
			}
			if i == len(steps)-1 {
				stop()
			}
			time.Sleep(time.Nanosecond) //nolint:forbidigo // of the bubble
		}
	})
}

// A list that cannot be one is refused as a whole, and single models that no request
// could name are left out.
func TestBounds(t *testing.T) {
	many := make([]string, 10_001)
	for i := range many {
		many[i] = fmt.Sprint("m", i)
	}
	for name, c := range map[string]struct {
		pages map[string]*genwayv1.ListModelsResponse
		want  string
	}{
		"pages":              {map[string]*genwayv1.ListModelsResponse{"": page("2", "a"), "2": page("", "b", "a")}, "a b"},
		"a page again":       {map[string]*genwayv1.ListModelsResponse{"": page("2", "a"), "2": page("2", "b")}, ""},
		"the first again":    {map[string]*genwayv1.ListModelsResponse{"": page("2", "a"), "2": page("3"), "3": page("2")}, ""},
		"too many":           {map[string]*genwayv1.ListModelsResponse{"": page("", many...)}, ""},
		"nothing at all":     {map[string]*genwayv1.ListModelsResponse{"": nil}, ""},
		"names":              {map[string]*genwayv1.ListModelsResponse{"": page("", "", "a\nb", "a\x1b[31m", "\xff", "org/model:tag@1", strings.Repeat("x", 257), "\u202eevil", "\x00", "модель")}, "org/model:tag@1 модель"},
		"as many as allowed": {map[string]*genwayv1.ListModelsResponse{"": page("", many[:10_000]...)}, strings.Join(many[:10_000], " ")},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := discover.New("u", "", lister(func(_ context.Context, token string) (*genwayv1.ListModelsResponse, error) {
					return c.pages[token], nil
				}))
				stop := watch(t, slog.New(slog.DiscardHandler), l)
				synctest.Wait()
				stop()
				if got := names(l); got != c.want {
					t.Errorf("%.100q, want %.100q", got, c.want)
				}
			})
		})
	}
}

// An upstream that hangs holds up no other, and is given up at the deadline; the end of
// the process is no failure of it.
func TestHanging(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hangs := discover.New("hangs", "1", lister(func(ctx context.Context, _ string) (*genwayv1.ListModelsResponse, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}))
		asked := 0
		good := discover.New("good", "2", lister(func(context.Context, string) (*genwayv1.ListModelsResponse, error) {
			asked++
			return page("", "a"), nil
		}))
		log := &logged{}
		stop := watch(t, log.logger(), hangs, good)
		synctest.Wait()
		if line := log.take(); names(good) != "a" || !strings.Contains(line, "upstream=good") {
			t.Errorf("%q; %s", names(good), line)
		}
		time.Sleep(14 * time.Second) //nolint:forbidigo // of the bubble
		if line := log.take(); line != "" {
			t.Errorf("before the deadline: %s", line)
		}
		time.Sleep(2 * time.Second) //nolint:forbidigo // of the bubble
		if line := log.take(); !strings.Contains(line, "upstream=hangs") {
			t.Errorf("after the deadline: %s", line)
		}
		time.Sleep(31 * time.Second) //nolint:forbidigo // of the bubble
		stop()
		if line := log.take(); line != "" || asked != 1 {
			t.Errorf("at the end: %s; the other was asked %d times", line, asked)
		}
	})
}

// The properties of a model are kept as far as they can be shown; a new listing goes on with
// the list of the one before at the same address.
func TestAdopt(t *testing.T) {
	old := discover.New("u", "chat http://u", lister(func(context.Context, string) (*genwayv1.ListModelsResponse, error) {
		return &genwayv1.ListModelsResponse{Models: []*genwayv1.Model{{Name: "a", DisplayName: "A\x07", OwnedBy: strings.Repeat("x", 2000), Description: "good"}}}, nil
	}))
	synctest.Test(t, func(t *testing.T) {
		stop := watch(t, slog.New(slog.DiscardHandler), old)
		synctest.Wait()
		stop()
	})
	if m := old.Models()[0]; m.GetDisplayName() != "a" || m.GetOwnedBy() != "u" || m.GetDescription() != "good" {
		t.Errorf("%v", m)
	}
	same, other := discover.New("v", "chat http://u", nil), discover.New("u", "chat http://v", nil)
	for _, l := range []*discover.Listing{same, other} {
		l.Adopt([]*discover.Listing{old})
	}
	if names(same) != "a" || names(other) != "" {
		t.Errorf("%q, %q", names(same), names(other))
	}
}
