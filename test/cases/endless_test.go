package cases_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/genway/genway/test/cases/fake"
	"github.com/genway/genway/test/cases/harness"
)

// endless are answers that say nothing of an end, and the same as streams.
var endless = map[harness.Protocol]struct {
	unary  string
	stream []string
}{
	harness.Chat: {
		`{"id":"c1","object":"chat.completion","created":7,"model":"m","choices":[null]}`,
		[]string{`{"id":"c1","object":"chat.completion.chunk","created":7,"model":"m","choices":[null]}`, `[DONE]`},
	},
	harness.Messages: {
		`{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[{"type":"text","text":"half"}],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":7,"output_tokens":1}}`,
		[]string{
			`{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":7,"output_tokens":0}}}`,
			`{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`,
			`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"half"}}`, `{"type":"content_block_stop","index":0}`,
			`{"type":"message_delta","delta":{"stop_reason":null,"stop_sequence":null},"usage":{"output_tokens":1}}`, `{"type":"message_stop"}`,
		},
	},
	harness.GenerateContent: {
		`{"candidates":[{"content":{"role":"model","parts":[{"text":"half"}]},"index":0}],"modelVersion":"m","responseId":"r1"}`,
		[]string{`{"candidates":[{"content":{"role":"model","parts":[{"text":"half"}]},"index":0}],"modelVersion":"m","responseId":"r1"}`},
	},
}

// A translated answer without an end is a failure of its upstream, unary and streamed. Callers of the
// upstream's protocol get it as it is (case X2).
func TestUnfinishedAnswers(t *testing.T) {
	everyWay(t, harness.Texts(), only(harness.Chat, harness.Messages, harness.GenerateContent), func(t *testing.T, w way) {
		bad := endless[w.upstream]
		answer := fake.JSON(bad.unary)
		if w.streamed {
			answer = fake.Stream(fake.Events(bad.stream...)...)
		}
		w.Upstream(w.upstream).Answer(answer)
		a := w.ask(w.caller.Hello())
		switch body := string(a.Body); {
		case w.caller == w.upstream:
			if want := bad.stream[0]; a.Status != http.StatusOK || !w.streamed && body != bad.unary || w.streamed && !strings.Contains(body, want) {
				t.Errorf("%d %s", a.Status, body)
			}
		case !w.streamed || w.upstream == harness.Chat: // nothing came that a stream could begin with
			native(t, w.caller, a, http.StatusBadGateway)
		case !strings.Contains(body, `"error"`):
			t.Errorf("a stream without an error: %s", body)
		}
		if w.caller != w.upstream && !strings.Contains(w.Log(), " kind=bad_upstream ") {
			t.Errorf("the log says %s", w.Log())
		}
	})
}
