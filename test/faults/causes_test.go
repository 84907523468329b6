package faults_test

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/genway/genway/core/route"
	"github.com/genway/genway/core/upstream"
	"github.com/genway/genway/core/upstream/remote"
	"github.com/genway/genway/test/cases/fake"
	"github.com/genway/genway/test/cases/harness"
)

// refusedPrompts are refusals as the vendors and engines spell them (the shapes are those of their documents and of
// reported issues), by the protocol that they speak.
var refusedPrompts = []struct {
	name     string
	protocol harness.Protocol
	status   int
	body     string
	cause    route.Cause
}{
	{"OpenAI", harness.Chat, 400, `{"error":{"message":"This model's maximum context length is 128000 tokens. However, your messages resulted in 150000 tokens.","type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}}`, route.Context},
	{"vLLM", harness.Chat, 400, `{"object":"error","message":"This model's maximum context length is 4096 tokens. However, you requested 5000 tokens","type":"BadRequestError","param":null,"code":400}`, route.Context},
	{"llama.cpp", harness.Chat, 400, `{"error":{"code":400,"message":"the request exceeds the available context size, try increasing it","type":"exceed_context_size_error","n_prompt_tokens":9000,"n_ctx":4096}}`, route.Context},
	{"TGI", harness.Chat, 422, "{\"error\":\"Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096\",\"error_type\":\"validation\"}", route.Context},
	{"xAI", harness.Chat, 400, `{"code":"Client specified an invalid argument","error":"This model's maximum prompt length is 131072 but the request contains 537812 tokens."}`, route.Context},
	{"OpenAI responses", harness.Responses, 400, `{"error":{"message":"Your input exceeds the context window of this model. Please adjust your input and try again.","type":"invalid_request_error","param":"input","code":"context_length_exceeded"}}`, route.Context},
	{"Anthropic", harness.Messages, 400, `{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 210000 tokens > 200000 maximum"}}`, route.Context},
	{"Anthropic, with max_tokens", harness.Messages, 400, "{\"type\":\"error\",\"error\":{\"type\":\"invalid_request_error\",\"message\":\"input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000\"}}", route.Context},
	{"Google", harness.GenerateContent, 400, `{"error":{"code":400,"message":"The input token count (1300000) exceeds the maximum number of tokens allowed (1048576).","status":"INVALID_ARGUMENT"}}`, route.Context},
	{"Google's interactions", harness.Interactions, 400, `{"error":{"code":"invalid_argument","message":"The input token count (1300000) exceeds the maximum number of tokens allowed (1048576)."}}`, route.Context},

	{"Azure", harness.Chat, 400, `{"error":{"message":"The response was filtered due to the prompt triggering Azure OpenAI's content management policy.","type":null,"param":"prompt","code":"content_filter","status":400,"innererror":{"code":"ResponsibleAIPolicyViolation"}}}`, route.Policy},
	{"OpenAI, reasoning models", harness.Responses, 400, `{"error":{"message":"Invalid prompt: your prompt was flagged as potentially violating our usage policy.","type":"invalid_request_error","param":null,"code":"invalid_prompt"}}`, route.Policy},
	{"OpenRouter", harness.Chat, 403, `{"error":{"code":403,"message":"openai/gpt-5 requires moderation on OpenAI. Your input was flagged for \"violence\".","metadata":{"reasons":["violence"]}}}`, route.Policy},
	{"Anthropic's output", harness.Messages, 400, `{"type":"error","error":{"type":"invalid_request_error","message":"Output blocked by content filtering policy"}}`, route.Policy},

	{"Anthropic's refusal", harness.Messages, 200, `{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[],"stop_reason":"refusal","stop_sequence":null,"usage":{"input_tokens":3,"output_tokens":1}}`, route.Policy},
	{"chat, filtered", harness.Chat, 200, `{"id":"c","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":""},"finish_reason":"content_filter"}],"usage":{"prompt_tokens":3,"completion_tokens":1,"total_tokens":4}}`, route.Policy},
	{"Google's block", harness.GenerateContent, 200, `{"promptFeedback":{"blockReason":"PROHIBITED_CONTENT"},"usageMetadata":{"promptTokenCount":3,"totalTokenCount":3}}`, route.Policy},
	{"interactions, withheld", harness.Interactions, 200, `{"id":"v1_1","object":"interaction","status":"incomplete","model":"m","steps":[],"errors":[{"code":"SAFETY"}],"usage":{"total_input_tokens":3,"total_tokens":3}}`, route.Policy},

	{"chat, filtered after content", harness.Chat, 200, `{"id":"c","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"Once"},"finish_reason":"content_filter"}],"usage":{"prompt_tokens":3,"completion_tokens":1,"total_tokens":4}}`, 0},
	{"another mistake", harness.Chat, 400, `{"error":{"message":"Invalid 'user': string too long. Expected a string with maximum length 64","type":"invalid_request_error","param":"user","code":"string_above_max_length"}}`, 0},
	{"a key that is refused", harness.Chat, 403, `{"error":{"message":"no access","type":"permission_error"}}`, 0},
	{"a limit of tokens a minute", harness.Chat, 413, `{"error":{"message":"Request too large for model m on tokens per minute (TPM): Limit 6000, Requested 9000","type":"tokens","code":"rate_limit_exceeded"}}`, 0},
}

