package remote_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/core/call"
	"github.com/genway/genway/core/upstream/remote"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/genway/genway/protocol/deferred"
)

// pause is a time in which a scripted stream sends nothing.
type pause time.Duration

// script plays a stream in the time of the test: texts and pauses in turn. When
// the call ends, so does the stream.
func script(steps ...any) answering {
	return func(r *http.Request) (*http.Response, error) {
		_, _ = io.Copy(io.Discard, r.Body) // as a server does
		read, write := io.Pipe()
		go func() {
			for _, s := range steps {
				switch s := s.(type) {
				case string:
					if _, err := io.WriteString(write, s); err != nil {
						return
					}
				case pause:
					select {
					case <-time.After(time.Duration(s)):
					case <-r.Context().Done():
						_ = write.CloseWithError(r.Context().Err())
						return
					}
				}
			}
			_ = write.Close()
		}()
		return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: read, Request: r}, nil
	}
}

const (
	role     = `data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}]}` + "\n\n"
	piece    = `data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"content":"x"},"finish_reason":null}]}` + "\n\n"
	finish   = `data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}` + "\n\n"
	late     = `data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[],"usage":{"prompt_tokens":5,"completion_tokens":6,"total_tokens":11}}` + "\n\n"
	done     = "data: [DONE]\n\n"
	alive    = ": ping\n\n"
	overload = `data: {"error":{"message":"busy","type":"overloaded_error"}}` + "\n\n"
)

// outcome is what a streamed call sent, and when.
type outcome struct {
	kinds []string
	at    []time.Duration
	usage *genwayv1.Usage
	err   error
	took  time.Duration
}

func (h outcome) String() string { return strings.Join(h.kinds, " ") }

// playStream makes a streamed call in a bubble of its own. Its events are gathered until the adapter
// flushes them, as events for an edge that takes batches are; the time of an event is its flush's.
func playStream(t *testing.T, transport http.RoundTripper, change func(*remote.Config), passThrough bool) (h outcome) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		u := chat(t, transport, change)
		req := hello()
		if passThrough {
			req.Wire = &genwayv1.WireMessage{Protocol: genwayv1.Protocol_PROTOCOL_CHAT_COMPLETIONS, Json: []byte(`{"model":"m","stream":true,"messages":[]}`)}
		}
		record := &call.Record{}
		record.OnFlush = func() {
			for len(h.at) < len(h.kinds) {
				h.at = append(h.at, time.Since(begin))
			}
		}
		h.err = u.StreamGenerateText(call.With(t.Context(), record), deferred.New(req), func(ev *genwayv1.StreamGenerateTextResponse) error {
			var kind string
			switch p := ev.GetPayload().(type) {
			case *genwayv1.StreamGenerateTextResponse_Started:
				kind = "started"
			case *genwayv1.StreamGenerateTextResponse_PartDelta:
				kind = "text"
			case *genwayv1.StreamGenerateTextResponse_Completed:
				kind, h.usage = "completed", p.Completed.GetUsage()
			case *genwayv1.StreamGenerateTextResponse_Ping:
				kind = "ping"
			case *genwayv1.StreamGenerateTextResponse_Wire:
				kind = "frame"
			default:
				return nil
			}
			if h.kinds = append(h.kinds, kind); !record.Gathers {
				record.Flush()
			}
			return nil
		})
		record.Flush()
		h.took = time.Since(begin)
	})
	return h
}

func defaults(*remote.Config) {}

// Case S6: nothing is sent before the first content, and then everything.
func TestHeldUntilContent(t *testing.T) {
	for _, passThrough := range []bool{false, true} {
		h := playStream(t, script(role, alive, pause(9*time.Second), piece, finish, done), defaults, passThrough)
		if h.err != nil || len(h.at) < 3 || h.at[0] != 9*time.Second || h.at[1] != 9*time.Second {
			t.Errorf("passThrough %t: %v at %v: %v", passThrough, h, h.at, h.err)
		}
		for name, end := range map[string]string{"reported": overload, "cut": ""} {
			h = playStream(t, script(role, alive, pause(9*time.Second), end), defaults, passThrough)
			if len(h.kinds) != 0 || h.err == nil {
				t.Errorf("passThrough %t, %s: %v: %v", passThrough, name, h, h.err)
			}
		}
	}
}

// Case S2: events are held back for no longer than Config.Hold.
func TestHeldNoLongerThanAsked(t *testing.T) {
	h := playStream(t, script(role, pause(40*time.Second), piece, finish, done), defaults, false)
	if h.String() != "started text completed" || h.at[0] != 15*time.Second || h.at[1] != 40*time.Second {
		t.Errorf("%v at %v: %v", h, h.at, h.err)
	}
	h = playStream(t, script(pause(40*time.Second), role, piece, finish, done), func(c *remote.Config) { c.Hold = time.Second }, false)
	if h.String() != "ping started text completed" || h.at[0] != time.Second || h.at[1] != 40*time.Second {
		t.Errorf("%v at %v: %v", h, h.at, h.err)
	}
	slow := answering(func(r *http.Request) (*http.Response, error) {
		<-r.Context().Done()
		return nil, r.Context().Err()
	})
	h = playStream(t, slow, defaults, false)
	if f := fault.From(h.err); h.String() != "ping" || f == nil || f.Kind != fault.Timeout || h.took != 10*time.Minute {
		t.Errorf("%v after %v: %v", h, h.took, h.err)
	}
}

