package remote_test

import (
	"bufio"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/core/call"
	"github.com/genway/genway/core/upstream/remote"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/genway/genway/protocol/deferred"
)

// result is what a caller gets of an answer.
type result struct {
	text   string
	done   bool
	err    error
	record *call.Record
}

// ask makes a call, unary or streamed, for a caller of the same protocol or of another.
func ask(t *testing.T, u *remote.Upstream, streamed, passThrough bool) result {
	t.Helper()
	h := result{record: &call.Record{}}
	ctx := call.With(t.Context(), h.record)
	req := hello()
	if passThrough {
		req.Wire = &genwayv1.WireMessage{Protocol: genwayv1.Protocol_PROTOCOL_CHAT_COMPLETIONS, Json: []byte(`{"model":"m","messages":[]}`)}
	}
	if !streamed {
		var resp *genwayv1.GenerateTextResponse
		resp, h.err = u.GenerateText(ctx, deferred.New(req))
		h.done = resp != nil
		if passThrough {
			h.text = string(resp.GetWire().GetJson())
		} else if h.done {
			h.text = resp.GetCandidates()[0].GetParts()[0].GetText().GetText()
		}
		return h
	}
	h.err = u.StreamGenerateText(ctx, deferred.New(req), func(ev *genwayv1.StreamGenerateTextResponse) error {
		h.text += ev.GetPartDelta().GetText() + string(ev.GetWire().GetData())
		h.done = h.done || ev.GetCompleted() != nil
		return nil
	})
	return h
}

// record returns an answer as it goes over a connection.
func record(answer func(io.Writer)) string {
	var r strings.Builder
	answer(&r)
	return r.String()
}

// A connection that breaks at any byte of an answer breaks one call: it is never taken
// for a whole answer, and never made again, however it breaks.
func TestAnswersThatBreakAtEveryByte(t *testing.T) {
	t.Parallel()
	breaks := map[string]func(*net.TCPConn){
		"closed": func(*net.TCPConn) {},
		"reset":  func(c *net.TCPConn) { _ = c.SetLinger(0) },
	}
	for _, streamed := range []bool{false, true} {
		whole := record(reply)
		if streamed {
			whole = record(replyStreamed)
		}
		// The event with the reason of the end ends a stream, the last byte a body.
		enough := len(whole)
		if streamed {
			const last = `"finish_reason":"stop"}]}` + "\n\n"
			enough = strings.Index(whole, last) + len(last)
		}
		for name, broken := range breaks {
			for _, passThrough := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s, streamed %v, passThrough %v", name, streamed, passThrough), func(t *testing.T) {
					t.Parallel()
					var asked tally
					bytes := make(chan int, 1)
					u := hangingUp(t, func(conn *net.TCPConn) {
						if _, ok := read(bufio.NewReader(conn)); ok {
							n := <-bytes
							asked.add(strconv.Itoa(n))
							_, _ = io.WriteString(conn, whole[:n])
							broken(conn)
						}
					})
					for n := range len(whole) {
						bytes <- n
						h := ask(t, u, streamed, passThrough)
						f := fault.From(h.err)
						switch {
						case h.err == nil && (n < enough || !h.done):
							t.Errorf("%d bytes are taken for the answer: %+v", n, h)
						case h.err != nil && f.Kind != fault.BadUpstream && f.Kind != fault.Unavailable:
							t.Errorf("%d bytes: %v", n, f)
						case h.record.Calls != 1 || asked.all()[strconv.Itoa(n)] != 1:
							t.Errorf("%d bytes: asked %d times", n, asked.all()[strconv.Itoa(n)])
						}
					}
				})
			}
		}
	}
}

// Informational answers are no answer: neither many nor slow ones keep a call.
func TestInformationalAnswers(t *testing.T) {
	const hint = "HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n"
	flood := hangingUp(t, func(conn *net.TCPConn) {
		if _, ok := read(bufio.NewReader(conn)); ok {
			for {
				if _, err := io.WriteString(conn, hint); err != nil {
					return
				}
			}
		}
	})
	if h := ask(t, flood, false, false); fault.From(h.err) == nil || fault.From(h.err).Kind != fault.Unavailable {
		t.Errorf("a flood: %+v", h)
	}
	slow := hangingUp(t, func(conn *net.TCPConn) {
		if _, ok := read(bufio.NewReader(conn)); ok {
			_, _ = io.WriteString(conn, hint)
			_, _ = io.Copy(io.Discard, conn) // until the caller hangs up
		}
	}, func(c *remote.Config, _ *remote.Way) { c.FirstByte = 50 * time.Millisecond })
	if h := ask(t, slow, true, false); fault.From(h.err) == nil || fault.From(h.err).Kind != fault.Timeout {
		t.Errorf("one: %+v", h)
	}
	switching := hangingUp(t, func(conn *net.TCPConn) {
		if _, ok := read(bufio.NewReader(conn)); ok {
			_, _ = io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n")
			_, _ = io.Copy(io.Discard, conn) // until the caller hangs up
		}
	}, func(c *remote.Config, _ *remote.Way) { c.Idle = 10 * time.Second })
	if h := ask(t, switching, false, false); fault.From(h.err) == nil || fault.From(h.err).Kind != fault.BadUpstream {
		t.Errorf("another protocol: %+v", h)
	}
	few := hangingUp(t, func(conn *net.TCPConn) {
		if _, ok := read(bufio.NewReader(conn)); ok {
			_, _ = io.WriteString(conn, hint+hint)
			reply(conn)
		}
	})
	if h := ask(t, few, false, false); h.err != nil || !h.done {
		t.Errorf("two, and the answer: %+v", h)
	}
}

