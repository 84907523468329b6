package explain_test

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/core/explain"
	"github.com/genway/genway/core/override"
	"github.com/genway/genway/core/route"
	"github.com/genway/genway/core/upstream/remote"
	adminv1 "github.com/genway/genway/gen/genway/admin/v1"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/genway/genway/sandbox"
)

// explainer has a route for each way: m to messages with overrides, c to chat, s to the sandbox.
func explainer(t *testing.T) *explain.Explainer {
	t.Helper()
	at := func(p genwayv1.Protocol) *remote.Upstream {
		u, err := remote.New(remote.Config{Protocol: p, BaseURL: "http://127.0.0.1:1/v1", APIKey: "canary-of-the-key", Headers: map[string]string{"X-Canary": "canary"}})
		if err != nil {
			t.Fatal(err)
		}
		return u
	}
	changes, err := override.New(override.Rules{Set: map[string]any{"temperature": 0.25}, Drop: []string{"top_p"}})
	if err != nil {
		t.Fatal(err)
	}
	thinks, err := override.New(override.Rules{Set: map[string]any{"effort": "high"}})
	if err != nil {
		t.Fatal(err)
	}
	embedded := sandbox.New(sandbox.Config{TextModel: "text", ImageModel: "image"})
	messages, chat, gemini := genwayv1.Protocol_PROTOCOL_MESSAGES, genwayv1.Protocol_PROTOCOL_CHAT_COMPLETIONS, genwayv1.Protocol_PROTOCOL_GENERATE_CONTENT
	return &explain.Explainer{Router: route.New([]route.Route{
		{Model: "m", Targets: []route.Target{{Name: "claude", Protocol: messages, Upstream: at(messages), Model: "claude-x", Overrides: changes}}, Fallback: []route.Target{{Name: "spare", Protocol: chat, Upstream: at(chat)}}},
		{Model: "c", Targets: []route.Target{{Name: "chat", Protocol: chat, Upstream: at(chat)}}},
		{Model: "e", Targets: []route.Target{{Name: "gemini", Protocol: gemini, Upstream: at(gemini), Overrides: thinks}}},
		{Model: "k", Targets: []route.Target{{Name: "claude", Protocol: messages, Upstream: at(messages), Cache: true}}},
		{Model: "s", Targets: []route.Target{{Name: "sandbox", Upstream: embedded}}},
	})}
}

func fates(members []*adminv1.ExplainedMember) map[string]*adminv1.ExplainedMember {
	all := map[string]*adminv1.ExplainedMember{}
	for _, m := range members {
		path := m.GetPath()
		if path == "" {
			path = "+" + strings.Join(m.GetArrives(), ",")
		}
		all[path] = m
	}
	return all
}

// A role is found in the place where it arrives, which another message has in the caller's body, and what
// only says that a text is a text is not listed.
func TestWordsOfTheProtocol(t *testing.T) {
	resp, err := explainer(t).Explain(t.Context(), &adminv1.ExplainRequest{Protocol: genwayv1.Protocol_PROTOCOL_MESSAGES, Body: []byte(`{"model":"c","max_tokens":9,
		"system":[{"type":"text","text":"Be brief."}],"messages":[{"role":"user","content":"Hi"},{"role":"assistant","content":"Yes?"},{"role":"user","content":[{"type":"text","text":"Go on."}]}]}`)})
	if err != nil || resp.GetRefusal() != nil {
		t.Fatal(err, resp.GetRefusal())
	}
	is := fates(resp.GetMembers())
	for path, arrives := range map[string]string{"messages[0].role": "messages[1].role", "messages[1].role": "messages[2].role", "messages[2].role": "messages[3].role", "max_tokens": "max_tokens"} {
		if got := is[path]; !slices.Contains(got.GetArrives(), arrives) {
			t.Errorf("%s: %v", path, got)
		}
	}
	for path, m := range is {
		if strings.HasSuffix(path, ".type") || m.GetFate() != adminv1.Fate_FATE_MAPPED && m.GetFate() != adminv1.Fate_FATE_KEPT {
			t.Errorf("%v", m)
		}
	}
}

