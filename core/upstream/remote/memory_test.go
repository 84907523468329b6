package remote_test

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/core/upstream"
	"github.com/genway/genway/core/upstream/remote"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/genway/genway/internal/arena"
	"github.com/genway/genway/protocol/deferred"
)

// zipped compresses text over and over, up to about size bytes.
func zipped(t *testing.T, head, text, tail string, size int) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, _ = io.WriteString(z, head)
	for n := 0; n < size; n += len(text) {
		_, _ = io.WriteString(z, text)
	}
	_, _ = io.WriteString(z, tail)
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// The bound of an answer holds after decompression, for each way to read one, and what
// is larger is the upstream's fault.
func TestInflatedAnswersAreBounded(t *testing.T) {
	const most = 1 << 20
	text := strings.Repeat("x", 1<<16)
	for _, passThrough := range []bool{false, true} {
		for name, body := range map[string][]byte{
			"unary": zipped(t, `{"id":"`, text, `"}`, 8*most), "event": zipped(t, `data: {"id":"`, text, "\"}\n\n", 8*most), "comment": zipped(t, ": ", text, "\n\n", 8*most),
		} {
			u := chat(t, answered(http.StatusOK, bytes.NewReader(body), "Content-Encoding", "gzip"), func(c *remote.Config) { c.MaxAnswerBytes = most })
			h := ask(t, u, name != "unary", passThrough)
			if f := fault.From(h.err); f == nil || f.Kind != fault.BadUpstream || !strings.Contains(f.Message, "too large") {
				t.Errorf("%s, passThrough %v: %v", name, passThrough, h.err)
			}
		}
	}
	// A failure keeps its status, and what was read of its body.
	refusal := zipped(t, `{"error":{"message":"`, text, `"}}`, 8*most)
	_, err := chat(t, answered(http.StatusTooManyRequests, bytes.NewReader(refusal), "Content-Encoding", "gzip", "Retry-After", "3")).GenerateText(t.Context(), deferred.New(hello()))
	if f := fault.From(err); f == nil || f.Kind != fault.RateLimited || f.RetryAfter == 0 {
		t.Errorf("a refusal: %v", err)
	}
	_, err = chat(t, answered(http.StatusTooManyRequests, strings.NewReader("no gzip"), "Content-Encoding", "gzip", "Retry-After", "3")).GenerateText(t.Context(), deferred.New(hello()))
	if f := fault.From(err); f == nil || f.Kind != fault.RateLimited || f.RetryAfter == 0 {
		t.Errorf("a refusal that cannot be read: %v", err)
	}
}

// An answer with a content coding that was not asked for is an error that names it.
func TestUnknownContentCodings(t *testing.T) {
	for _, coding := range []string{"br", "zstd", "deflate", "gzip, gzip", "compress"} {
		for _, streamed := range []bool{false, true} {
			h := ask(t, chat(t, answered(http.StatusOK, strings.NewReader(chatAnswer), "Content-Encoding", coding, "Content-Type", "text/event-stream")), streamed, true)
			if f := fault.From(h.err); f == nil || f.Kind != fault.BadUpstream || !strings.Contains(f.Message, coding) {
				t.Errorf("%s, streamed %v: %v %s", coding, streamed, h.err, h.text)
			}
		}
	}
	for _, coding := range []string{"identity", ""} {
		if h := ask(t, chat(t, answered(http.StatusOK, strings.NewReader(chatAnswer), "Content-Encoding", coding)), false, true); h.err != nil {
			t.Errorf("%q: %v", coding, h.err)
		}
	}
}

// Answers of all upstreams share a budget, of which one upstream has half. What a call
// holds it is released when it is over, however it ends.
func TestAnswersShareABudget(t *testing.T) {
	memory := remote.NewAnswerMemory(16 << 20)
	body := strings.Replace(chatAnswer, "x", strings.Repeat("x", 7<<19), 1)
	req := hello()
	req.Wire = &genwayv1.WireMessage{Protocol: genwayv1.Protocol_PROTOCOL_CHAT_COMPLETIONS, Json: []byte(`{"model":"m","messages":[]}`)}
	ask := func(u *remote.Upstream, call *arena.Arena) error {
		_, err := u.GenerateText(arena.With(t.Context(), call), deferred.New(req))
		return err
	}
	made := func() *remote.Upstream {
		return chat(t, answering(func(r *http.Request) (*http.Response, error) {
			return answered(http.StatusOK, strings.NewReader(body))(r)
		}), func(c *remote.Config) { c.Memory = memory })
	}
	first, calls := made(), []*arena.Arena{{}, {}, {}, {}}
	if err := ask(first, calls[0]); err != nil {
		t.Fatal(err)
	}
	if err := ask(first, calls[1]); fault.From(err) == nil || fault.From(err).Reason != upstream.ReasonAnswersFull || fault.From(err).RetryAfter == 0 {
		t.Errorf("more than the upstream's half: %v", err)
	}
	for _, call := range calls[1:3] {
		if err := ask(made(), call); err != nil {
			t.Errorf("the half of the others: %v", err)
		}
	}
	if err := ask(made(), calls[3]); fault.From(err) == nil || fault.From(err).Reason != upstream.ReasonAnswersFull {
		t.Errorf("more than all: %v", err)
	}
	calls[0].Free()
	if err := ask(made(), calls[3]); err != nil {
		t.Errorf("after one is over: %v", err)
	}
	for _, call := range calls {
		call.Drop()
	}
	if held := memory.Held(); held != 0 {
		t.Errorf("%d bytes are held by nobody", held)
	}
	// An answer that is cheap to send and dear to decode is as dear as it is decoded.
	body = `{"choices":[` + strings.Repeat("{},", 1<<20) + `{}]}`
	if err := ask(made(), new(arena.Arena)); fault.From(err) == nil || fault.From(err).Kind != fault.BadUpstream {
		t.Errorf("a million choices: %v", err)
	}
}
