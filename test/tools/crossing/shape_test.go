package main

import (
	"bytes"
	"encoding/json"
	"testing"
)

// The judge finds what an SDK's type does not have, and what it demands.
func TestFit(t *testing.T) {
	for _, tt := range []struct{ protocol, body, misfit string }{
		{"chat", `{"model":"m","messages":[{"role":"user","content":"x"},{"role":"tool","tool_call_id":"i","content":"y"}],"stop":["z"],"stream":true}`, ""},
		{"chat", `{"model":"m","messages":[{"role":"assistant","content":null,"tool_calls":[{"id":"i","type":"function","function":{"name":"f","arguments":"{}"}}]}]}`, ""},
		{"chat", `{"model":"m"}`, "$.messages: is missing"},
		{"chat", `{"model":"m","messages":[],"top_k":1}`, "$.top_k: is unknown"},
		{"chat", `{"model":"m","messages":[{"role":"tool","content":"y"}]}`, "$.messages[].tool_call_id: is missing"},
		{"chat", `{"model":"m","messages":[{"role":"user","content":[{"type":"image_url","image_url":{"href":"x","url":"y"}}]}]}`, "$.messages[].content[].image_url.href: is unknown"},
		{"chat", `{"model":"m","messages":[],"seed":1.5}`, "$.seed: is no integer"},
		{"responses", `{"model":"m","input":[{"role":"user","type":"message","content":[{"type":"input_text","text":"x"}]}],"tools":[{"type":"function","name":"f","parameters":{"any":1},"strict":null}]}`, ""},
		{"responses", `{"model":"m","input":[{"role":"user","type":"message","content":[{"type":"input_image","image_url":"x"}]}]}`, "$.input[].content[].detail: is missing"},
		{"messages", `{"model":"m","max_tokens":1,"system":"s","messages":[{"role":"user","content":"x"}]}`, ""},
		{"messages", `{"model":"m","max_tokens":1,"messages":[{"role":"user","content":[{"type":"tool_result","tool_use_id":"i","content":"x","name":"f"}]}]}`, "$.messages[].content[].name: is unknown"},
		{"messages", `{"model":"m","max_tokens":1,"messages":[{"role":"user","content":[{"type":"tool_result","content":"x"}]}]}`, "$.messages[].content[].tool_use_id: is missing"},
		{"generatecontent", `{"contents":[{"role":"user","parts":[{"inlineData":{"mimeType":"image/png","data":"AQID"}}]}],"generationConfig":{"responseJsonSchema":{"any":1}}}`, ""},
		{"generatecontent", `{"contents":[{"parts":[{"inlineData":{"data":"?"}}]}]}`, "$.contents[].parts[].inlineData.data: is no base64"},
		{"generatecontent", `{"contents":[],"generationConfig":{"n":1}}`, "$.generationConfig.n: is unknown"},
	} {
		d := json.NewDecoder(bytes.NewReader([]byte(tt.body)))
		d.UseNumber()
		var v any
		if err := d.Decode(&v); err != nil {
			t.Fatal(err)
		}
		got := ""
		if all := fit(protocols[tt.protocol].request, v, "$", false); len(all) > 0 {
			got = all[0].String()
		}
		if got != tt.misfit {
			t.Errorf("%s: %q, want %q\n%s", tt.protocol, got, tt.misfit, tt.body)
		}
	}
}

// Answers must have what is required, and may have more.
func TestFitAnswers(t *testing.T) {
	for body, misfit := range map[string]string{
		`{"id":"i","object":"chat.completion","created":1,"model":"m","more":1,"choices":[{"index":0,"finish_reason":"stop","logprobs":null,"message":{"role":"assistant","content":"x","refusal":null}}]}`: "",
		`{"id":"i","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"finish_reason":"stop","logprobs":null,"message":{"role":"assistant","content":"x"}}]}`:                         "$.choices[].message.refusal: is missing",
		`{"id":"i","object":"text","created":1,"model":"m","choices":[]}`: `$.object: is not "chat.completion"`,
	} {
		got := ""
		if all := judge(protocols["chat"].answer, []byte(body), true); len(all) > 0 {
			got = all[0].String()
		}
		if got != misfit {
			t.Errorf("%q, want %q\n%s", got, misfit, body)
		}
	}
}
