package explain_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/core/explain"
	adminv1 "github.com/genway/genway/gen/genway/admin/v1"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"golang.org/x/tools/txtar"
)

// hello is the answer of a messages upstream, whose text comes in two pieces.
const hello = `event: message_start
data: {"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"claude-x","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":3,"output_tokens":1}}}

event: content_block_start
data: {"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"Hm."}}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"c2ln"}}

event: content_block_stop
data: {"type":"content_block_stop","index":0}

event: content_block_start
data: {"type":"content_block_start","index":1,"content_block":{"type":"text","text":""}}

event: content_block_delta
data: {"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"Hel"}}

event: content_block_delta
data: {"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"lo."}}

event: content_block_stop
data: {"type":"content_block_stop","index":1}

event: message_delta
data: {"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{"output_tokens":9}}

event: message_stop
data: {"type":"message_stop"}

`

// chatBody asks for a stream of the model m, whose target speaks messages.
const chatBody = `{"model":"m","stream":true,"messages":[{"role":"user","content":"Hi"}]}`

// named is the protocol with that name in lower case.
func named(name string) genwayv1.Protocol {
	return genwayv1.Protocol(genwayv1.Protocol_value["PROTOCOL_"+strings.ToUpper(name)])
}

func explained(t *testing.T, req *adminv1.ExplainRequest) *adminv1.ExplainedAnswer {
	t.Helper()
	resp, err := explainer(t).Explain(t.Context(), req)
	if err != nil || resp.GetRefusal() != nil || resp.GetAnswer() == nil {
		t.Fatal(err, resp)
	}
	return resp.GetAnswer()
}

// Case U26: the answer of a stream is shown on each side, and each member of it is said to be what the
// caller's events show it to be.
func TestExplainStream(t *testing.T) {
	a := explained(t, &adminv1.ExplainRequest{Protocol: genwayv1.Protocol_PROTOCOL_CHAT_COMPLETIONS, Body: []byte(chatBody), Answer: []byte(hello)})
	if a.GetRefusal() != nil || a.GetTruncated() || !a.GetStream() || a.GetUpstreamEvents() != 11 || a.GetCallerEvents() < 4 {
		t.Errorf("%v", a)
	}
	for side, text := range map[string]string{"upstream": string(a.GetUpstreamBody()), "contract": a.GetMessageJson(), "caller": string(a.GetCallerBody())} {
		if !strings.Contains(text, `"Hello."`) || !strings.Contains(text, "Hm.") {
			t.Errorf("the side of the %s is %s", side, text)
		}
	}
	for path, want := range map[string]struct {
		fate    adminv1.Fate
		arrives string
	}{
		"content[1].text":     {adminv1.Fate_FATE_MAPPED, "choices[0].message.content"},
		"stop_reason":         {adminv1.Fate_FATE_MAPPED, "choices[0].finish_reason"},
		"model":               {adminv1.Fate_FATE_KEPT, "model"},
		"usage.output_tokens": {adminv1.Fate_FATE_IMPLIED, ""}, // the caller has not asked for it: no header names it
	} {
		m := fates(a.GetMembers())[path]
		if m.GetFate() != want.fate || want.arrives != "" && !slices.Contains(m.GetArrives(), want.arrives) || want.fate != adminv1.Fate_FATE_KEPT && m.GetRule() != "codec" {
			t.Errorf("%s: %v in %s", path, m, a.GetCallerBody())
		}
	}
	// The caller that asks for the usage gets it.
	a = explained(t, &adminv1.ExplainRequest{Protocol: genwayv1.Protocol_PROTOCOL_CHAT_COMPLETIONS, Body: []byte(strings.Replace(chatBody, `"stream":true`, `"stream":true,"stream_options":{"include_usage":true}`, 1)), Answer: []byte(hello)})
	if m := fates(a.GetMembers())["usage.output_tokens"]; !slices.Contains(m.GetArrives(), "usage.completion_tokens") {
		t.Errorf("the usage: %v", m)
	}
	// The caller that has not asked for a stream gets one answer.
	a = explained(t, &adminv1.ExplainRequest{Protocol: genwayv1.Protocol_PROTOCOL_CHAT_COMPLETIONS, Body: []byte(strings.Replace(chatBody, `"stream":true,`, "", 1)), Answer: []byte(hello)})
	if m := fates(a.GetMembers())["content[1].text"]; !a.GetStream() || a.GetCallerEvents() != 0 || !slices.Contains(m.GetArrives(), "choices[0].message.content") {
		t.Errorf("a unary caller: %v", a)
	}
	// The caller of the upstream's protocol gets all of it.
	a = explained(t, &adminv1.ExplainRequest{Protocol: genwayv1.Protocol_PROTOCOL_MESSAGES, Body: []byte(`{"model":"m","max_tokens":9,"stream":true,"messages":[{"role":"user","content":"Hi"}]}`), Answer: []byte(hello)})
	for _, m := range a.GetMembers() {
		if m.GetFate() != adminv1.Fate_FATE_KEPT {
			t.Errorf("passed through: %v", m)
		}
	}
	if len(a.GetMembers()) < 8 || !strings.Contains(a.GetMessageJson(), "Hello.") {
		t.Errorf("passed through: %v", a)
	}
}

