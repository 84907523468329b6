package gateway_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/gateway"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

// streamed are the four that stream, with how each asks for it.
var streamed = []struct{ name, path, body, end string }{
	{"chat", "/v1/chat/completions", `{"model":"m","stream":true,"messages":[{"role":"user","content":"a"}]}`, "data: [DONE]\n\n"},
	{"responses", "/v1/responses", `{"model":"m","stream":true,"input":"a"}`, "response.completed"},
	{"messages", "/v1/messages", `{"model":"m","stream":true,"max_tokens":9,"messages":[{"role":"user","content":"a"}]}`, "event: message_stop"},
	{"generatecontent", "/v1beta/models/m:streamGenerateContent?alt=sse", `{"contents":[{"parts":[{"text":"a"}]}]}`, `"finishReason":"STOP"`},
	{"interactions", "/v1beta/interactions", `{"model":"m","stream":true,"input":"a"}`, "data: [DONE]\n\n"},
}

func TestStreams(t *testing.T) {
	e := serve(t, nil)
	for _, p := range streamed {
		r := e.do(t, http.MethodPost, p.path, right(p.name), p.body)
		if r.status != http.StatusOK || !strings.HasPrefix(r.header.Get("Content-Type"), "text/event-stream") || !strings.Contains(r.body, p.end) {
			t.Errorf("%s: %d %v\n%s", p.name, r.status, r.header, r.body)
		}
		if strings.Contains(r.body, "\nid:") || !strings.HasSuffix(r.body, "\n\n") {
			t.Errorf("%s is framed wrongly:\n%s", p.name, r.body)
		}
	}
}

// generateContent without alt=sse streams one JSON array.
func TestArrayStream(t *testing.T) {
	e := serve(t, nil)
	r := e.do(t, http.MethodPost, "/v1/models/m:streamGenerateContent", right("generatecontent"), streamed[3].body)
	var chunks []struct {
		Candidates []struct{ FinishReason string }
	}
	if err := json.Unmarshal([]byte(r.body), &chunks); err != nil || r.header.Get("Content-Type") != "application/json" || len(chunks) < 2 {
		t.Fatalf("%v %v\n%s", err, r.header, r.body)
	}
	if last := chunks[len(chunks)-1]; last.Candidates[0].FinishReason != "STOP" {
		t.Errorf("ends with %+v", last)
	}
}

// begin sends the beginning of an answer.
func begin(send func(*genwayv1.StreamGenerateTextResponse) error) error {
	for _, ev := range []proto.Message{
		&genwayv1.TextStarted{Id: "gen_1", Model: "m"},
		&genwayv1.PartStarted{Part: &genwayv1.Part{Kind: &genwayv1.Part_Text{Text: &genwayv1.Text{}}}},
		&genwayv1.PartDelta{Delta: &genwayv1.PartDelta_Text{Text: "begun"}},
	} {
		if err := send(codec.Event(ev)); err != nil {
			return err
		}
	}
	return nil
}

// Cases S4 and S5: a stream that fails or is cut says so in the protocol's own
// event and never ends like a success.
func TestCutStreams(t *testing.T) {
	overloaded := detailed(fault.New(fault.Overloaded, "X", "too many cooks"))
	for name, end := range map[string]error{"cut": nil, "failed": overloaded, "core lost": status.Error(codes.Unavailable, "secret text")} {
		t.Run(name, func(t *testing.T) {
			e := serve(t, nil)
			e.core.stream = func(_ context.Context, send func(*genwayv1.StreamGenerateTextResponse) error) error {
				if err := begin(send); err != nil {
					return err
				}
				return end
			}
			for _, p := range streamed {
				r := e.do(t, http.MethodPost, p.path, right(p.name), p.body)
				if r.status != http.StatusOK || !strings.Contains(r.body, "begun") || !strings.Contains(r.body, "error") {
					t.Errorf("%s: %d\n%s", p.name, r.status, r.body)
				}
				if p.name != "chat" && strings.Contains(r.body, p.end) {
					t.Errorf("%s ends like a success:\n%s", p.name, r.body)
				}
				if strings.Contains(r.body, `"finish_reason":"stop"`) || strings.Contains(r.body, "secret text") {
					t.Errorf("%s: %s", p.name, r.body)
				}
			}
			array := e.do(t, http.MethodPost, "/v1/models/m:streamGenerateContent", right("generatecontent"), streamed[3].body)
			var chunks []map[string]any
			if err := json.Unmarshal([]byte(array.body), &chunks); err != nil || chunks[len(chunks)-1]["error"] == nil {
				t.Errorf("array: %v\n%s", err, array.body)
			}
		})
	}
}