// What the table of settings says of a member needs no other value of it: each other one is refused, or two members have
// the same.
func TestSettingsAreReadFromTheirTable(t *testing.T) {
	const hi = `{"model":"any","messages":[{"role":"user","content":"Hi"}],`
	for name, c := range map[string]struct {
		to, body, path, arrives string
		fate                    adminv1.Fate
	}{
		"one of two":    {"responses", hi + `"max_tokens":60,"max_completion_tokens":60}`, "max_tokens", "max_output_tokens", adminv1.Fate_FATE_MAPPED},
		"a format":      {"messages", hi + `"response_format":{"type":"json_schema","json_schema":{"name":"s","schema":{"type":"object"},"strict":true}}}`, "response_format.type", "output_config.format.type", adminv1.Fate_FATE_MAPPED},
		"a strict one":  {"messages", hi + `"response_format":{"type":"json_schema","json_schema":{"name":"s","schema":{"type":"object"},"strict":true}}}`, "response_format.json_schema.strict", "", adminv1.Fate_FATE_IMPLIED},
		"its own words": {"responses", hi + `"reasoning_effort":"low"}`, "reasoning_effort", "reasoning.effort", adminv1.Fate_FATE_MAPPED},
	} {
		resp, err := explainer(t).Explain(t.Context(), &adminv1.ExplainRequest{Protocol: genwayv1.Protocol_PROTOCOL_CHAT_COMPLETIONS, UpstreamProtocol: named(c.to), Body: []byte(c.body)})
		m := fates(resp.GetMembers())[c.path]
		if err != nil || m.GetFate() != c.fate || c.arrives != "" && !slices.Contains(m.GetArrives(), c.arrives) {
			t.Errorf("%s: %v, %v", name, m, err)
		}
	}
}

// A setting of another shape at the upstream, which the target's configuration sets, is not lost: another value arrives.
func TestSettingsThatAreSetAreChanged(t *testing.T) {
	resp, err := explainer(t).Explain(t.Context(), &adminv1.ExplainRequest{Protocol: genwayv1.Protocol_PROTOCOL_CHAT_COMPLETIONS, Body: []byte(`{"model":"e","messages":[{"role":"user","content":"Hi"}],"reasoning_effort":"low"}`)})
	all := fates(resp.GetMembers())
	const arrives = "generationConfig.thinkingConfig.thinkingLevel"
	if m := all["reasoning_effort"]; err != nil || m.GetFate() != adminv1.Fate_FATE_CHANGED || m.GetRule() != "override" || !slices.Contains(m.GetArrives(), arrives) || all["+"+arrives] != nil {
		t.Errorf("%v, %v, %v", err, m, all)
	}
}

// Prompt-cache breakpoints of the target are added, and nothing of the caller's is lost or changed for them.
func TestBreakpointsAreAdded(t *testing.T) {
	resp, err := explainer(t).Explain(t.Context(), &adminv1.ExplainRequest{Protocol: genwayv1.Protocol_PROTOCOL_CHAT_COMPLETIONS, Body: []byte(`{"model":"k","messages":[{"role":"system","content":"Be brief."},{"role":"user","content":"Hi"}]}`)})
	if err != nil || resp.GetRefusal() != nil {
		t.Fatal(err, resp.GetRefusal())
	}
	is := fates(resp.GetMembers())
	for _, path := range []string{"+system[0].cache_control.type", "+messages[0].content[0].cache_control.type"} {
		if m := is[path]; m.GetFate() != adminv1.Fate_FATE_ADDED || m.GetRule() != "override" || m.GetArrivedJson() != `"ephemeral"` {
			t.Errorf("%s: %v", path, m)
		}
	}
	for path, arrives := range map[string]string{"messages[0].content": "system[0].text", "messages[1].content": "messages[0].content[0].text"} {
		if m := is[path]; m.GetFate() != adminv1.Fate_FATE_MAPPED || !slices.Contains(m.GetArrives(), arrives) {
			t.Errorf("%s: %v", path, m)
		}
	}
}

// What is lost comes first and is whole, however many members there are and wherever in the body it is.
func TestLossesComeFirst(t *testing.T) {
	body := `{"model":"c","max_tokens":9,"messages":[` + strings.Repeat(`{"role":"user","content":"`+strings.Repeat("Hi. ", 500)+`"},`, 400) + `{"role":"user","content":[{"type":"text","text":"Hi","cache_control":{"type":"ephemeral"}}]}],"top_k":4}`
	resp, err := explainer(t).Explain(t.Context(), &adminv1.ExplainRequest{Protocol: genwayv1.Protocol_PROTOCOL_MESSAGES, Body: []byte(body)})
	if err != nil || !resp.GetTruncated() || len(resp.GetMembers()) != 500 {
		t.Fatalf("%d members, truncated is %t, %v", len(resp.GetMembers()), resp.GetTruncated(), err)
	}
	for i, m := range resp.GetMembers() {
		if (m.GetFate() == adminv1.Fate_FATE_LOST) != (i < 2) || i == 0 && m.GetPath() != "top_k" || i == 1 && m.GetPath() != "messages[400].content[0].cache_control" {
			t.Errorf("member %d is %s, %v", i, m.GetPath(), m.GetFate())
		}
	}
}