// Case S3: a stream ends with the answer, even if the upstream keeps it open.
func TestKeptOpen(t *testing.T) {
	beats := []any{}
	for range 100 {
		beats = append(beats, alive, pause(time.Second))
	}
	for _, c := range []struct {
		name  string
		steps []any
		usage int64
		took  time.Duration
	}{
		{"terminator, then heartbeats", append([]any{role, piece, finish, late, done}, beats...), 11, 5 * time.Second},
		{"no terminator, heartbeats", append([]any{role, piece, finish}, beats...), 0, 5 * time.Second},
		{"no terminator, usage comes late", append([]any{role, piece, finish, pause(2 * time.Second), late}, beats...), 11, 5 * time.Second},
		{"no terminator, end", []any{role, piece, finish, late}, 11, 0},
		{"half a line at the end", []any{role, piece, finish, late, "data: [DO"}, 11, 0},
		{"cut after the terminator", []any{role, piece, finish, late, done}, 11, 0},
	} {
		h := playStream(t, script(c.steps...), defaults, false)
		if h.err != nil || h.String() != "started text completed" || h.usage.GetTotalTokens() != c.usage || h.took != c.took {
			t.Errorf("%s: %v, %v after %v: %v", c.name, h, h.usage, h.took, h.err)
		}
	}
}

// A call of an upstream that stops in the middle is ended: after Idle when it is silent,
// after FirstByte when only heartbeats come.
func TestIdleStreams(t *testing.T) {
	beats := []any{role, piece}
	for range 1000 {
		beats = append(beats, alive, pause(time.Second))
	}
	for name, c := range map[string]struct {
		steps []any
		took  time.Duration
	}{
		"silent":     {[]any{role, piece, pause(time.Hour)}, 5 * time.Minute},
		"heartbeats": {beats, 10 * time.Minute},
	} {
		h := playStream(t, script(c.steps...), defaults, false)
		if f := fault.From(h.err); f == nil || f.Kind != fault.Timeout || h.took != c.took || h.String() != "started text" {
			t.Errorf("%s: %v after %v: %v", name, h, h.took, h.err)
		}
	}
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		_, err := chat(t, script(chatAnswer[:40], pause(time.Hour))).GenerateText(t.Context(), deferred.New(hello()))
		if f := fault.From(err); f == nil || f.Kind != fault.Timeout || time.Since(begin) != 5*time.Minute {
			t.Errorf("unary: %v after %v", err, time.Since(begin))
		}
	})
}

// An upstream that sends heartbeats while it thinks is waited for, and for much longer than one that is silent.
func TestHeartbeatsKeepCallsAlive(t *testing.T) {
	for name, beat := range map[string]string{"comments": ": PROCESSING\n\n", "events": "data: {\"choices\":[]}\n\n"} {
		var steps []any
		for range 30 {
			steps = append(steps, beat, pause(20*time.Second)) // twice as long as Idle in all
		}
		h := playStream(t, script(append(steps, role, piece, finish, late, done)...), func(c *remote.Config) { c.FirstByte = time.Hour }, false)
		if h.err != nil || h.took != 10*time.Minute || h.kinds[len(h.kinds)-1] != "completed" {
			t.Errorf("%s: %v after %v: %v", name, h, h.took, h.err)
		}
	}
}

// A caller that disconnects, or cannot be sent to, ends the upstream's call at once.
func TestDisconnects(t *testing.T) {
	unsendable := errors.New("nobody there")
	for name, leave := range map[string]func(context.CancelFunc) error{
		"disconnects":    func(cancel context.CancelFunc) error { cancel(); return nil },
		"cannot be sent": func(context.CancelFunc) error { return unsendable },
	} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			var upstream <-chan struct{}
			play := script(role, piece, pause(time.Hour))
			u := chat(t, answering(func(r *http.Request) (*http.Response, error) {
				upstream = r.Context().Done()
				return play(r)
			}))
			err := u.StreamGenerateText(ctx, deferred.New(hello()), func(*genwayv1.StreamGenerateTextResponse) error { return leave(cancel) })
			select {
			case <-upstream:
			default:
				t.Errorf("%s: the upstream's call goes on", name)
			}
			if f := fault.From(err); name == "disconnects" && f.Kind != fault.Cancelled || name != "disconnects" && !errors.Is(err, unsendable) {
				t.Errorf("%s: %v", name, err)
			}
		})
	}
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := chat(t, script(chatAnswer[:40], pause(time.Hour))).GenerateText(ctx, deferred.New(hello()))
		if f := fault.From(err); f == nil || f.Kind != fault.Timeout {
			t.Errorf("a deadline: %v", err)
		}
	})
}

// No event waits for one that the upstream has not sent: what has arrived goes on before the wait, in
// events and as a heartbeat.
func TestNothingWaitsForTheUpstream(t *testing.T) {
	for _, passThrough := range []bool{false, true} {
		h := playStream(t, script(role+piece, pause(time.Second), piece+piece, pause(time.Second), finish+late+done), defaults, passThrough)
		var at []time.Duration
		for i, kind := range h.kinds {
			if kind == "text" || kind == "frame" {
				at = append(at, h.at[i])
			}
		}
		if passThrough {
			at = at[1:4] // without the role, the finish, the usage and the end
		}
		if h.err != nil || !slices.Equal(at, []time.Duration{0, time.Second, time.Second}) {
			t.Errorf("passThrough %t: %v at %v: %v", passThrough, h, h.at, h.err)
		}
		h = playStream(t, script(pause(time.Minute), role+piece+finish+late+done), func(c *remote.Config) { c.Hold = time.Second }, passThrough)
		if h.err != nil || h.kinds[0] != "ping" || h.at[0] != time.Second {
			t.Errorf("passThrough %t: %v at %v: %v", passThrough, h, h.at, h.err)
		}
	}
}