// withheldStreams are answers that end by a policy before any content, as events.
var withheldStreams = []struct {
	name     string
	protocol harness.Protocol
	events   []string
	calls    int
}{
	{"chat", harness.Chat, []string{
		`{"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}]}`,
		`{"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{},"finish_reason":"content_filter"}]}`, "[DONE]",
	}, 2},
	{"messages", harness.Messages, []string{
		`{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":3,"output_tokens":1}}}`,
		`{"type":"message_delta","delta":{"stop_reason":"refusal","stop_sequence":null},"usage":{"output_tokens":1}}`, `{"type":"message_stop"}`,
	}, 2},
	{"generateContent", harness.GenerateContent, []string{`{"promptFeedback":{"blockReason":"SAFETY"},"usageMetadata":{"promptTokenCount":3,"totalTokenCount":3}}`}, 2},
	{"interactions", harness.Interactions, []string{
		`{"interaction":{"id":"v1_1","object":"interaction","status":"in_progress","model":"m"},"event_type":"interaction.created"}`,
		`{"interaction":{"id":"v1_1","object":"interaction","status":"incomplete","model":"m","errors":[{"code":"SAFETY"}],"usage":{"total_input_tokens":3,"total_tokens":3}},"event_type":"interaction.completed"}`, "[DONE]",
	}, 2},
	{"an error within the stream", harness.Chat, []string{`{"error":{"message":"prompt was filtered","type":"invalid_request_error","code":"content_filter"}}`}, 2},
	{"content before it", harness.Chat, []string{
		`{"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"role":"assistant","content":"Once"},"finish_reason":null}]}`,
		`{"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{},"finish_reason":"content_filter"}]}`, "[DONE]",
	}, 1},
}

// caused is a gateway whose model m goes to an upstream of a protocol, and to two others of chat, by the cause: "context" and
// "policy".
func caused(t *testing.T, first harness.Protocol) (g *harness.Gateway, asked *fake.Upstream) {
	t.Helper()
	table := &routes{}
	var upstreams []route.Target
	for _, f := range []struct {
		name     string
		protocol harness.Protocol
		on       route.Cause
	}{{"first", first, 0}, {"context", harness.Chat, route.Context}, {"policy", harness.Chat, route.Policy}} {
		u := fake.New(t)
		if f.on == 0 {
			asked = u
		} else {
			u.Answer(fake.JSON(strings.Join(answer(harness.Chat, false).Pieces, "")))
		}
		dialed := remote.NewTransport(remote.Way{})
		t.Cleanup(dialed.CloseIdleConnections)
		adapter, err := remote.New(remote.Config{Protocol: f.protocol.ID(), BaseURL: u.URL, HTTP: dialed, FirstByte: plenty, Idle: plenty, Hold: plenty})
		if err != nil {
			t.Fatal(err)
		}
		upstreams = append(upstreams, route.Target{Name: f.name, Upstream: adapter, Protocol: f.protocol.ID(), Model: "m", On: f.on})
	}
	table.add("m", upstreams[0], upstreams[1:]...)
	return harness.New(t, harness.Config{Wrap: func(upstream.Upstream) upstream.Upstream { return table }}), asked
}

// A prompt that is too long, and one that a vendor's policy refuses, go on to the fallback for that cause, whether the upstream
// speaks the caller's protocol or not; a stream whose error comes before its events as a unary call. All else is the
// caller's.
func TestFallbackForACause(t *testing.T) {
	for _, p := range refusedPrompts {
		for _, caller := range []harness.Protocol{p.protocol, harness.Messages} {
			for _, streamed := range []bool{false, true} {
				if streamed && p.status == http.StatusOK {
					continue
				}
				t.Run(fmt.Sprintf("%s/%s/%v", p.name, caller, streamed), func(t *testing.T) {
					g, first := caused(t, p.protocol)
					first.Answer(fake.Refusal(p.status, p.body))
					send := g.Post
					if streamed {
						send = g.Stream
					}
					a := send(caller, "m", caller.Hello())
					want := map[route.Cause]string{0: "first", route.Context: "context", route.Policy: "policy"}[p.cause]
					if got := a.Header.Get("X-Genway-Upstream"); got != want || p.cause != 0 && a.Status != http.StatusOK {
						t.Errorf("status %d of %s, want %s: %s", a.Status, got, want, a.Body)
					}
				})
			}
		}
	}
}

func TestFallbackForAWithheldStream(t *testing.T) {
	for _, s := range withheldStreams {
		for _, caller := range []harness.Protocol{s.protocol, harness.Messages} {
			t.Run(s.name+"/"+string(caller), func(t *testing.T) {
				g, first := caused(t, s.protocol)
				first.Answer(fake.Stream(fake.Events(s.events...)...))
				a := g.Stream(caller, "m", caller.Hello())
				want := map[int]string{1: "first", 2: "policy"}[s.calls]
				if got := a.Header.Get("X-Genway-Upstream"); a.Status != http.StatusOK || got != want || a.Header.Get("X-Genway-Attempts") != strconv.Itoa(s.calls) {
					t.Errorf("status %d of %s, want %s: %s", a.Status, got, want, a.Body)
				}
			})
		}
	}
}
