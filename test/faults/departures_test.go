package faults_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/genway/genway/core/route"
	"github.com/genway/genway/core/upstream"
	"github.com/genway/genway/core/upstream/remote"
	"github.com/genway/genway/test/cases/harness"
	"go.uber.org/goleak"
)

const (
	// together is how many callers there are at once.
	together = 64
	// soon is how long an upstream may go on without its caller: 100 ms is the
	// promise (issue 4), this the bound for a machine that is busy with 64 others.
	soon = 2 * time.Second
)

// departing is how many callers go away in all.
func departing() int {
	if race {
		return 2000
	}
	return 10_000
}

// Callers who go away, before the first byte, in the middle of a stream and while
// they are sending, leave no upstream call, no goroutine and no descriptor behind
// (case K6: cancelling is the policy).
func TestClientsGoneUnderLoad(t *testing.T) {
	open := newOpenEnded(t)
	table := &routes{}
	g := harness.New(t, harness.Config{Wrap: func(upstream.Upstream) upstream.Upstream { return table }})
	transport := remote.NewTransport(remote.Way{})
	t.Cleanup(transport.CloseIdleConnections)
	for _, p := range harness.Texts() {
		adapter, err := remote.New(remote.Config{Protocol: p.ID(), BaseURL: open.server.URL + "/" + string(p) + "/v1", HTTP: transport})
		if err != nil {
			t.Fatal(err)
		}
		table.add(string(p), route.Target{Name: string(p), Upstream: adapter, Protocol: p.ID(), Guard: route.NewGuard(route.Limits{})})
	}
	l := &leavers{url: g.URL, open: open}
	l.leave(t, 0) // what is made once is made
	before := goleak.IgnoreCurrent()
	descriptors := openFiles(t)

	work := make(chan int)
	var running sync.WaitGroup
	for range together {
		running.Go(func() {
			for n := range work {
				l.leave(t, n)
			}
		})
	}
	for n := range departing() {
		work <- n
	}
	close(work)
	running.Wait()

	if n := open.calls.Load(); n != 0 {
		t.Errorf("%d calls go on at the upstream", n)
	}
	transport.CloseIdleConnections()
	goleak.VerifyNone(t, before)
	// Each open connection has a goroutine, so by now all are closed.
	if now := openFiles(t); now > descriptors {
		t.Errorf("%d descriptors, %d before", now, descriptors)
	}
	slices.Sort(l.took)
	if len(l.took) < departing()/2 {
		t.Fatalf("only %d calls reached the upstream", len(l.took))
	}
	at := func(part float64) time.Duration { return l.took[int(part*float64(len(l.took)-1))] }
	t.Logf("%d callers; the upstream hears of it after %v (median), %v (99 %%), %v (most)", departing(), at(0.5), at(0.99), at(1))
	if at(1) > soon {
		t.Errorf("the upstream went on for %v", at(1))
	}
}

// openEnded is an upstream that begins an answer and never ends it.
type openEnded struct {
	server *httptest.Server
	calls  atomic.Int64
	asked  sync.Map // by the caller's name: *visit
}

// visit is one call to it.
type visit struct{ arrived, gone chan struct{} }

// named is how a caller says who it is: in its words to the model.
var named = regexp.MustCompile(`caller-\d+`)

func newOpenEnded(t *testing.T) *openEnded {
	t.Helper()
	o := &openEnded{}
	o.server = httptest.NewServer(http.HandlerFunc(o.serve))
	t.Cleanup(o.server.Close)
	return o
}

func (o *openEnded) serve(w http.ResponseWriter, r *http.Request) {
	o.calls.Add(1)
	defer o.calls.Add(-1)
	raw, err := io.ReadAll(r.Body)
	found, _ := o.asked.Load(string(named.Find(raw)))
	v, known := found.(*visit)
	if err != nil || !known {
		return // shows as a call that never arrives
	}
	defer close(v.gone)
	p := harness.Protocol(strings.Split(r.URL.Path, "/")[1])
	if strings.Contains(string(raw), `"stream":true`) || strings.HasSuffix(r.URL.Path, ":streamGenerateContent") {
		w.Header().Set("Content-Type", "text/event-stream")
		begun := answer(p, true)
		_, _ = io.WriteString(w, strings.Join(begun.Pieces[:preambles[p]+1], ""))
		_ = http.NewResponseController(w).Flush()
	}
	close(v.arrived)
	<-r.Context().Done()
}

// leavers are callers who go away.
type leavers struct {
	url  string
	open *openEnded

	mu   sync.Mutex
	took []time.Duration
}

// leave makes a call and goes away: each third before an answer, in the middle of
// one, and while sending. The protocols of both sides take turns.
func (l *leavers) leave(t *testing.T, n int) {
	caller, behind := harness.Texts()[n/3%len(harness.Texts())], harness.Texts()[n/3/len(harness.Texts())%len(harness.Texts())]
	name := fmt.Sprintf("caller-%d", n)
	call := harness.CallOf(caller, string(behind), strings.Replace(caller.Hello(), `"hi"`, `"`+name+`"`, 1), n%3 == 1)
	if n%3 == 2 {
		if err := l.hangUp(call); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		return
	}
	v := &visit{arrived: make(chan struct{}), gone: make(chan struct{})}
	l.open.asked.Store(name, v)
	defer l.open.asked.Delete(name)
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	done := make(chan error, 1)
	go func() { done <- l.listen(ctx, call, n%3 == 1, leave) }()
	if n%3 == 0 {
		if !within(v.arrived) {
			t.Errorf("%s: the upstream was not asked", name)
			return
		}
		leave()
	}
	<-ctx.Done()
	left := time.Now()
	if !within(v.gone) {
		t.Errorf("%s: the upstream goes on", name)
	}
	l.mu.Lock()
	l.took = append(l.took, time.Since(left))
	l.mu.Unlock()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("%s: %v", name, err)
	}
}

func within(done <-chan struct{}) bool {
	timer := time.NewTimer(plenty)
	defer timer.Stop()
	select {
	case <-done:
		return true
	case <-timer.C:
		return false
	}
}

// listen makes the call, and in a stream leaves at the first text.
func (l *leavers) listen(ctx context.Context, call harness.Call, streamed bool, leave func()) error {
	defer leave()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := send(ctx, client, l.url, call)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	for lines := bufio.NewReader(resp.Body); ; {
		line, err := lines.ReadString('\n')
		if err != nil {
			return err
		}
		if streamed && strings.Contains(line, `"fi"`) {
			leave()
		}
	}
}

// hangUp sends half of a request.
func (l *leavers) hangUp(call harness.Call) error {
	conn, err := net.Dial("tcp", strings.TrimPrefix(l.url, "http://"))
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: gateway\r\nContent-Length: %d\r\n", call.Path, len(call.Body))
	if err == nil {
		err = call.Header.Write(conn)
	}
	if err == nil {
		_, err = io.WriteString(conn, "\r\n"+call.Body[:len(call.Body)/2])
	}
	return errors.Join(err, conn.Close())
}

// openFiles counts the process's descriptors, where the system lists them (Linux);
// elsewhere it is always 0.
func openFiles(t *testing.T) int {
	t.Helper()
	list, err := os.ReadDir("/proc/self/fd")
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	return len(list)
}