// What a stream loses is said to be lost for the codec's reason.
func TestExplainStreamLosses(t *testing.T) {
	two := `data: {"candidates":[{"index":0,"content":{"role":"model","parts":[{"text":"One"}]},"finishReason":"STOP"},{"index":1,"content":{"role":"model","parts":[{"text":"Two"}]},"finishReason":"STOP"}],"modelVersion":"g"}` + "\n\n"
	for name, answer := range map[string]string{"stream": two, "unary": strings.TrimPrefix(two, "data: ")} {
		a := explained(t, &adminv1.ExplainRequest{Protocol: genwayv1.Protocol_PROTOCOL_MESSAGES, UpstreamProtocol: genwayv1.Protocol_PROTOCOL_GENERATE_CONTENT, Body: []byte(`{"model":"m","max_tokens":9,"stream":true,"messages":[{"role":"user","content":"Hi"}]}`), Answer: []byte(answer)})
		is := fates(a.GetMembers())
		if m := is["candidates[0].content.parts[0].text"]; !slices.Contains(m.GetArrives(), "content[0].text") {
			t.Errorf("%s: the first is %v", name, m)
		}
		if m := is["candidates[1].content.parts[0].text"]; m.GetFate() != adminv1.Fate_FATE_LOST || !strings.Contains(m.GetReason(), "one answer") {
			t.Errorf("%s: the second is %v", name, m)
		}
	}
}

// until returns a text up to a mark, and from what begins with it.
func until(text, mark string) string {
	head, _, _ := strings.Cut(text, mark)
	return head
}

func from(text, mark string) string { return strings.TrimPrefix(text, until(text, mark)) }

