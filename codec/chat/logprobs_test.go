package chat

import (
	"testing"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/codectest"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

// Log probabilities that belong to no text, such as those of the tokens of a call, are named as
// lost, in a unary answer and in a stream.
func TestLogprobsWithoutText(t *testing.T) {
	const (
		tokens = `{"content":[{"token":"f","logprob":-0.5,"bytes":[102],"top_logprobs":[]}],"refusal":null}`
		call   = `[{"index":0,"id":"call_1","type":"function","function":{"name":"f","arguments":"{}"}}]`
	)
	resp, err := Codec{}.DecodeResponse([]byte(`{"id":"c1","object":"chat.completion","created":7,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":null,"tool_calls":` + call + `},"logprobs":` + tokens + `,"finish_reason":"tool_calls"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	lostTokens(t, "a unary answer", resp)
	for name, content := range map[string]string{"a stream without text": "", "a stream with text ahead": "hi"} {
		got, err := codectest.DecodeStream(Codec{}, []codec.Frame{
			{Data: []byte(`{"id":"c1","created":7,"model":"m","choices":[{"index":0,"delta":{"role":"assistant","content":"` + content + `"},"finish_reason":null}]}`)},
			{Data: []byte(`{"id":"c1","created":7,"model":"m","choices":[{"index":0,"delta":{"tool_calls":` + call + `},"logprobs":` + tokens + `,"finish_reason":null}]}`)},
			{Data: []byte(`{"id":"c1","created":7,"model":"m","choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}`)},
			{Data: []byte(`[DONE]`)},
		})
		if err != nil {
			t.Fatal(err)
		}
		lostTokens(t, name, got)
	}
}

func lostTokens(t *testing.T, name string, resp *genwayv1.GenerateTextResponse) {
	t.Helper()
	if l := resp.GetLosses(); len(l) != 1 || l[0].GetMember() != "candidates[0].logprobs.content" {
		t.Errorf("%s: lost %v", name, l)
	}
}
