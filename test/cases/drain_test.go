package cases_test

import (
	"context"
	"errors"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	books "github.com/genway/genway/core/ledger"
	"github.com/genway/genway/core/route"
	"github.com/genway/genway/core/store"
	"github.com/genway/genway/core/upstream"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/genway/genway/protocol/deferred"
	"github.com/genway/genway/test/cases/answers"
	"github.com/genway/genway/test/cases/fake"
	"github.com/genway/genway/test/cases/harness"
)

// drains lets callers leave at three moments; what the upstream says after that is in
// the ledger all the same.
func drains(t *testing.T) {
	db, err := store.Open(t.Context(), store.Config{Location: filepath.Join(t.TempDir(), "ledger"), RelaxLedger: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	recorder, err := books.Start(t.Context(), books.Config{Store: db.Ledger(), Window: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := recorder.Close(); err != nil {
			t.Error(err)
		}
	})
	left := make(chan struct{})
	g := harness.New(t, harness.Config{Ledger: recorder, Wrap: func(all upstream.Upstream) upstream.Upstream {
		var routes []route.Route
		for _, p := range harness.Texts() {
			routes = append(routes, route.Route{Model: string(p), Targets: []route.Target{{
				Name: string(p), Upstream: all, Protocol: p.ID(), Model: string(p) + "/m",
				Guard: route.NewGuard(route.Limits{DrainFor: time.Minute}),
			}}})
		}
		return &watched{Upstream: route.New(routes), left: left}
	}})
	calls := 0
	for _, caller := range harness.Texts() {
		for _, to := range harness.Texts() {
			for name, streamed := range map[string]bool{"unary": false, "streamed": true} {
				for when, answer := range drainable(to, streamed) {
					t.Run(string(caller)+" over "+string(to)+" "+name+", "+when, func(t *testing.T) {
						calls++
						leaveBehind(t, g, harness.CallOf(caller, string(to), caller.Hello(), streamed), g.Upstream(to), answer, left)
						row := settled(t, db.Ledger(), calls)
						if row.Outcome != books.Cancelled || row.Usage.Input != 11 || row.Usage.Output != 7 || row.Attempts != 1 {
							t.Errorf("%+v", row.Result)
						}
					})
				}
			}
		}
	}
}

// watched reports when the core knows that its caller has disconnected.
type watched struct {
	upstream.Upstream
	left chan<- struct{}
}

func (w *watched) watch(ctx context.Context) (stop func() bool) {
	return context.AfterFunc(ctx, func() { w.left <- struct{}{} })
}

func (w *watched) GenerateText(ctx context.Context, req *deferred.Request) (*genwayv1.GenerateTextResponse, error) {
	defer w.watch(ctx)()
	return w.Upstream.GenerateText(ctx, req)
}

func (w *watched) StreamGenerateText(ctx context.Context, req *deferred.Request, send upstream.Send) error {
	defer w.watch(ctx)()
	return w.Upstream.StreamGenerateText(ctx, req, send)
}

// drainable returns answers that wait, for what takes their place, after nothing, or in
// the middle.
func drainable(p harness.Protocol, streamed bool) map[string]func(until <-chan struct{}) fake.Answer {
	body, events := answers.Text("fine").Body(p), fake.Events(answers.Text("fine").Events(p)...)
	if streamed {
		return map[string]func(<-chan struct{}) fake.Answer{
			"before the answer": func(until <-chan struct{}) fake.Answer {
				return fake.Stream(append([]fake.Step{fake.Wait(until)}, events...)...)
			},
			"in the middle": func(until <-chan struct{}) fake.Answer {
				steps := append([]fake.Step{}, events[:len(events)/2]...)
				return fake.Stream(append(append(steps, fake.Wait(until)), events[len(events)/2:]...)...)
			},
		}
	}
	header := map[string]string{"Content-Type": "application/json"}
	return map[string]func(<-chan struct{}) fake.Answer{
		"before the answer": func(until <-chan struct{}) fake.Answer {
			return fake.Answer{Header: header, Steps: []fake.Step{fake.Wait(until), fake.Bytes(body)}}
		},
		"in the middle": func(until <-chan struct{}) fake.Answer {
			return fake.Answer{Header: header, Steps: []fake.Step{fake.Bytes(body[:len(body)/2]), fake.Wait(until), fake.Bytes(body[len(body)/2:])}}
		},
	}
}

// leaveBehind makes a call, leaves, and only then lets the upstream answer.
func leaveBehind(t *testing.T, g *harness.Gateway, call harness.Call, u *fake.Upstream, answer func(<-chan struct{}) fake.Answer, left <-chan struct{}) {
	t.Helper()
	answered := make(chan struct{})
	before := len(u.Requests())
	u.Answer(answer(answered))
	ctx, leave := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- await(ctx, g, call) }()
	for len(u.Requests()) == before {
		runtime.Gosched()
	}
	leave()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	<-left
	close(answered)
}

// settled waits for the ledger's entry of that number to be over.
func settled(t *testing.T, s books.Store, number int) *books.Entry {
	t.Helper()
	for {
		n := 0
		for e, err := range s.Entries(t.Context(), time.Time{}) {
			if err != nil {
				t.Fatal(err)
			}
			if n++; n == number && e.Outcome != books.Open {
				return e
			}
		}
		runtime.Gosched()
	}
}
