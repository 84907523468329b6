package cases_test

import (
	"strings"
	"testing"

	"github.com/genway/genway/test/cases/fake"
	"github.com/genway/genway/test/cases/harness"
)

// citedAhead is an answer of messages whose text follows a tool of the vendor's own and is cited before
// its end, as the vendor streams it.
var citedAhead = []string{
	`{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[],"stop_reason":null,"usage":{"input_tokens":7,"output_tokens":1}}}`,
	`{"type":"content_block_start","index":0,"content_block":{"type":"web_search_tool_result","tool_use_id":"srvtoolu_1","content":[]}}`,
	`{"type":"content_block_stop","index":0}`,
	`{"type":"content_block_start","index":1,"content_block":{"type":"text","text":"","citations":[]}}`,
	`{"type":"content_block_delta","index":1,"delta":{"type":"citations_delta","citation":{"type":"web_search_result_location","url":"https://a.example","title":"t","encrypted_index":"q","cited_text":"c"}}}`,
	`{"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"fine"}}`,
	`{"type":"content_block_stop","index":1}`,
	`{"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{"output_tokens":9}}`,
	`{"type":"message_stop"}`,
}

// spokenAloud is an answer of generateContent's models of speech, in pieces as they stream it.
var spokenAloud = []string{
	`{"candidates":[{"content":{"role":"model","parts":[{"inlineData":{"mimeType":"audio/L16;codec=pcm;rate=24000","data":"AAAA"}}]},"index":0}]}`,
	`{"candidates":[{"content":{"role":"model","parts":[{"inlineData":{"mimeType":"audio/L16;codec=pcm;rate=24000","data":"BBBB"}}]},"index":0}]}`,
	`{"candidates":[{"content":{"role":"model","parts":[]},"finishReason":"STOP","index":0}],"usageMetadata":{"promptTokenCount":7,"candidatesTokenCount":9,"totalTokenCount":16}}`,
}

// Case T56: what a stream amounts to is what the unary answer says, member by member.
func TestStreamsAmountToAnswers(t *testing.T) {
	unreported := strings.NewReplacer(`,"usage":{"input_tokens":7,"output_tokens":1}`, ``, `,"usage":{"output_tokens":9}`, ``)
	absurd := strings.NewReplacer(`"output_tokens":9`, `"output_tokens":-9`)
	for name, c := range map[string]struct {
		upstream, caller harness.Protocol
		events           []string
		has, lacks       string
	}{
		"a citation is of the whole text":                {harness.Messages, harness.Chat, citedAhead, `"end_index":4`, `"end_index":0`},
		"a citation is of the part that the caller sees": {harness.Messages, harness.GenerateContent, citedAhead, `"groundingSupports"`, `"partIndex"`},
		"usage that is not reported is not made up":      {harness.Messages, harness.Chat, strings.Split(unreported.Replace(strings.Join(citedAhead, "\n")), "\n"), `[DONE]`, `"prompt_tokens":0`},
		"the first piece of a sound":                     {harness.GenerateContent, harness.Chat, spokenAloud, `"data":"AAAA"`, `.audio`},
		"the second piece of a sound":                    {harness.GenerateContent, harness.Chat, spokenAloud, `"data":"BBBB"`, `"error"`},
		"figures that pass are not lost":                 {harness.Messages, harness.Messages, strings.Split(absurd.Replace(strings.Join(citedAhead, "\n")), "\n"), `message_stop`, "\n\nusage"},
	} {
		t.Run(name, func(t *testing.T) {
			g := harness.New(t, harness.Config{})
			g.Upstream(c.upstream).Answer(fake.Stream(fake.Events(c.events...)...))
			body := c.caller.Hello()
			if c.caller == harness.Chat {
				body = `{"messages":[{"role":"user","content":"hi"}],"stream_options":{"include_usage":true}}`
			}
			a := g.Stream(c.caller, string(c.upstream)+"/m", body)
			if got := string(a.Body) + a.Trailer.Get("X-Genway-Lost"); a.Status != 200 || !strings.Contains(got, c.has) || strings.Contains(got, c.lacks) {
				t.Errorf("%d, want %s and not %s in\n%s", a.Status, c.has, c.lacks, got)
			}
		})
	}
}
