package fake

import (
	"bytes"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
)

// Upstream returns its scripted answers in order, one a request. A request without
// an answer left fails the test and gets a 500.
type Upstream struct {
	// URL is its address, without a path.
	URL string

	t        *testing.T
	mu       sync.Mutex
	script   []Answer
	requests []Request
	closing  chan struct{}
	asked    chan struct{} // gets a request that has come, at most one at a time
}

// Request is what the upstream was asked.
type Request struct {
	Method string
	// Path is the escaped path, with the query if there is one.
	Path   string
	Header http.Header
	Body   []byte
	// Done is closed when the answer was sent or the caller has disconnected.
	Done <-chan struct{}
}

// New starts an upstream on 127.0.0.1 that stops with the test.
func New(t *testing.T) *Upstream {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return Serve(t, listener, "http://"+listener.Addr().String())
}

// Serve starts an upstream on a listener that the URL leads to. It stops with the test.
func Serve(t *testing.T, listener net.Listener, url string) *Upstream {
	t.Helper()
	u := &Upstream{URL: url, t: t, closing: make(chan struct{}), asked: make(chan struct{}, 1)}
	server := &httptest.Server{Listener: listener, Config: &http.Server{Handler: http.HandlerFunc(u.serve)}}
	server.Start()
	t.Cleanup(func() {
		close(u.closing)
		server.Close()
	})
	return u
}

// Answer adds answers to the script.
func (u *Upstream) Answer(answers ...Answer) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.script = append(u.script, answers...)
}

// Requests returns the requests so far, oldest first.
func (u *Upstream) Requests() []Request {
	u.mu.Lock()
	defer u.mu.Unlock()
	return slices.Clone(u.requests)
}

// Await waits for the first request.
func (u *Upstream) Await(t *testing.T) {
	t.Helper()
	for len(u.Requests()) == 0 {
		select {
		case <-u.asked:
		case <-t.Context().Done():
			t.Fatal("the upstream was not asked")
		}
	}
}

// Last returns the latest request; the test fails if there was none.
func (u *Upstream) Last(t *testing.T) Request {
	t.Helper()
	all := u.Requests()
	if len(all) == 0 {
		t.Fatal("the upstream was not asked")
	}
	return all[len(all)-1]
}

func (u *Upstream) serve(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	done := make(chan struct{})
	defer close(done)
	answer, ok := u.take(Request{Method: r.Method, Path: r.URL.RequestURI(), Header: r.Header.Clone(), Body: bytes.Clone(body), Done: done})
	if !ok {
		u.t.Errorf("unexpected request to the upstream: %s %s", r.Method, r.URL.Path)
		http.Error(w, `{"error":{"message":"nothing is scripted"}}`, http.StatusInternalServerError)
		return
	}
	answer.write(w, r, u.closing)
}

// take notes the request and returns its answer.
func (u *Upstream) take(r Request) (Answer, bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.requests = append(u.requests, r)
	select {
	case u.asked <- struct{}{}:
	default:
	}
	if len(u.script) == 0 {
		return Answer{}, false
	}
	next := u.script[0]
	u.script = u.script[1:]
	if next.instead != nil {
		if other, wrong := next.instead(r); wrong {
			return other, true
		}
	}
	return next, true
}