// Case U27: a stream that ends early, fails, is empty or huge is explained as far as it came.
func TestExplainStreamsThatFail(t *testing.T) {
	cut := until(hello, `"lo."`)
	failed := until(hello, "event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":1}") + "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"busy\"}}\n\n"
	long := strings.Replace(hello, `"lo."`, `"`+strings.Repeat("lo ", 1000)+`"`, 1)
	many := strings.Replace(hello, "event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":1}", strings.Repeat("event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":1,\"delta\":{\"type\":\"text_delta\",\"text\":\"x\"}}\n\n", 8000)+"event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":1}", 1)
	var blocks strings.Builder
	for i := range 520 {
		fmt.Fprintf(&blocks, "event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":%d,\"content_block\":{\"type\":\"text\",\"text\":\"a\"}}\n\nevent: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":%d}\n\n", i, i)
	}
	wide := until(hello, "event: content_block_start") + blocks.String() + from(hello, "event: message_delta")
	for name, c := range map[string]struct {
		answer  string
		refusal string // its reason
		has     string // what the upstream's side has
		more    bool
	}{
		"cut in an event":  {cut, fault.ReasonStreamCut, "Hel", false},
		"cut at the start": {until(hello, "event: content_block_start"), fault.ReasonStreamCut, "msg_1", false},
		"fails":            {failed, "UPSTREAM_ERROR", "Hello.", false},
		"fails at once":    {"event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"busy\"}}\n\n", "UPSTREAM_ERROR", "", false},
		"garbage":          {"data: {\"no\":\n\n", fault.ReasonMalformedAnswer, "", false},
		"only pings":       {": ping\n\nevent: ping\ndata: {\"type\":\"ping\"}\n\n", fault.ReasonStreamCut, "", false},
		"blank":            {"\n\n", fault.ReasonStreamCut, "", false},
		"long":             {long, "", "o l", false},
		"many":             {many, "", "xxx", false},
		"wide":             {wide, "", `"a"`, true},
		"no UTF-8":         {strings.Replace(hello, "lo.", "lo\xff.", 1), "", "Hello\uFFFD.", false},
		"twice":            {hello + hello, "", "Hello.", false},
		"out of order":     {from(hello, "event: content_block_delta"), fault.ReasonMalformedAnswer, "", false},
	} {
		t.Run(name, func(t *testing.T) {
			ask := &adminv1.ExplainRequest{Protocol: genwayv1.Protocol_PROTOCOL_CHAT_COMPLETIONS, Body: []byte(chatBody), Answer: []byte(c.answer)}
			if c.more { // nothing is tried out of what passes through
				ask.Protocol, ask.Body = genwayv1.Protocol_PROTOCOL_MESSAGES, []byte(`{"model":"m","max_tokens":9,"stream":true,"messages":[{"role":"user","content":"Hi"}]}`)
			}
			a := explained(t, ask)
			if !a.GetStream() || a.GetRefusal().GetReason() != c.refusal || !strings.Contains(string(a.GetUpstreamBody()), c.has) || c.has == "" && len(a.GetUpstreamBody()) > 0 {
				t.Errorf("%v, %s", a.GetRefusal(), a.GetUpstreamBody())
			}
			if c.refusal != "" && strings.Contains(string(a.GetUpstreamBody()), "end_turn") {
				t.Errorf("an end that never came: %s", a.GetUpstreamBody())
			}
			if a.GetTruncated() != c.more || len(a.GetMembers()) > 500 || c.has != "" && len(a.GetMembers()) < 2 {
				t.Errorf("%d members, more: %t", len(a.GetMembers()), a.GetTruncated())
			}
		})
	}
	resp, err := explainer(t).Explain(t.Context(), &adminv1.ExplainRequest{Protocol: genwayv1.Protocol_PROTOCOL_CHAT_COMPLETIONS, Body: []byte(chatBody), Answer: []byte(strings.Repeat(hello, explain.MaxBody/len(hello)+1))})
	if err == nil || fault.From(err).Param != "answer" {
		t.Errorf("an answer that is too large: %v, %v", resp, err)
	}
}

