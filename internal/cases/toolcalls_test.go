package cases_test

import (
	"strings"
	"testing"

	"github.com/genway/genway/internal/cases/fake"
	"github.com/genway/genway/internal/cases/gate"
)

// finished is how each protocol says that an answer ended by itself.
var finished = map[gate.Protocol]string{
	gate.Chat:            `"finish_reason":"stop"`,
	gate.Responses:       `"status":"completed"`,
	gate.Messages:        `"stop_reason":"end_turn"`,
	gate.GenerateContent: `"finishReason":"STOP"`,
}

func toolCallCases() []Case {
	return []Case{{ID: "T5", Proves: "a completed choice always has a finish reason", Run: func(t *testing.T) {
		g := gate.New(t, gate.Config{})
		for _, p := range gate.Texts() {
			g.Chat.Answer(fake.JSON(`{"id":"c","object":"chat.completion","created":7,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"hi"},"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":2,"total_tokens":3}}`))
			a := g.Post(p, "chat/m", p.Hello())
			if !strings.Contains(string(a.Body), finished[p]) {
				t.Errorf("%s: %d %s", p, a.Status, a.Body)
			}
			g.Chat.Answer(fake.Stream(fake.Events(`{"id":"c","object":"chat.completion.chunk","created":7,"model":"m","choices":[{"index":0,"delta":{"role":"assistant","content":"hi"},"finish_reason":null}]}`,
				`{"id":"c","object":"chat.completion.chunk","created":7,"model":"m","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`, `[DONE]`)...).Split(3))
			if a := g.Stream(p, "chat/m", p.Hello()); len(a.Frames()) < 2 || !strings.Contains(string(a.Body), finished[p]) {
				t.Errorf("%s: %s", p, a.Body)
			}
		}
	}}}
}