// Case S8: a stream that fails before its first event is a plain error.
func TestEarlyFailuresArePlainErrors(t *testing.T) {
	e := serve(t, nil)
	limited := fault.New(fault.RateLimited, "X", "slow down")
	limited.RetryAfter = 3 * time.Second
	for _, c := range []struct {
		end    error
		status int
	}{{detailed(limited), 429}, {nil, 502}} {
		e.core.stream = func(context.Context, func(*genwayv1.StreamGenerateTextResponse) error) error { return c.end }
		for _, p := range streamed {
			r := e.do(t, http.MethodPost, p.path, right(p.name), p.body)
			native(t, p.name, r, c.status)
			if c.status == http.StatusTooManyRequests && r.header.Get("Retry-After") != "3" {
				t.Errorf("%s: %v", p.name, r.header)
			}
		}
	}
}

// Case S2: a silent stream says that it is alive, in the protocol's own way.
func TestHeartbeats(t *testing.T) {
	e := serve(t, func(c *gateway.Config) { c.Heartbeat = 5 * time.Millisecond })
	for _, p := range streamed {
		t.Run(p.name, func(t *testing.T) {
			alive := make(chan struct{})
			e.core.stream = func(ctx context.Context, send func(*genwayv1.StreamGenerateTextResponse) error) error {
				if err := begin(send); err != nil {
					return err
				}
				select { // silent until the caller has seen a heartbeat
				case <-alive:
				case <-ctx.Done():
					return ctx.Err()
				}
				for _, ev := range []proto.Message{&genwayv1.PartCompleted{}, &genwayv1.TextCompleted{Candidates: []*genwayv1.CandidateEnd{{StopReason: genwayv1.StopReason_STOP_REASON_END_TURN}}}} {
					if err := send(codec.Event(ev)); err != nil {
						return err
					}
				}
				return nil
			}
			req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, e.URL+p.path, strings.NewReader(p.body))
			if err != nil {
				t.Fatal(err)
			}
			req.Header = right(p.name)
			resp, err := e.Client().Do(req)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			beat := map[string]string{"messages": "event: ping", "generatecontent": ""}[p.name]
			if p.name == "chat" || p.name == "responses" || p.name == "interactions" {
				beat = ": ping"
			}
			pinged, empty := false, 0
			for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
				line := lines.Text()
				if line == "" {
					empty++
				} else {
					empty = 0
				}
				if !pinged && (line == beat && beat != "" || beat == "" && empty > 1) {
					pinged = true
					close(alive)
				}
				if p.name == "generatecontent" && (strings.HasPrefix(line, ":") || strings.HasPrefix(line, "event:")) {
					t.Errorf("a line its SDKs fail on: %q", line)
				}
			}
			if !pinged {
				t.Error("no heartbeat")
			}
		})
	}
}

// A caller that disconnects ends the core's call.
func TestGoneCallersCancel(t *testing.T) {
	e := serve(t, nil)
	for _, p := range streamed {
		cancelled := make(chan struct{})
		e.core.stream = func(ctx context.Context, send func(*genwayv1.StreamGenerateTextResponse) error) error {
			if err := begin(send); err != nil {
				return err
			}
			<-ctx.Done()
			close(cancelled)
			return ctx.Err()
		}
		ctx, leave := context.WithCancel(t.Context())
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, e.URL+p.path, strings.NewReader(p.body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header = right(p.name)
		resp, err := e.Client().Do(req)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := resp.Body.Read(make([]byte, 1)); err != nil {
			t.Fatal(err)
		}
		leave()
		resp.Body.Close()
		select {
		case <-cancelled:
		case <-time.After(time.Minute):
			t.Fatalf("%s: the core's call goes on", p.name)
		}
	}
}

// Case S9: compressed bodies are taken, within the same bound.
func TestCompressedBodies(t *testing.T) {
	e := serve(t, func(c *gateway.Config) { c.MaxBodyBytes = 1000 })
	squeeze := func(text string) string {
		var b bytes.Buffer
		w := gzip.NewWriter(&b)
		if _, err := w.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	h := right("chat")
	h.Set("Content-Encoding", "gzip")
	if r := e.do(t, http.MethodPost, protocols[0].path, h, squeeze(protocols[0].body)); r.status != http.StatusOK {
		t.Errorf("got %d %s", r.status, r.body)
	}
	bomb := squeeze(strings.Repeat(" ", 100_000))
	native(t, "chat", e.do(t, http.MethodPost, protocols[0].path, h, bomb), http.StatusRequestEntityTooLarge)
}
