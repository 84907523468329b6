package cases_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/genway/genway/test/cases/answers"
	"github.com/genway/genway/test/cases/fake"
	"github.com/genway/genway/test/cases/harness"
	"github.com/genway/genway/test/cases/requests"
	"github.com/genway/genway/test/cases/transcript"
)

// wordCases are the cases of small words that clients branch on.
func wordCases() []Case {
	return []Case{
		{"X26", "service tiers are words of the reader's vendor, in requests and answers", serviceTiers},
		{"X27", "chat's content is null without text, streamed as unary", nullContent},
		{"X28", "a completed response says when", completedAt},
		{"X29", "a stream that is blocked after text ends as filtered, for every caller", blockedAfterText},
		{"X30", "after an error a chat stream has [DONE] and nothing else, as the vendor's has", doneAfterErrors},
	}
}

func serviceTiers(t *testing.T) {
	// Asked for: the default tier of each vendor, by its word in the caller's protocol.
	asked := map[harness.Protocol]string{harness.Chat: `"service_tier":"default"`, harness.Responses: `"service_tier":"default"`, harness.Messages: `"service_tier":"standard_only"`, harness.GenerateContent: `"serviceTier":"standard"`, harness.Interactions: `"service_tier":"standard"`}
	words := map[harness.Protocol][2]string{harness.Chat: {"service_tier", "default"}, harness.Responses: {"service_tier", "default"}, harness.Messages: {"service_tier", "standard_only"}, harness.GenerateContent: {"serviceTier", "standard"}, harness.Interactions: {"service_tier", "standard"}}
	everyWay(t, harness.Texts(), harness.Texts(), func(t *testing.T, w way) {
		seen := w.sees(t, requests.Body(w.caller, []string{asked[w.caller]}, requests.User(w.caller, "hi")))
		if got := seen.At(words[w.upstream][0]).Text(); got != words[w.upstream][1] {
			t.Errorf("the upstream is asked for %q, want %q", got, words[w.upstream][1])
		}
	})
	// The answer names what served it.
	everyWay(t, only(harness.Chat, harness.Responses), only(harness.Messages, harness.GenerateContent), func(t *testing.T, w way) {
		w.Upstream(w.upstream).Answer(w.altered(answers.Text("hello"), `"input_tokens":11`, `"input_tokens":11,"service_tier":"standard"`, `"promptTokenCount":11`, `"promptTokenCount":11,"serviceTier":"standard"`))
		a := w.ask(w.caller.Hello())
		if body := string(a.Body); a.Status != http.StatusOK || strings.Contains(body, `"service_tier":"standard"`) || !strings.Contains(body, `"service_tier":"default"`) {
			t.Errorf("%d %s", a.Status, body)
		}
	})
}

func nullContent(t *testing.T) {
	everyWay(t, only(harness.Chat), others(harness.Chat), func(t *testing.T, w way) {
		for name, tt := range map[string]struct {
			reply answers.Reply
			null  bool
		}{
			"a call alone":  {answers.Tool("call_1", "weather", paris), true},
			"a text":        {answers.Text("hello"), false},
			"text and call": {answers.Text("hello").Then(answers.Tool("call_1", "weather", paris)), false},
			"thinking":      {answers.Think(thought, "").Then(answers.Tool("call_1", "weather", paris)), true},
		} {
			w.Upstream(w.upstream).Answer(tt.reply.Answer(w.upstream, w.streamed))
			a := w.ask(w.caller.Hello())
			if !w.streamed {
				content := string(a.JSON().At("choices[0].message.content").Raw)
				if (content == "null") != tt.null {
					t.Errorf("%s: content is %s", name, content)
				}
				continue
			}
			first := string(chunks(a)[0].JSON().At("choices[0].delta.content").Raw)
			if whole := strings.Contains(string(a.Body), `"content":"`); whole == tt.null || tt.null && first != "null" {
				t.Errorf("%s: the first content is %s in %s", name, first, a.Body)
			}
			if received := transcript.Read(t, harness.Chat, a, true); tt.null && (received.Text != "" || len(received.Calls) != 1) {
				t.Errorf("%s: %+v", name, received)
			}
		}
	})
}

// chunks are the frames of a stream that have data.
func chunks(a harness.Answer) []harness.Frame {
	return slices.DeleteFunc(a.Frames(), func(f harness.Frame) bool { return f.Data == "" })
}

func completedAt(t *testing.T) {
	everyWay(t, only(harness.Responses), others(harness.Responses), func(t *testing.T, w way) {
		w.Upstream(w.upstream).Answer(answers.Text("hello").Answer(w.upstream, w.streamed))
		a := w.ask(w.caller.Hello())
		if !w.streamed {
			if v := a.JSON(); v.At("completed_at").Int() < v.At("created_at").Int() || v.At("completed_at").Int() <= 0 {
				t.Errorf("completed_at %s: %s", v.At("completed_at").Raw, a.Body)
			}
			return
		}
		frames := a.Frames()
		if v := frames[len(frames)-1].JSON().At("response"); v.At("completed_at").Int() <= 0 || v.At("completed_at").Int() < v.At("created_at").Int() {
			t.Errorf("completed_at %s", v.At("completed_at").Raw)
		}
		frames[0].JSON().At("response.completed_at").Is(t, "null")
	})
}

func blockedAfterText(t *testing.T) {
	want := map[harness.Protocol]string{harness.Chat: `"finish_reason":"content_filter"`, harness.Responses: `"reason":"content_filter"`, harness.Messages: `"stop_reason":"refusal"`, harness.Interactions: `"code":"PROHIBITED_CONTENT"`}
	for _, caller := range others(harness.GenerateContent) {
		g := harness.New(t, harness.Config{})
		g.GenerateContent.Answer(fake.Stream(fake.Events(answers.Chunk(`[{"text":"so far"}]`, ""), `{"promptFeedback":{"blockReason":"PROHIBITED_CONTENT"},"usageMetadata":{"promptTokenCount":11,"totalTokenCount":11},"responseId":"r1"}`)...))
		a := g.Stream(caller, "generatecontent/m", caller.Hello())
		if body := string(a.Body); !strings.Contains(body, "so far") || !strings.Contains(body, want[caller]) {
			t.Errorf("%s: no %s in %s", caller, want[caller], body)
		}
	}
}

func doneAfterErrors(t *testing.T) {
	for _, p := range harness.Texts() {
		g := harness.New(t, harness.Config{})
		events := answers.Text("hello").Events(p)
		g.Upstream(p).Answer(fake.Stream(append(fake.Events(events[:len(events)/2]...), fake.Cut())...))
		frames := chunks(g.Stream(harness.Chat, string(p)+"/m", harness.Chat.Hello()))
		last := len(frames) - 1
		if last < 1 || frames[last].Data != "[DONE]" || !strings.HasPrefix(frames[last-1].Data, `{"error":`) {
			t.Fatalf("over %s: %+v", p, frames)
		}
		for _, f := range frames[:last-1] {
			if f.Data == "[DONE]" || strings.Contains(f.Data, `"finish_reason":"`) {
				t.Errorf("over %s: %s looks like an end", p, f.Data)
			}
		}
	}
}
