package faults_test

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/genway/genway/core/route"
	"github.com/genway/genway/core/upstream"
	"github.com/genway/genway/core/upstream/remote"
	"github.com/genway/genway/internal/cases/fake"
	"github.com/genway/genway/internal/cases/gate"
	"github.com/genway/genway/internal/faults/wreck"
)

// relief is a gateway whose model "m" is served by a wreck and, when that fails, by
// an upstream that is well.
type relief struct {
	*gate.Gate
	wreck *wreck.Upstream
	well  *fake.Upstream
}

// newRelief breaks answers of one protocol and falls back to another.
func newRelief(t *testing.T, f wreck.Fault, m wreck.Moment, first, second gate.Protocol, streamed bool, hold time.Duration) relief {
	t.Helper()
	u, err := wreck.New(f, m, answer(first, streamed))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(u.Close)
	well := fake.New(t)
	target := func(p gate.Protocol, url string, dialed *http.Transport) route.Target {
		t.Cleanup(dialed.CloseIdleConnections)
		config := remote.Config{Protocol: protocols[p], BaseURL: url, HTTP: dialed, FirstByte: plenty, Idle: plenty, Hold: hold}
		if f == wreck.Stall || f == wreck.ConnectStall {
			config.FirstByte, config.Idle = patience/3, patience/3
		}
		adapter, err := remote.New(config)
		if err != nil {
			t.Fatal(err)
		}
		return route.Target{Name: string(p), Upstream: adapter, Protocol: config.Protocol, Model: "m"}
	}
	broken := remote.NewTransport(remote.Way{})
	broken.DialContext, broken.TLSClientConfig = u.Dial, u.ClientTLS()
	table := &routes{}
	table.add("m", target(first, u.URL, broken), target(second, well.URL, remote.NewTransport(remote.Way{})))
	g := gate.New(t, gate.Config{Wrap: func(upstream.Upstream) upstream.Upstream { return table }})
	return relief{g, u, well}
}

// good has the other upstream answer well.
func (r relief) good(p gate.Protocol, streamed bool) {
	a := answer(p, streamed)
	text := strings.Join(a.Pieces, "")
	if streamed {
		r.well.Answer(fake.Stream(fake.Bytes(text)))
	} else {
		r.well.Answer(fake.JSON(text))
	}
}

// judged reads an answer with the witness of the table.
func judged(t *testing.T, p gate.Protocol, streamed bool, a gate.Answer) outcome {
	t.Helper()
	got, err := judge(p, streamed, false, &http.Response{StatusCode: a.Status, Header: a.Header, Body: io.NopCloser(bytes.NewReader(a.Body))})
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// Until an answer has begun, connecting and the first bytes belong to the attempt:
// whatever breaks there, the next upstream answers, and its answer is the only one
// (cases S6, S12). A stream begins with its content, a unary answer with its headers: no
// other upstream is asked after that (case P4).
func TestFallback(t *testing.T) {
	for _, f := range wreck.Faults() {
		if f == wreck.Trickle {
			continue // it is slow, and no failure
		}
		for _, m := range []wreck.Moment{wreck.BeforeHeaders, wreck.AfterHeaders, wreck.BeforeContent} {
			for _, how := range []bool{false, true} {
				if wreck.Meaningless(f, m, how) != "" {
					continue
				}
				t.Run(cell{f, m, gate.Messages, gate.Messages, how}.String(), func(t *testing.T) {
					r := newRelief(t, f, m, gate.Messages, gate.Chat, how, plenty)
					r.good(gate.Chat, how)
					var a gate.Answer
					if how {
						a = r.Stream(gate.Messages, "m", gate.Messages.Hello())
					} else {
						a = r.Post(gate.Messages, "m", gate.Messages.Hello())
					}
					if !how && m != wreck.BeforeHeaders {
						if got := judged(t, gate.Messages, how, a); got.complete || len(r.well.Requests()) != 0 || a.Header.Get("X-Genway-Attempts") != "1" {
							t.Errorf("%+v after %s attempts: %s", got, a.Header.Get("X-Genway-Attempts"), a.Body)
						}
						return
					}
					if got := judged(t, gate.Messages, how, a); !got.complete {
						t.Errorf("%+v: %s", got, a.Body)
					}
					if n := strings.Count(string(a.Body), "message_start\""); how && n != 1 || strings.Contains(string(a.Body), "msg_1") {
						t.Errorf("%d beginnings, or the first upstream's: %s", n, a.Body)
					}
					if a.Header.Get("X-Genway-Upstream") != "chat" || a.Header.Get("X-Genway-Attempts") != "2" {
						t.Errorf("served by %s after %s attempts", a.Header.Get("X-Genway-Upstream"), a.Header.Get("X-Genway-Attempts"))
					}
					if first, second := r.wreck.Calls(), len(r.well.Requests()); first != 1 || second != 1 {
						t.Errorf("the upstreams were asked %d and %d times", first, second)
					}
				})
			}
		}
	}
}

// After content nothing is asked again, though there is somebody to ask (case S7).
func TestNoFallbackAfterContent(t *testing.T) {
	for _, f := range []wreck.Fault{wreck.TLSFailure, wreck.Reset, wreck.HalfClose, wreck.Stall, wreck.Garbage, wreck.Garbled, wreck.Truncation} {
		for _, m := range []wreck.Moment{wreck.Middle, wreck.BeforeEnd} {
			t.Run(string(f)+", "+string(m), func(t *testing.T) {
				r := newRelief(t, f, m, gate.Messages, gate.Chat, true, plenty)
				a := r.Stream(gate.Messages, "m", gate.Messages.Hello())
				if got := judged(t, gate.Messages, true, a); !got.inBand {
					t.Errorf("%+v: %s", got, a.Body)
				}
				if n := len(r.well.Requests()); n != 0 || strings.Count(string(a.Body), "event: message_start") != 1 {
					t.Errorf("the other upstream was asked %d times: %s", n, a.Body)
				}
			})
		}
	}
}

// A caller who has been told to wait, and nothing else, has nothing of an answer
// yet: another upstream may still give one.
func TestFallbackAfterHeartbeat(t *testing.T) {
	for _, caller := range gate.Texts() {
		t.Run(string(caller), func(t *testing.T) {
			r := newRelief(t, wreck.Stall, wreck.AfterHeaders, caller, gate.Chat, true, patience/30)
			r.good(gate.Chat, true)
			a := r.Stream(caller, "m", caller.Hello())
			if got := judged(t, caller, true, a); !got.complete {
				t.Errorf("%+v: %s", got, a.Body)
			}
		})
	}
}
