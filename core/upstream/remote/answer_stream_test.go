package remote_test

import (
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/core/upstream"
	"github.com/genway/genway/core/upstream/remote"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/genway/genway/protocol/deferred"
)

// endless repeats a text, and ends after left bytes, by which the test fails.
type endless struct {
	text string
	at   int
	left int
}

func (e *endless) Read(p []byte) (n int, err error) {
	if e.left <= 0 {
		return 0, io.EOF
	}
	for n < len(p) {
		m := copy(p[n:], e.text[e.at:])
		n, e.at = n+m, (e.at+m)%len(e.text)
	}
	e.left -= n
	return n, nil
}

// A stream that goes on without content ends by its bytes: comments, with and without
// blank lines, fields that are no event, pings, and events that repeat the request.
func TestStreamsWithoutContent(t *testing.T) {
	for name, flood := range map[string]string{
		"comments": ": PROCESSING\n\n", "comments in one block": ": a\n", "blank lines": "\n", "unknown fields": "x: y\n\n",
		"ids": "id: 1\n\n", "empty data": "data:\n\n", "no choices": `data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[]}` + "\n\n",
	} {
		for _, passThrough := range []bool{false, true} {
			body := &endless{text: flood, left: 64 << 20}
			req, done := hello(), false
			if passThrough {
				req.Wire = &genwayv1.WireMessage{Protocol: genwayv1.Protocol_PROTOCOL_CHAT_COMPLETIONS, Json: []byte(`{"model":"m","messages":[]}`)}
			}
			u := chat(t, answered(http.StatusOK, body, "Content-Type", "text/event-stream"))
			err := u.StreamGenerateText(t.Context(), deferred.New(req), func(ev *genwayv1.StreamGenerateTextResponse) error {
				done = done || ev.GetCompleted() != nil
				return nil
			})
			if f := fault.From(err); f == nil || f.Kind != fault.BadUpstream || f.Reason != upstream.ReasonNoContent || done {
				t.Errorf("%s, passThrough %v: %v", name, passThrough, err)
			}
			if read := 64<<20 - body.left; read > 40<<20 {
				t.Errorf("%s, passThrough %v: %d bytes were read", name, passThrough, read)
			}
		}
	}
}

// Pings are no progress: they keep a call alive no longer than comments do.
func TestPingsAreNoProgress(t *testing.T) {
	_, req := native(t, genwayv1.Protocol_PROTOCOL_MESSAGES, "text/event-stream", "")
	ping := &endless{text: "event: ping\ndata: {\"type\":\"ping\"}\n\n", left: 64 << 20}
	u, err := remote.New(remote.Config{Protocol: genwayv1.Protocol_PROTOCOL_MESSAGES, BaseURL: "http://u.example", HTTP: answered(http.StatusOK, ping), FirstByte: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	err = u.StreamGenerateText(t.Context(), deferred.New(req), func(*genwayv1.StreamGenerateTextResponse) error { return nil })
	if fault.From(err) == nil || fault.From(err).Reason != upstream.ReasonNoContent {
		t.Errorf("%v", err)
	}
}
