package cases_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/genway/genway/test/cases/fake"
	"github.com/genway/genway/test/cases/harness"
)

// What an upstream of another vendor has signed is left out of a request for an upstream of the
// caller's own protocol, and named.
func TestSignaturesOfAnotherVendorAreNamed(t *testing.T) {
	const sealed = `genway.generatecontent.c2lnbmF0dXJl`
	for caller, c := range map[harness.Protocol]struct {
		body, answer string
		events       []string
		lost         string
	}{
		harness.Messages: {
			`{"max_tokens":99,"messages":[{"role":"user","content":"hi"},{"role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"` + sealed + `"},{"type":"text","text":"hello"}]},{"role":"user","content":"and?"}]}`,
			`{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[{"type":"text","text":"hi"}],"stop_reason":"end_turn","stop_sequence":null,"usage":{"input_tokens":1,"output_tokens":1}}`,
			[]string{
				`{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":1,"output_tokens":1}}}`,
				`{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`,
				`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"hi"}}`,
				`{"type":"content_block_stop","index":0}`,
				`{"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{"output_tokens":1}}`,
				`{"type":"message_stop"}`,
			},
			"messages[1].content[0]",
		},
		harness.Chat: {
			`{"messages":[{"role":"user","content":"hi"},{"role":"assistant","content":"hello","reasoning_content":"hm","reasoning_details":[{"type":"reasoning.text","index":0,"text":"hm","signature":"` + sealed + `"}]},{"role":"user","content":"and?"}]}`,
			`{"id":"c1","object":"chat.completion","created":7,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"hi"},"finish_reason":"stop"}]}`,
			chunked("stop", `{"content":"hi"}`),
			"messages[1]",
		},
	} {
		for _, streamed := range []bool{false, true} {
			g := harness.New(t, harness.Config{})
			var a harness.Answer
			if streamed {
				g.Upstream(caller).Answer(fake.Stream(fake.Events(c.events...)...))
				a = g.Stream(caller, string(caller)+"/m", c.body)
			} else {
				g.Upstream(caller).Answer(fake.JSON(c.answer))
				a = g.Post(caller, string(caller)+"/m", c.body)
			}
			lost := a.Header.Get("X-Genway-Lost") + a.Trailer.Get("X-Genway-Lost")
			if a.Status != http.StatusOK || !strings.Contains(lost, c.lost) {
				t.Errorf("%s, streamed %v: %d, lost %q, want %q", caller, streamed, a.Status, lost, c.lost)
			}
			if sent := string(g.Upstream(caller).Last(t).Body); strings.Contains(sent, sealed) {
				t.Errorf("%s: the upstream got %s", caller, sent)
			}
		}
	}
}
