package cases_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/genway/genway/test/cases/fake"
	"github.com/genway/genway/test/cases/harness"
	"github.com/genway/genway/test/cases/transcript"
)

// What stands in an odd place of a stream is neither lost nor given twice (case T59).
func TestOddPlacesOfStreams(t *testing.T) {
	const start = `{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[],"stop_reason":null,"usage":{"input_tokens":7,"output_tokens":1}}}`
	const call = `{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"call_1","name":"weather","input":{"city":"Rome"}}}`
	const called = `{"type":"message_delta","delta":{"stop_reason":"tool_use","stop_sequence":null},"usage":{"output_tokens":9}}`
	for name, c := range map[string]struct {
		upstream harness.Protocol
		events   []string
		text     string
		calls    int
	}{
		"a whole message behind its pieces": {harness.Chat, []string{
			`{"id":"c1","created":7,"model":"m","choices":[{"index":0,"delta":{"content":"hel"}}]}`,
			`{"id":"c1","created":7,"model":"m","choices":[{"index":0,"delta":{"content":"lo"}}]}`,
			`{"id":"c1","created":7,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"hello","tool_calls":[{"id":"call_1","type":"function","function":{"name":"weather","arguments":"{}"}}]},"finish_reason":"tool_calls"}]}`,
			`[DONE]`}, "hello", 1},
		"a block that begins within another of its place": {harness.Messages, []string{start,
			`{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`,
			`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"hello"}}`,
			call, `{"type":"content_block_stop","index":0}`, called, `{"type":"message_stop"}`}, "hello", 1},
		"a block that begins twice": {harness.Messages, []string{start, call, call, `{"type":"content_block_stop","index":0}`, called, `{"type":"message_stop"}`}, "", 1},
		"the whole in the beginning": {harness.Messages, []string{
			`{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[{"type":"text","text":"hello"},{"type":"tool_use","id":"call_1","name":"weather","input":{}}],"stop_reason":"tool_use","stop_sequence":null,"usage":{"input_tokens":7,"output_tokens":9}}}`,
			`{"type":"message_stop"}`}, "hello", 1},
	} {
		for _, caller := range others(c.upstream) {
			g := harness.New(t, harness.Config{})
			g.Upstream(c.upstream).Answer(fake.Stream(fake.Events(c.events...)...))
			got := transcript.Read(t, caller, g.Stream(caller, string(c.upstream)+"/m", caller.Hello()), true)
			if got.Text != c.text || len(got.Calls) != c.calls || got.Finish != words[caller].called {
				t.Errorf("%s for %s: %+v", name, caller, got)
			}
		}
	}
	g := harness.New(t, harness.Config{})
	g.GenerateContent.Answer(fake.Stream(fake.Events(`{"candidates":[{"index":0,"content":{"role":"model","parts":[{"text":"hello"}]},"finishReason":"SAFETY"}]}`, `{"candidates":[{"index":0,"finishMessage":"unsafe"}]}`)...))
	if a := g.Stream(harness.Messages, "generatecontent/m", harness.Messages.Hello()); !strings.Contains(string(a.Body)+a.Trailer.Get("X-Genway-Lost"), "unsafe") {
		t.Errorf("the message is lost: %s %v", a.Body, a.Trailer)
	}
	// A call without a function is a failure, as in a unary answer.
	for _, caller := range others(harness.Chat) {
		g.Chat.Answer(fake.Stream(fake.Events(chunked("tool_calls", `{"tool_calls":[{"index":0,"id":"call_1","type":"function"}]}`)...)...))
		native(t, caller, g.Stream(caller, "chat/m", caller.Hello()), http.StatusBadGateway)
	}
}
