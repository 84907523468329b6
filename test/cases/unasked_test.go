package cases_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/genway/genway/core/upstream/remote"
	"github.com/genway/genway/test/cases/answers"
	"github.com/genway/genway/test/cases/fake"
	"github.com/genway/genway/test/cases/harness"
)

func unaskedCases() []Case {
	return []Case{
		{"X6", "of a chat stream that passes through only the chunk of usage alone is left out, which Genway asked for; with stream_usage: leave nothing is asked and nothing left out", unaskedUsage},
	}
}

func unaskedUsage(t *testing.T) {
	const usage = `{"prompt_tokens":11,"completion_tokens":7,"total_tokens":18}`
	usageChunk := `{"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[],"usage":` + usage + `}`
	whole := []string{
		`{"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}], "usage":` + usage + `}`,
		`{"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[],"usage":null}`,
		`{"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[],"usage":7}`,
		`{"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"content":"fine"},"finish_reason":null}],"usage":{"total_tokens":12}}`,
		`{"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{},"finish_reason":"stop"}], "usage" : ` + usage + `}`,
		usageChunk, "[DONE]",
	}
	without := slices.DeleteFunc(slices.Clone(whole), func(s string) bool { return s == usageChunk })
	for _, leave := range []bool{false, true} {
		for options, asked := range map[string]bool{``: false, `,"stream_options":null`: false, `,"stream_options":{"include_usage":false}`: false, `,"stream_options":{"include_usage":true}`: true} {
			g := harness.New(t, harness.Config{Remote: func(c *remote.Config) { c.LeaveUsage = leave }})
			want := without
			if leave || asked {
				want = whole
			}
			g.Upstream(harness.Chat).Answer(fake.Stream(fake.Events(whole...)...))
			var got []string
			for _, f := range g.Stream(harness.Chat, "chat/m", `{"messages":[{"role":"user","content":"hi"}]`+options+`}`).Frames() {
				if f.Comment == "" {
					got = append(got, f.Data)
				}
			}
			if !slices.Equal(got, want) {
				t.Errorf("leave %v, %s: got\n%s\nwant\n%s", leave, options, strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
			body := string(g.Upstream(harness.Chat).Last(t).Body)
			if sent := strings.Contains(body, `"include_usage":true`); sent != (asked || !leave) || leave && !strings.Contains(body, options) {
				t.Errorf("leave %v, %s: sent %s", leave, options, body)
			}
		}
	}
	// A translated answer is metered from the usage that comes.
	g := harness.New(t, harness.Config{Remote: func(c *remote.Config) { c.LeaveUsage = true }})
	g.Upstream(harness.Chat).Answer(answers.Text("fine").Answer(harness.Chat, true))
	body := string(g.Stream(harness.Messages, "chat/m", harness.Messages.Hello()).Body)
	if sent := string(g.Upstream(harness.Chat).Last(t).Body); strings.Contains(sent, "stream_options") || !strings.Contains(body, `"output_tokens":7`) {
		t.Errorf("sent %s, got %s", sent, body)
	}
}
