package cases_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/genway/genway/test/cases/answers"
	"github.com/genway/genway/test/cases/fake"
	"github.com/genway/genway/test/cases/harness"
	"github.com/genway/genway/test/cases/probe"
)

func usageCases() []Case {
	return []Case{
		{"U1", "chat's usage chunk: choices [], once, right before [DONE], only when asked for", usageChunk},
		{"U2", "cached tokens count once: every protocol tells the same prompt", cachedOnce},
		{"U3", "usage on the finish chunk does not pre-empt the one that follows", trailingUsage},
		{"U4", "message_delta has the input and cache tokens that message_start could not know", lateInput},
		{"U5", "usage told twice is merged by field, never added", mergedUsage},
		{"U6", "message_start always has usage, with numbers in it", startUsage},
		{"U7", "usage is read from response.incomplete and response.failed too (for a failure: in the log)", terminalUsage},
		{"U8", "each class of token stands once in the one canonical usage that prices will apply to (prices are not part of this)", canonicalUsage},
		{"U9", "the image/text split of an image's usage is kept end to end", imageUsage},
		{"U10", "the core's log line has the numbers of the body, thinking and cached tokens too (metrics and spans are not part of this)", loggedUsage},
		{"U11", "thoughts are part of chat's completion and not of candidatesTokenCount; absent stays absent", thoughtUsage},
	}
}

func usageChunk(t *testing.T) {
	everyWay(t, only(harness.Chat), harness.Texts(), func(t *testing.T, w way) {
		if !w.streamed {
			w.receive(t, answers.Text("fine"))
			return
		}
		for options, asked := range map[string]bool{``: false, `,"stream_options":{}`: false, `,"stream_options":{"include_usage":false}`: false, `,"stream_options":{"include_usage":true}`: true} {
			w.Upstream(w.upstream).Answer(answers.Text("fine").Answer(w.upstream, true))
			frames := w.ask(strings.TrimSuffix(w.caller.Hello(), "}") + options + "}").Frames()
			chunks := 0
			for i, f := range frames[:len(frames)-1] {
				if f.Comment != "" {
					continue
				}
				v := f.JSON()
				usage := v.At("usage")
				if !usage.Exists() || string(usage.Raw) == "null" {
					if len(v.At("choices").List()) == 0 {
						t.Errorf("%s: chunk %d says nothing: %s", options, i, f.Data)
					}
					continue
				}
				chunks++
				v.At("choices").Is(t, `[]`)
				usage.At("prompt_tokens").Is(t, `11`)
				usage.At("completion_tokens").Is(t, `7`)
				usage.At("total_tokens").Is(t, `18`)
				if i != len(frames)-2 {
					t.Errorf("%s: the usage chunk is number %d of %d", options, i, len(frames))
				}
			}
			if frames[len(frames)-1].Data != "[DONE]" || (chunks == 1) != asked || chunks > 1 {
				t.Errorf("%s: %d usage chunks, last %s", options, chunks, frames[len(frames)-1].Data)
			}
			if w.upstream == harness.Chat {
				parse(t, w.Upstream(w.upstream).Last(t).Body).At("stream_options.include_usage").Is(t, `true`)
			}
		}
	})
}

// cached is a prompt of 100 tokens, 60 of them read from a cache and, where the
// protocol can say so, 10 written to it.
var cached = map[harness.Protocol]string{
	harness.Chat:            `{"prompt_tokens":100,"prompt_tokens_details":{"cached_tokens":60},"completion_tokens":7,"total_tokens":107}`,
	harness.Responses:       `{"input_tokens":100,"input_tokens_details":{"cached_tokens":60},"output_tokens":7,"output_tokens_details":{"reasoning_tokens":0},"total_tokens":107}`,
	harness.Messages:        `{"input_tokens":30,"cache_creation_input_tokens":10,"cache_read_input_tokens":60,"output_tokens":7}`,
	harness.GenerateContent: `{"promptTokenCount":100,"cachedContentTokenCount":60,"candidatesTokenCount":7,"totalTokenCount":107}`,
	harness.Interactions:    `{"total_input_tokens":100,"total_cached_tokens":60,"total_output_tokens":7,"total_tokens":107}`,
}

// holds demands the usage that a caller of the protocol must get for such a prompt.
func holds(t *testing.T, p harness.Protocol, bill probe.Value, written int) {
	t.Helper()
	want := map[harness.Protocol]map[string]int{
		harness.Chat:            {"prompt_tokens": 100, "prompt_tokens_details.cached_tokens": 60, "completion_tokens": 7, "total_tokens": 107},
		harness.Responses:       {"input_tokens": 100, "input_tokens_details.cached_tokens": 60, "output_tokens": 7, "total_tokens": 107},
		harness.Messages:        {"input_tokens": 40 - written, "cache_read_input_tokens": 60, "cache_creation_input_tokens": written, "output_tokens": 7},
		harness.GenerateContent: {"promptTokenCount": 100, "cachedContentTokenCount": 60, "candidatesTokenCount": 7, "totalTokenCount": 107},
		harness.Interactions:    {"total_input_tokens": 100, "total_cached_tokens": 60, "total_output_tokens": 7, "total_tokens": 107},
	}[p]
	for member, n := range want {
		bill.At(member).Is(t, strconv.Itoa(n))
	}
}