// A stream of an upstream that takes the contract's messages is explained too.
func TestExplainStreamOfTheContract(t *testing.T) {
	lines := `{"started":{"id":"g","model":"text"}}
{"partStarted":{"part":{"text":{}}}}
{"partDelta":{"text":"Hel"}}
{"partDelta":{"text":"lo."}}
{"partCompleted":{}}
{"completed":{"candidates":[{"stopReason":"STOP_REASON_END_TURN"}]}}
`
	ask := &adminv1.ExplainRequest{Protocol: genwayv1.Protocol_PROTOCOL_CHAT_COMPLETIONS, Body: []byte(strings.Replace(chatBody, `"m"`, `"s"`, 1)), Answer: []byte(lines)}
	a := explained(t, ask)
	if m := fates(a.GetMembers())["candidates[0].parts[0].text.text"]; a.GetRefusal() != nil || a.GetUpstreamEvents() != 6 || !slices.Contains(m.GetArrives(), "choices[0].message.content") {
		t.Errorf("%v", a)
	}
	for _, value := range []string{"true", "false"} {
		resp, err := explainer(t).Explain(t.Context(), &adminv1.ExplainRequest{Protocol: genwayv1.Protocol_PROTOCOL_CHAT_COMPLETIONS, Body: []byte(strings.Replace(string(ask.GetBody()), "true", value, 1))})
		if m := fates(resp.GetMembers())["stream"]; err != nil || m.GetFate() != adminv1.Fate_FATE_IMPLIED || m.GetReason() != "the call says it" {
			t.Errorf("stream is %s: %v, %v", value, m, err)
		}
	}
	ask.Answer = []byte(until(lines, `{"partCompleted`))
	if a = explained(t, ask); a.GetRefusal().GetReason() != fault.ReasonStreamCut || !strings.Contains(string(a.GetCallerBody()), "Hello.") {
		t.Errorf("cut: %v", a)
	}
	ask.Answer = []byte(lines + "no event\n")
	if a = explained(t, ask); a.GetRefusal().GetReason() != fault.ReasonMalformedAnswer {
		t.Errorf("no event: %v", a)
	}
}

// Each recorded stream of the codecs is explained for a caller of its protocol and for one of another, and where it is whole the
// members that pass through unchanged are kept.
func TestExplainRecordedStreams(t *testing.T) {
	bodies := map[string]string{
		"chat_completions": `{"model":"any","stream":true,"stream_options":{"include_usage":true},"messages":[{"role":"user","content":"Hi"}]}`,
		"responses":        `{"model":"any","stream":true,"input":"Hi"}`,
		"messages":         `{"model":"any","stream":true,"max_tokens":9,"messages":[{"role":"user","content":"Hi"}]}`,
		"generate_content": `{"contents":[{"role":"user","parts":[{"text":"Hi"}]}]}`,
	}
	folders := map[string]string{"chat_completions": "chat", "responses": "responses", "messages": "messages", "generate_content": "generatecontent"}
	seen := 0
	for upstream, folder := range folders {
		var files []string
		for _, pattern := range []string{"stream_*.txtar", "stream-*.txtar", "stream/*.txtar"} {
			found, err := filepath.Glob(filepath.Join("..", "..", "codec", folder, "testdata", pattern))
			if err != nil {
				t.Fatal(err)
			}
			files = append(files, found...)
		}
		if len(files) == 0 {
			t.Fatalf("%s has no streams", folder)
		}
		for _, file := range files {
			archive, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			at := slices.IndexFunc(archive.Files, func(f txtar.File) bool { return strings.Contains(string(f.Data), "data: ") })
			if at < 0 {
				continue
			}
			seen++
			for i, caller := range []string{"chat_completions", "responses", "messages", "generate_content"} {
				if body := bodies[caller]; caller == upstream || i == seen%4 {
					check(t, file, caller, upstream, body, archive.Files[at].Data)
				}
			}
		}
	}
	if seen < 15 {
		t.Errorf("only %d streams were explained", seen)
	}
}

// check explains a recorded stream for one caller.
func check(t *testing.T, file, caller, upstream, body string, answer []byte) {
	t.Helper()
	a := explained(t, &adminv1.ExplainRequest{Protocol: named(caller), UpstreamProtocol: named(upstream), Model: "any", Stream: true, Body: []byte(body), Answer: answer})
	name := filepath.Base(file) + " for " + caller
	if !a.GetStream() || a.GetRefusal() == nil && (a.GetTruncated() || len(a.GetCallerBody()) == 0 || len(a.GetMembers()) == 0) {
		t.Errorf("%s: %v", name, a)
	}
	for _, m := range a.GetMembers() {
		if caller == upstream && a.GetRefusal() == nil && m.GetFate() != adminv1.Fate_FATE_KEPT {
			t.Errorf("%s: %v", name, m)
		}
	}
}