// Each member is said to be what the upstream's body shows it to be.
func TestExplain(t *testing.T) {
	e := explainer(t)
	req := &adminv1.ExplainRequest{Protocol: genwayv1.Protocol_PROTOCOL_CHAT_COMPLETIONS, Body: []byte(`{"model":"m","messages":[{"role":"system","content":"Be brief."},{"role":"user","content":"Hi"}],
		"max_tokens":64,"temperature":0.7,"top_p":0.9,"seed":7,"stop":["x"]}`)}
	resp, err := e.Explain(t.Context(), req)
	if err != nil || resp.GetRefusal() != nil {
		t.Fatal(err, resp.GetRefusal())
	}
	if resp.GetRoute() != "m" || resp.GetUpstream() != "claude" || resp.GetUpstreamProtocol() != genwayv1.Protocol_PROTOCOL_MESSAGES || resp.GetUpstreamModel() != "claude-x" || resp.GetPassedThrough() {
		t.Errorf("the target is %v", resp)
	}
	if !json.Valid(resp.GetUpstreamBody()) || !strings.Contains(string(resp.GetUpstreamBody()), "Be brief.") || !strings.Contains(resp.GetMessageJson(), "Be brief.") || strings.Contains(resp.String(), "canary") {
		t.Errorf("the bodies are %s and %s", resp.GetUpstreamBody(), resp.GetMessageJson())
	}
	is := fates(resp.GetMembers())
	for path, want := range map[string]struct {
		fate    adminv1.Fate
		arrives string
		rule    string
	}{
		"max_tokens":          {adminv1.Fate_FATE_KEPT, "max_tokens", ""},
		"messages[0].content": {adminv1.Fate_FATE_MAPPED, "system", "codec"},
		"model":               {adminv1.Fate_FATE_CHANGED, "model", "codec"},
		"temperature":         {adminv1.Fate_FATE_CHANGED, "temperature", "override"},
		"top_p":               {adminv1.Fate_FATE_LOST, "", "override"},
		"seed":                {adminv1.Fate_FATE_LOST, "", "codec"},
		"stop[0]":             {adminv1.Fate_FATE_MAPPED, "stop_sequences[0]", "codec"},
	} {
		m := is[path]
		if m.GetFate() != want.fate || m.GetRule() != want.rule || want.arrives != "" && (len(m.GetArrives()) == 0 || !strings.HasPrefix(m.GetArrives()[0], want.arrives)) {
			t.Errorf("%s: %v", path, m)
		}
	}
	// The same, refused rather than lost.
	req.Strict = true
	resp, err = e.Explain(t.Context(), req)
	if err != nil || resp.GetRefusal().GetReason() != fault.ReasonUnsupported || len(resp.GetUpstreamBody()) > 0 {
		t.Errorf("strict: %v, %v", resp.GetRefusal(), err)
	}
	if m := fates(resp.GetMembers())[resp.GetRefusal().GetMember()]; m.GetFate() != adminv1.Fate_FATE_REFUSED || m.GetRule() != "strict" {
		t.Errorf("strict: %v", m)
	}
}

