package harness

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"strings"
	"sync"

	"github.com/genway/genway/test/cases/probe"
)

// Call is a request in full, for what Post, Stream and Open do not say.
type Call struct {
	Method string // default POST
	Path   string
	Header http.Header
	Body   string
}

// Answer is what a caller got.
type Answer struct {
	Status int
	Header http.Header
	Body   []byte
	// Trailer is what came behind the body.
	Trailer http.Header
	gateway *Gateway
}

// JSON reads the body as one document; the test fails if it is not.
func (a Answer) JSON() probe.Value {
	a.gateway.t.Helper()
	return probe.Parse(a.gateway.t, a.Body)
}

// Frames reads the body as a stream; the test fails if it is not a 200 and well
// framed.
func (a Answer) Frames() []Frame {
	a.gateway.t.Helper()
	if a.Status != http.StatusOK || !strings.HasPrefix(a.Header.Get("Content-Type"), "text/event-stream") {
		a.gateway.t.Fatalf("not a stream: %d %v\n%s", a.Status, a.Header, a.Body)
	}
	return parseFrames(a.gateway.t, a.Body)
}

// Call makes a call and reads the whole answer, even one that is cut.
func (g *Gateway) Call(c Call) Answer {
	g.t.Helper()
	resp, err := g.send(context.Background(), c)
	if err != nil {
		g.t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		g.t.Errorf("the answer is cut: %v", err)
	}
	return Answer{Status: resp.StatusCode, Header: resp.Header, Body: body, Trailer: resp.Trailer, gateway: g}
}

// CallOf returns the call of a protocol: path, headers and body complete.
func CallOf(p Protocol, model, body string, stream bool) Call {
	return Call{Path: p.path(model, stream), Header: p.headers(), Body: p.body(model, body, stream)}
}

// Post asks for one answer.
func (g *Gateway) Post(p Protocol, model, body string) Answer {
	g.t.Helper()
	return g.Call(CallOf(p, model, body, false))
}

// Stream asks for a stream and reads all of it; see Answer.Frames.
func (g *Gateway) Stream(p Protocol, model, body string) Answer {
	g.t.Helper()
	return g.Call(CallOf(p, model, body, true))
}

// Open asks for a stream to read a frame at a time. The context, when it ends,
// makes the caller go away.
func (g *Gateway) Open(ctx context.Context, p Protocol, model, body string) *Reader {
	g.t.Helper()
	return g.OpenCall(ctx, CallOf(p, model, body, true))
}

// OpenCall makes a call to read its stream as Open does.
func (g *Gateway) OpenCall(ctx context.Context, c Call) *Reader {
	g.t.Helper()
	resp, err := g.send(ctx, c)
	if err != nil {
		g.t.Fatal(err)
	}
	g.t.Cleanup(func() { _ = resp.Body.Close() })
	return newReader(g.t, resp)
}

func (g *Gateway) send(ctx context.Context, c Call) (*http.Response, error) {
	method := c.Method
	if method == "" {
		method = http.MethodPost
	}
	req, err := http.NewRequestWithContext(ctx, method, g.URL+c.Path, strings.NewReader(c.Body))
	if err != nil {
		return nil, err
	}
	if c.Header != nil {
		req.Header = c.Header.Clone()
	}
	client := &http.Client{Transport: &http.Transport{DialContext: g.dial, DisableKeepAlives: true, DisableCompression: true}}
	return client.Do(req)
}

// lockedBuffer is a buffer that several goroutines write to.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}
