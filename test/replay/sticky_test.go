package main

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestCounts(t *testing.T) {
	for name, test := range map[string]struct {
		x    exchange
		want counted
	}{
		"chat":            {exchange{Protocol: "chat", Response: json.RawMessage(`{"usage":{"prompt_tokens":9,"prompt_tokens_details":{"cached_tokens":4}}}`)}, counted{9, 4}},
		"responses":       {exchange{Protocol: "responses", Response: json.RawMessage(`{"usage":{"input_tokens":9,"input_tokens_details":{"cached_tokens":4}}}`)}, counted{9, 4}},
		"messages":        {exchange{Protocol: "messages", Response: json.RawMessage(`{"usage":{"input_tokens":9,"cache_read_input_tokens":4,"cache_creation_input_tokens":2}}`)}, counted{15, 4}},
		"generatecontent": {exchange{Protocol: "generatecontent", Response: json.RawMessage(`{"usageMetadata":{"promptTokenCount":9,"cachedContentTokenCount":4}}`)}, counted{9, 4}},
		"stream":          {exchange{Protocol: "messages", Response: json.RawMessage(`null`), ResponseSSE: "data: {\"message\":{\"usage\":{\"input_tokens\":1,\"cache_read_input_tokens\":7}}}\n\ndata: {\"usage\":{\"output_tokens\":3}}\n\n"}, counted{8, 7}},
		"none":            {exchange{Protocol: "chat", Response: json.RawMessage(`{}`), ResponseSSE: "data: [DONE]\n\n"}, counted{}},
	} {
		if got := counts(test.x); got != test.want {
			t.Errorf("%s: %+v, want %+v", name, got, test.want)
		}
	}
}

func TestStickiness(t *testing.T) {
	said := func(source string, input, cached int) exchange {
		text, _ := json.Marshal(map[string]any{"usage": map[string]any{"prompt_tokens": input, "prompt_tokens_details": map[string]int{"cached_tokens": cached}}})
		return exchange{Source: source, Protocol: "chat", Status: 200, Response: text}
	}
	var out strings.Builder
	stickiness([]exchange{
		said("a#1", 1000, 800), said("a#0", 500, 0), said("a#2", 1000, 800), // in another order
		said("b#0", 100, 0), said("b#1", 100, 0),
		said("c#0", 100, 50),
	}, &out)
	// At 2 targets a half of the first follow-up's tokens stays uncached, and a quarter of the
	// second one's: 2000 - 0.9*1600 = 560, and 0.9*600 more.
	const want = `2 sessions of several requests; in 1 the vendor's cache served a follow-up
their 2 follow-ups: 2000 tokens of input, 1600 (80 %) of them cached
a cached token at 0.1 of the price: sticky 560; 2 targets 1100 (49 % saved);`
	if !strings.HasPrefix(out.String(), want) {
		t.Errorf("got %s", out.String())
	}
}