// A body that passes through is kept, a target can be chosen, and streams and images are explained too.
func TestExplainTargets(t *testing.T) {
	e := explainer(t)
	const hi = `"messages":[{"role":"user","content":"Hi"}]`
	for name, c := range map[string]struct {
		req    *adminv1.ExplainRequest
		target string
		passed bool
		sent   string
	}{
		"passed through":    {&adminv1.ExplainRequest{Protocol: genwayv1.Protocol_PROTOCOL_CHAT_COMPLETIONS, Body: []byte(`{"model":"c","unknown_member":{"a":[1]},` + hi + `}`)}, "chat", true, "unknown_member"},
		"streamed":          {&adminv1.ExplainRequest{Protocol: genwayv1.Protocol_PROTOCOL_CHAT_COMPLETIONS, Body: []byte(`{"model":"m","stream":true,` + hi + `}`)}, "claude", false, `"stream":true`},
		"a fallback":        {&adminv1.ExplainRequest{Protocol: genwayv1.Protocol_PROTOCOL_CHAT_COMPLETIONS, Upstream: "spare", Body: []byte(`{"model":"m",` + hi + `}`)}, "spare", true, `"m"`},
		"a protocol":        {&adminv1.ExplainRequest{Protocol: genwayv1.Protocol_PROTOCOL_CHAT_COMPLETIONS, UpstreamProtocol: genwayv1.Protocol_PROTOCOL_GENERATE_CONTENT, Body: []byte(`{"model":"any",` + hi + `}`)}, "", false, "contents"},
		"the sandbox":       {&adminv1.ExplainRequest{Protocol: genwayv1.Protocol_PROTOCOL_CHAT_COMPLETIONS, Body: []byte(`{"model":"s",` + hi + `}`)}, "sandbox", false, "messages"},
		"a model of a path": {&adminv1.ExplainRequest{Protocol: genwayv1.Protocol_PROTOCOL_GENERATE_CONTENT, Model: "c", Body: []byte(`{"contents":[{"parts":[{"text":"Hi"}]}]}`)}, "chat", false, "Hi"},
		"images":            {&adminv1.ExplainRequest{Protocol: genwayv1.Protocol_PROTOCOL_IMAGES, UpstreamProtocol: genwayv1.Protocol_PROTOCOL_IMAGES, Body: []byte(`{"model":"i","prompt":"a square"}`)}, "", true, "a square"},
	} {
		resp, err := e.Explain(t.Context(), c.req)
		if err != nil || resp.GetRefusal() != nil || resp.GetUpstream() != c.target || resp.GetPassedThrough() != c.passed || !strings.Contains(strings.ReplaceAll(string(resp.GetUpstreamBody()), " ", ""), strings.ReplaceAll(c.sent, " ", "")) {
			t.Errorf("%s: %v, %v", name, resp, err)
		}
		for _, m := range resp.GetMembers() {
			if c.passed && m.GetPath() != "" && m.GetFate() != adminv1.Fate_FATE_KEPT {
				t.Errorf("%s: %v", name, m)
			}
		}
	}
}

// An answer is explained on its way back.
func TestExplainAnswer(t *testing.T) {
	resp, err := explainer(t).Explain(t.Context(), &adminv1.ExplainRequest{
		Protocol: genwayv1.Protocol_PROTOCOL_CHAT_COMPLETIONS, Body: []byte(`{"model":"m","messages":[{"role":"user","content":"Hi"}]}`),
		Answer: []byte(`{"id":"msg_1","type":"message","role":"assistant","model":"claude-x","content":[{"type":"text","text":"Hello."}],"stop_reason":"end_turn","usage":{"input_tokens":3,"output_tokens":2}}`),
	})
	if err != nil || resp.GetAnswer().GetRefusal() != nil {
		t.Fatal(err, resp)
	}
	is := fates(resp.GetAnswer().GetMembers())
	if m := is["content[0].text"]; m.GetFate() != adminv1.Fate_FATE_MAPPED || !slices.Contains(m.GetArrives(), "choices[0].message.content") {
		t.Errorf("the text is %v in %s", m, resp.GetAnswer().GetCallerBody())
	}
	if m := is["usage.input_tokens"]; !slices.Contains(m.GetArrives(), "usage.prompt_tokens") {
		t.Errorf("the usage is %v", m)
	}
	resp, err = explainer(t).Explain(t.Context(), &adminv1.ExplainRequest{Protocol: genwayv1.Protocol_PROTOCOL_CHAT_COMPLETIONS, Body: []byte(`{"model":"m","messages":[{"role":"user","content":"Hi"}]}`), Answer: []byte(`{"no":`)})
	if err != nil || resp.GetAnswer().GetRefusal() == nil {
		t.Errorf("a cut answer: %v, %v", resp.GetAnswer(), err)
	}
}

