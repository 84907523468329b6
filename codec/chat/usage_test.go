package chat_test

import (
	"strings"
	"testing"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/chat"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

// Case U17: where the total is more than prompt and completion, the difference is output: xAI counts reasoning beside
// completion_tokens. Calls of the vendor's own tools are counted apart.
func TestUsageBesideTheTotals(t *testing.T) {
	for name, c := range map[string]struct {
		usage      string
		output, in int64
		calls      int64
	}{
		"reasoning beside the completion": {`{"prompt_tokens":12,"completion_tokens":1,"total_tokens":399,"completion_tokens_details":{"reasoning_tokens":386}}`, 387, 12, 0},
		"reasoning in the completion":     {`{"prompt_tokens":12,"completion_tokens":387,"total_tokens":399,"completion_tokens_details":{"reasoning_tokens":386}}`, 387, 12, 0},
		"no total":                        {`{"prompt_tokens":12,"completion_tokens":1}`, 1, 12, 0},
		"a total of less":                 {`{"prompt_tokens":12,"completion_tokens":5,"total_tokens":3}`, 5, 12, 0},
		"a negative total":                {`{"prompt_tokens":12,"completion_tokens":5,"total_tokens":-3}`, 5, 12, 0},
		"a negative prompt":               {`{"prompt_tokens":-12,"completion_tokens":5,"total_tokens":3}`, 5, -12, 0},
		"OpenRouter's searches":           {`{"prompt_tokens":12,"completion_tokens":5,"total_tokens":17,"server_tool_use":{"web_search_requests":2}}`, 5, 12, 2},
		"xAI's searches":                  {`{"prompt_tokens":12,"completion_tokens":5,"total_tokens":17,"server_side_tool_usage_details":{"web_search_calls":2,"x_search_calls":0,"odd":"x"}}`, 5, 12, 2},
	} {
		body := `{"id":"c","model":"m","service_tier":"flex","choices":[{"index":0,"message":{"role":"assistant","content":"a"},"finish_reason":"stop"}],"usage":` + c.usage + `}`
		chunk := strings.Replace(body, `"message"`, `"delta"`, 1)
		stream := func(read func(codec.StreamDecoder, codec.Frame) ([]*genwayv1.StreamGenerateTextResponse, error)) *genwayv1.Usage {
			d := chat.Codec{}.NewStreamDecoder()
			var u *genwayv1.Usage
			for _, data := range []string{chunk, `[DONE]`} {
				events, err := read(d, codec.Frame{Data: []byte(data)})
				if err != nil {
					t.Fatal(name, err)
				}
				for _, ev := range events {
					if ev.GetCompleted() != nil {
						u = ev.GetCompleted().GetUsage()
					}
				}
			}
			return u
		}
		whole, err := chat.Codec{}.DecodeResponse([]byte(body))
		if err != nil {
			t.Fatal(name, err)
		}
		watched, _ := chat.Codec{}.WatchResponse([]byte(body))
		head, _ := chat.Codec{}.DecodeResponseHead([]byte(body))
		for way, u := range map[string]*genwayv1.Usage{
			"whole": whole.GetUsage(), "watched": watched.GetUsage(), "head": head.GetUsage(),
			"events": stream(func(d codec.StreamDecoder, f codec.Frame) ([]*genwayv1.StreamGenerateTextResponse, error) {
				return d.Decode(f)
			}),
			"watched events": stream(func(d codec.StreamDecoder, f codec.Frame) ([]*genwayv1.StreamGenerateTextResponse, error) {
				events, _, err := d.(codec.StreamWatcher).Watch(f)
				return events, err
			}),
		} {
			var calls int64
			for _, tool := range u.GetTools() {
				if tool.GetTool() == "web_search" {
					calls += tool.GetCalls()
				}
			}
			if u.GetOutputTokens() != c.output || u.GetInputTokens() != c.in || calls != c.calls || u.GetServiceTier() != "flex" {
				t.Errorf("%s, %s: %v", name, way, u)
			}
		}
	}
}