// Headers are a beginning, and no answer: what hangs behind them ends in time. Bytes that
// come one at a time are progress.
func TestAnswersThatHangOrDrip(t *testing.T) {
	t.Parallel()
	for _, streamed := range []bool{false, true} {
		whole := record(reply)
		if streamed {
			whole = record(replyStreamed)
		}
		body := strings.Index(whole, "\r\n\r\n") + 4
		for _, sent := range []int{body, body + 10, len(whole) / 2} {
			t.Run(fmt.Sprintf("streamed %v, %d bytes", streamed, sent), func(t *testing.T) {
				t.Parallel()
				u := hangingUp(t, func(conn *net.TCPConn) {
					if _, ok := read(bufio.NewReader(conn)); ok {
						_, _ = io.WriteString(conn, whole[:sent])
						_, _ = io.Copy(io.Discard, conn) // until the caller hangs up
					}
				}, func(c *remote.Config, _ *remote.Way) { c.Idle, c.FirstByte = time.Second, 10*time.Second })
				if h := ask(t, u, streamed, true); fault.From(h.err) == nil || fault.From(h.err).Kind != fault.Timeout || h.record.AnswerBegun() == streamed {
					t.Errorf("%+v", h)
				}
			})
		}
		u := hangingUp(t, func(conn *net.TCPConn) {
			_ = conn.SetNoDelay(true)
			if _, ok := read(bufio.NewReader(conn)); ok {
				for i := range whole {
					_, _ = io.WriteString(conn, whole[i:i+1])
				}
			}
		})
		if h := ask(t, u, streamed, false); h.err != nil || h.text != "x" {
			t.Errorf("streamed %v, a byte at a time: %+v", streamed, h)
		}
	}
}

// HTTP/2 says which calls were not read: an upstream that leaves after every answer costs
// none, and one that breaks an answer off breaks one call.
func TestUpstreamsOfHTTP2(t *testing.T) {
	var asked tally
	var cut sync.Map
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		asked.add(string(body))
		if r.ProtoMajor != 2 {
			t.Errorf("asked by %s", r.Proto)
		}
		if bytes, ok := cut.Load("at"); ok {
			_, _ = io.WriteString(w, aChat[:bytes.(int)])
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler) // RST_STREAM
		}
		w.Header().Set("Connection", "close") // GOAWAY
		_, _ = io.WriteString(w, aChat)
	}))
	server.EnableHTTP2 = true
	server.StartTLS()
	t.Cleanup(server.Close)
	trusted := x509.NewCertPool()
	trusted.AddCert(server.Certificate())
	transport := remote.NewTransport(remote.Way{Direct: true, TLS: &tls.Config{RootCAs: trusted}})
	t.Cleanup(transport.CloseIdleConnections)
	u := chat(t, transport, func(c *remote.Config) { c.BaseURL = server.URL })
	var callers sync.WaitGroup
	for caller := range 8 {
		callers.Go(func() {
			for n := range 40 {
				if err := greet(t, u, fmt.Sprintf("%d of %d", n, caller), false); err != nil {
					t.Errorf("%d of %d: %v", n, caller, err)
				}
			}
		})
	}
	callers.Wait()
	if n := len(asked.all()); n != 8*40 {
		t.Errorf("%d requests were executed", n)
	}
	for at := range len(aChat) {
		cut.Store("at", at)
		if err := greet(t, u, fmt.Sprintf("cut at %d", at), false); fault.From(err) == nil {
			t.Errorf("%d bytes are taken for the answer", at)
		}
	}
	for name, n := range asked.all() {
		if n != 1 {
			t.Errorf("%s was executed %d times", name, n)
		}
	}
}