// Bodies of strangers are refused in an answer, or explained; nothing panics or takes long.
func TestExplainStrangers(t *testing.T) {
	e := explainer(t)
	deep := strings.Repeat(`[`, 5000) + strings.Repeat(`]`, 5000)
	wide := `{"model":"m","max_tokens":9,"messages":[` + strings.Repeat(`{"role":"user","content":"Hi"},`, 15000) + `{"role":"user","content":"Hi"}]}`
	for name, body := range map[string]string{
		"empty": "", "null": "null", "a list": "[]", "cut": `{"model":"m"`, "twice": `{"model":"m","model":"c","messages":[]}`, "no UTF-8": "{\"model\":\"m\xff\",\"messages\":[]}",
		"a surrogate": `{"model":"m","messages":[{"role":"user","content":"\ud800"}]}`, "numbers": `{"model":"m","messages":[{"role":"user","content":"Hi"}],"max_tokens":9223372036854775807,"temperature":1e400,"seed":-1}`,
		"deep": `{"model":"m","messages":[{"role":"user","content":"Hi"}],"metadata":` + deep + `}`, "wide": wide, "NaN": `{"model":"m","temperature":NaN}`,
		"an empty name": `{"model":"m","":1,"messages":[{"role":"user","content":"Hi"}]}`, "names of paths": `{"model":"m","a.b[0]":1,"messages":[{"role":"user","content":"Hi"}]}`,
	} {
		for _, to := range []string{"messages", "responses", "generate_content", "chat_completions"} {
			if name == "wide" && to != "messages" {
				continue // it takes its time
			}
			resp, err := e.Explain(t.Context(), &adminv1.ExplainRequest{Protocol: genwayv1.Protocol_PROTOCOL_CHAT_COMPLETIONS, UpstreamProtocol: named(to), Body: []byte(body)})
			if err != nil || resp.GetRefusal() == nil && len(resp.GetUpstreamBody()) == 0 {
				t.Errorf("%s to %s: %v", name, to, err)
			}
			if len(resp.GetMembers()) > 500 || name == "wide" && !resp.GetTruncated() {
				t.Errorf("%s to %s: %d members", name, to, len(resp.GetMembers()))
			}
		}
	}
	for name, req := range map[string]*adminv1.ExplainRequest{
		"no protocol":         {},
		"grpc":                {Protocol: genwayv1.Protocol_PROTOCOL_UNSPECIFIED, Body: []byte(`{}`)},
		"a huge body":         {Protocol: genwayv1.Protocol_PROTOCOL_MESSAGES, Body: bytes.Repeat([]byte{' '}, explain.MaxBody+1)},
		"a huge answer":       {Protocol: genwayv1.Protocol_PROTOCOL_MESSAGES, Answer: bytes.Repeat([]byte{' '}, explain.MaxBody+1)},
		"two targets":         {Protocol: genwayv1.Protocol_PROTOCOL_MESSAGES, Upstream: "u", UpstreamProtocol: genwayv1.Protocol_PROTOCOL_MESSAGES},
		"no such target":      {Protocol: genwayv1.Protocol_PROTOCOL_MESSAGES, Upstream: "nobody", Body: []byte(`{"model":"m","max_tokens":1,"messages":[{"role":"user","content":"Hi"}]}`)},
		"no such protocol":    {Protocol: genwayv1.Protocol_PROTOCOL_MESSAGES, UpstreamProtocol: -1, Body: []byte(`{"model":"m","max_tokens":1,"messages":[{"role":"user","content":"Hi"}]}`)},
		"images to text":      {Protocol: genwayv1.Protocol_PROTOCOL_IMAGES, UpstreamProtocol: genwayv1.Protocol_PROTOCOL_MESSAGES, Body: []byte(`{"model":"m","prompt":"x"}`)},
		"a model of no route": {Protocol: genwayv1.Protocol_PROTOCOL_MESSAGES, Body: []byte(`{"model":"nobody","max_tokens":1,"messages":[{"role":"user","content":"Hi"}]}`)},
	} {
		if resp, err := e.Explain(t.Context(), req); err == nil || fault.From(err).Kind != fault.InvalidRequest || fault.From(err).Param == "" {
			t.Errorf("%s: %v, %v", name, resp, err)
		}
	}
	ended, end := context.WithCancel(t.Context())
	end()
	if resp, err := e.Explain(ended, &adminv1.ExplainRequest{Protocol: genwayv1.Protocol_PROTOCOL_MESSAGES, Body: []byte(`{"model":"m","max_tokens":1,"messages":[{"role":"user","content":"Hi"}]}`)}); err == nil && len(resp.GetUpstreamBody()) > 0 && !resp.GetTruncated() {
		t.Errorf("for nobody: %v", resp)
	}
}

// A response in the background is made by the gateway, so that no upstream gets the member.
func TestBackground(t *testing.T) {
	for _, receiver := range []string{"chat_completions", "responses", "messages", "generate_content", "interactions"} {
		resp, err := explainer(t).Explain(t.Context(), &adminv1.ExplainRequest{
			Protocol: genwayv1.Protocol_PROTOCOL_RESPONSES, UpstreamProtocol: named(receiver), Model: "m", Body: []byte(`{"model":"m","input":"Hi","background":true,"max_output_tokens":99}`),
		})
		if err != nil || resp.GetRefusal() != nil || bytes.Contains(resp.GetUpstreamBody(), []byte("background")) || resp.GetPassedThrough() {
			t.Fatal(receiver, err, resp)
		}
		if m := fates(resp.GetMembers())["background"]; m.GetFate() != adminv1.Fate_FATE_IMPLIED || m.GetReason() != "the gateway makes the response in the background" {
			t.Errorf("%s: %v", receiver, m)
		}
	}
}
