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
	"github.com/genway/genway/test/cases/fake"
	"github.com/genway/genway/test/cases/harness"
	"github.com/genway/genway/test/faults/faulty"
)

// relief is a gateway whose model "m" is served by a faulty upstream and, when that fails, by
// an upstream that is well.
type relief struct {
	*harness.Gateway
	faulty *faulty.Upstream
	well   *fake.Upstream
}

// newRelief breaks answers of one protocol and falls back to another.
func newRelief(t *testing.T, f faulty.Fault, m faulty.Moment, first, second harness.Protocol, streamed bool, hold time.Duration) relief {
	t.Helper()
	u, err := faulty.New(f, m, answer(first, streamed))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(u.Close)
	well := fake.New(t)
	target := func(p harness.Protocol, url string, dialed *http.Transport) route.Target {
		t.Cleanup(dialed.CloseIdleConnections)
		config := remote.Config{Protocol: p.ID(), BaseURL: url, HTTP: dialed, FirstByte: plenty, Idle: plenty, Hold: hold}
		if f == faulty.Stall || f == faulty.ConnectStall {
			config.FirstByte, config.Idle = silenceLimit/3, silenceLimit/3
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
	g := harness.New(t, harness.Config{Wrap: func(upstream.Upstream) upstream.Upstream { return table }})
	return relief{g, u, well}
}

// good has the other upstream answer well.
func (r relief) good(p harness.Protocol, streamed bool) {
	a := answer(p, streamed)
	text := strings.Join(a.Pieces, "")
	if streamed {
		r.well.Answer(fake.Stream(fake.Bytes(text)))
	} else {
		r.well.Answer(fake.JSON(text))
	}
}

// judged reads an answer with the witness of the table.
func judged(t *testing.T, p harness.Protocol, streamed bool, a harness.Answer) outcome {
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
	for _, f := range faulty.Faults() {
		if f == faulty.Trickle {
			continue // it is slow, and no failure
		}
		for _, m := range []faulty.Moment{faulty.BeforeHeaders, faulty.AfterHeaders, faulty.BeforeContent} {
			for _, how := range []bool{false, true} {
				if faulty.Meaningless(f, m, how) != "" {
					continue
				}
				t.Run(cell{fault: f, moment: m, caller: harness.Messages, upstream: harness.Messages, streamed: how}.String(), func(t *testing.T) {
					r := newRelief(t, f, m, harness.Messages, harness.Chat, how, plenty)
					r.good(harness.Chat, how)
					var a harness.Answer
					if how {
						a = r.Stream(harness.Messages, "m", harness.Messages.Hello())
					} else {
						a = r.Post(harness.Messages, "m", harness.Messages.Hello())
					}
					if !how && m != faulty.BeforeHeaders {
						if got := judged(t, harness.Messages, how, a); got.complete || len(r.well.Requests()) != 0 || a.Header.Get("X-Genway-Attempts") != "1" {
							t.Errorf("%+v after %s attempts: %s", got, a.Header.Get("X-Genway-Attempts"), a.Body)
						}
						return
					}
					if got := judged(t, harness.Messages, how, a); !got.complete {
						t.Errorf("%+v: %s", got, a.Body)
					}
					if n := strings.Count(string(a.Body), "message_start\""); how && n != 1 || strings.Contains(string(a.Body), "msg_1") {
						t.Errorf("%d beginnings, or the first upstream's: %s", n, a.Body)
					}
					if a.Header.Get("X-Genway-Upstream") != "chat" || a.Header.Get("X-Genway-Attempts") != "2" {
						t.Errorf("served by %s after %s attempts", a.Header.Get("X-Genway-Upstream"), a.Header.Get("X-Genway-Attempts"))
					}
					if first, second := r.faulty.Calls(), len(r.well.Requests()); first != 1 || second != 1 {
						t.Errorf("the upstreams were asked %d and %d times", first, second)
					}
				})
			}
		}
	}
}

// After content nothing is asked again, though there is somebody to ask (case S7).
func TestNoFallbackAfterContent(t *testing.T) {
	for _, f := range []faulty.Fault{faulty.TLSFailure, faulty.Reset, faulty.HalfClose, faulty.Stall, faulty.Garbage, faulty.Garbled, faulty.Truncation} {
		for _, m := range []faulty.Moment{faulty.Middle, faulty.BeforeEnd} {
			t.Run(string(f)+", "+string(m), func(t *testing.T) {
				r := newRelief(t, f, m, harness.Messages, harness.Chat, true, plenty)
				a := r.Stream(harness.Messages, "m", harness.Messages.Hello())
				if got := judged(t, harness.Messages, true, a); !got.inBand {
					t.Errorf("%+v: %s", got, a.Body)
				}
				if n := len(r.well.Requests()); n != 0 || strings.Count(string(a.Body), "event: message_start") != 1 {
					t.Errorf("the other upstream was asked %d times: %s", n, a.Body)
				}
			})
		}
	}
}

// A caller that has got nothing but heartbeats has nothing of an answer
// yet: another upstream may still give one.
func TestFallbackAfterHeartbeat(t *testing.T) {
	for _, caller := range harness.Texts() {
		t.Run(string(caller), func(t *testing.T) {
			r := newRelief(t, faulty.Stall, faulty.AfterHeaders, caller, harness.Chat, true, silenceLimit/30)
			r.good(harness.Chat, true)
			a := r.Stream(caller, "m", caller.Hello())
			if got := judged(t, caller, true, a); !got.complete {
				t.Errorf("%+v: %s", got, a.Body)
			}
		})
	}
}