func cachedOnce(t *testing.T) {
	everyWay(t, harness.Texts(), harness.Texts(), func(t *testing.T, w way) {
		written := 0
		if w.upstream == harness.Messages {
			written = 10
		}
		holds(t, w.caller, w.billed(t, cached[w.upstream]), written)
	})
}

func trailingUsage(t *testing.T) {
	early := `"finish_reason":"stop"}],"usage":{"prompt_tokens":100,"completion_tokens":1,"total_tokens":101}}`
	everyWay(t, harness.Texts(), only(harness.Chat), func(t *testing.T, w way) {
		if !w.streamed {
			holds(t, w.caller, w.billed(t, cached[harness.Chat]), 0)
			return
		}
		events := billedEvents(t, harness.Chat, "", cached[harness.Chat])
		finish := len(events) - 3
		events[finish] = replaced(t, events[finish], `"finish_reason":"stop"}]}`, early)
		w.Chat.Answer(fake.Stream(fake.Events(events...)...))
		holds(t, w.caller, w.bill(t, w.askForBill()), 0)
	})
}

func lateInput(t *testing.T) {
	everyWay(t, only(harness.Messages), others(harness.Messages), func(t *testing.T, w way) {
		w.Upstream(w.upstream).Answer(billing(t, w.upstream, cached[w.upstream], w.streamed))
		a := w.askForBill()
		holds(t, harness.Messages, w.bill(t, a), 0)
		if !w.streamed {
			return
		}
		deltas := 0
		for _, f := range a.Frames() {
			if f.Event == "message_delta" {
				deltas++
			}
		}
		if deltas != 1 {
			t.Errorf("%d message_delta events", deltas)
		}
	})
}

func mergedUsage(t *testing.T) {
	whole := `{"input_tokens":30,"cache_creation_input_tokens":10,"cache_read_input_tokens":60,"output_tokens":1}`
	zero := `{"input_tokens":0,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"output_tokens":0}`
	for name, told := range map[string][2]string{
		"at the start":            {whole, `{"output_tokens":7}`},
		"at the end":              {zero, cached[harness.Messages]},
		"at both":                 {whole, cached[harness.Messages]},
		"taken back as zero":      {whole, `{"input_tokens":0,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"output_tokens":7}`},
		"taken back as null":      {whole, `{"input_tokens":null,"cache_creation_input_tokens":null,"cache_read_input_tokens":null,"output_tokens":7}`},
		"input first, cache last": {`{"input_tokens":30,"output_tokens":1}`, `{"cache_creation_input_tokens":10,"cache_read_input_tokens":60,"output_tokens":7}`},
	} {
		t.Run(name, func(t *testing.T) {
			everyWay(t, others(harness.Messages), only(harness.Messages), func(t *testing.T, w way) {
				if !w.streamed {
					holds(t, w.caller, w.billed(t, cached[harness.Messages]), 10)
					return
				}
				w.Messages.Answer(fake.Stream(fake.Events(billedEvents(t, harness.Messages, told[0], told[1])...)...))
				holds(t, w.caller, w.bill(t, w.askForBill()), 10)
			})
		})
	}
}

func startUsage(t *testing.T) {
	everyWay(t, only(harness.Messages), harness.Texts(), func(t *testing.T, w way) {
		answer := answers.Text("fine").Answer(w.upstream, w.streamed)
		if w.upstream == harness.Chat && w.streamed { // one that reports no usage at all
			answer = fake.Stream(fake.Events(answers.ChatChunk(`{"content":"fine"}`, "stop"), "[DONE]")...)
		}
		w.Upstream(w.upstream).Answer(answer)
		a := w.ask(w.caller.Hello())
		usage := a.JSON
		if w.streamed {
			first := a.Frames()[0]
			if first.Event != "message_start" {
				t.Fatalf("begins with %s", first.Event)
			}
			usage = func() probe.Value { return first.JSON().At("message") }
		}
		for _, member := range []string{"input_tokens", "output_tokens", "cache_creation_input_tokens", "cache_read_input_tokens"} {
			if raw := string(usage().At("usage." + member).Raw); raw == "" || strings.Trim(raw, "0123456789") != "" {
				t.Errorf("%s is %q", member, raw)
			}
		}
	})
}
