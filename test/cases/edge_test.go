package cases_test

import (
	"strings"
	"testing"

	"github.com/genway/genway/test/cases/answers"
	"github.com/genway/genway/test/cases/harness"
)

func edgeCases() []Case {
	return []Case{
		{"C10", "errors and losses name members as the caller has written them", callersMembers},
		{"C11", "the caller's own identifier of a request is logged on both sides, beside ours", callersIdentifiers},
		{"C12", "what a stream loses is named as it is for a unary answer: in the header, else in the trailer and a comment", streamedLosses},
		{"C13", "a path that a wrong base URL makes is answered with what to set; what vendors offer and Genway does not is said to be so", wrongBases},
		{"C14", "a wrong key is told where it was read and what a key looks like, without echo", wrongKeys},
		{"C15", "a page of an origin that is allowed can ask and read the answer, an error too; any other page cannot", browsers},
		{"C16", "over a WebSocket, upstreams of every protocol answer one request after the other, each with a row of the ledger; what it has answered is continued without being stored, and what is stored over another one; a caller that leaves cancels its call within 0.1 s", overSocket},
	}
}

// callersIdentifiers looks for one in the lines of edge and core.
func callersIdentifiers(t *testing.T) {
	everyWay(t, harness.Texts(), only(harness.Chat), func(t *testing.T, w way) {
		w.Upstream(w.upstream).Answer(answers.Text("fine").Answer(w.upstream, w.streamed))
		call := harness.CallOf(w.caller, w.model(), w.caller.Hello(), w.streamed)
		call.Header.Set("X-Request-ID", "trace-7")
		a := w.Call(call)
		if a.Status != 200 || a.Header.Get("X-Client-Request-Id") != "trace-7" || a.Header.Get("X-Request-ID") == "trace-7" {
			t.Errorf("%d %v", a.Status, a.Header)
		}
		for line := range strings.Lines(w.Log()) {
			if strings.Contains(line, "msg=call ") || strings.Contains(line, "msg=request ") {
				if !strings.Contains(line, " client_request_id=trace-7") || !strings.Contains(line, " key=") || !strings.Contains(line, "request_id="+a.Header.Get("X-Request-ID")) {
					t.Error(line)
				}
			}
		}
	})
}

// streamedLosses compares the losses of the same answers, streamed and not.
func streamedLosses(t *testing.T) {
	for _, caller := range only(harness.Responses, harness.Messages) {
		losses := map[bool]string{}
		everyWay(t, only(caller), only(harness.GenerateContent), func(t *testing.T, w way) {
			w.GenerateContent.Answer(answers.Text("hello").Then(answers.Reply{Parts: []answers.Part{{Redacted: signature}}}).Answer(w.upstream, w.streamed))
			a := w.ask(odd[w.caller])
			losses[w.streamed] = strings.Trim(a.Header.Get("X-Genway-Lost")+", "+a.Trailer.Get("X-Genway-Lost"), ", ")
			if comment := ": x-genway-lost " + a.Trailer.Get("X-Genway-Lost") + "\n\n"; w.streamed && strings.Count(string(a.Body), comment) != 1 {
				t.Errorf("no comment %q in\n%s", comment, a.Body)
			}
		})
		if losses[true] != losses[false] || !strings.Contains(losses[true], "thought_signature") {
			t.Errorf("%s: streamed %q, unary %q", caller, losses[true], losses[false])
		}
	}
}

// wrongBases leaves the version out of each path, and has it twice.
func wrongBases(t *testing.T) {
	g := harness.New(t, harness.Config{})
	for _, p := range append(harness.Texts(), harness.Images) {
		call := harness.CallOf(p, "chat/m", p.Hello(), false)
		version := "/" + strings.Split(call.Path, "/")[1]
		for change, hint := range map[string]string{strings.TrimPrefix(call.Path, version): version, version + call.Path: "must end before " + version} {
			wrong := call
			wrong.Path = change
			if message := native(t, p, g.Call(wrong), 404); !strings.Contains(message, "the base URL of this client must end") || !strings.Contains(message, hint) {
				t.Errorf("%s %s: %q", p, change, message)
			}
		}
		call.Path = version + "/files"
		if p == harness.Interactions { // which has no files
			continue
		}
		if message := native(t, p, g.Call(call), 404); message != call.Path+" is not offered by this server" {
			t.Errorf("%s: %q", p, message)
		}
	}
}

// wrongKeys sends another vendor's key where each protocol has its own.
func wrongKeys(t *testing.T) {
	g := harness.New(t, harness.Config{})
	for _, p := range append(harness.Texts(), harness.Images) {
		call, used := harness.CallOf(p, "chat/m", p.Hello(), false), ""
		for _, name := range keyHeaders {
			if call.Header.Get(name) != "" {
				call.Header.Set(name, map[bool]string{true: "Bearer "}[name == "Authorization"]+"sk-of-another")
				used = strings.ToLower(name)
			}
		}
		a := g.Call(call)
		if message := native(t, p, a, a.Status); !strings.Contains(message, "the header "+used) || !strings.Contains(message, "gwk_") || strings.Contains(string(a.Body), "sk-") {
			t.Errorf("%s: %q", p, message)
		}
	}
}

// browsers asks as a page does, from an origin that is allowed and from one that is not.
func browsers(t *testing.T) {
	const page = "https://app.example"
	g := harness.New(t, harness.Config{CORSOrigins: []string{page}})
	for _, p := range append(harness.Texts(), harness.Images) {
		for _, origin := range []string{page, "https://evil.example"} {
			call := harness.CallOf(p, "nobody/m", p.Hello(), false)
			asked := call
			asked.Method = "OPTIONS"
			asked.Header = map[string][]string{"Origin": {origin}, "Access-Control-Request-Method": {"POST"}, "Access-Control-Request-Headers": {"authorization,x-stainless-lang"}}
			call.Header.Set("Origin", origin)
			preflight, refused := g.Call(asked), g.Call(call)
			native(t, p, refused, 404)
			losses := map[bool]string{true: page}[origin == page]
			if preflight.Status != 204 || preflight.Header.Get("Access-Control-Allow-Origin") != losses || refused.Header.Get("Access-Control-Allow-Origin") != losses {
				t.Errorf("%s from %s: %d %v, %v", p, origin, preflight.Status, preflight.Header, refused.Header)
			}
		}
	}
}

// odd are bodies with members that few protocols have a place for.
var odd = map[harness.Protocol]string{
	harness.Chat: `{"seed":4294967296,"frequency_penalty":1,"messages":[
		{"role":"system","content":"s"},{"role":"user","name":"ann","content":[{"type":"text","text":"hi","cache_control":{"type":"ephemeral"}},
		{"type":"image_url","image_url":{"url":"https://a.example/x.png","detail":"low"}}]}],
		"tools":[{"type":"custom","custom":{"name":"f","format":{"type":"text"}}}],"verbosity":"low","prompt_cache_key":"p"}`,
	harness.Responses: `{"instructions":"s","reasoning":{"effort":"minimal"},"prompt_cache_key":"p","input":[{"role":"developer","content":"d"},
		{"role":"user","content":[{"type":"input_text","text":"hi","prompt_cache_breakpoint":{"ttl":"30m"}},{"type":"input_image","image_url":"https://a.example/x.png","detail":"low"}]}],
		"tools":[{"type":"custom","name":"f","format":{"type":"text"}}],"text":{"verbosity":"low"}}`,
	harness.Messages: `{"max_tokens":4000,"top_k":3,"system":[{"type":"text","text":"s","cache_control":{"type":"ephemeral"}}],"thinking":{"type":"enabled","budget_tokens":2000},
		"messages":[{"role":"user","content":[{"type":"text","text":"hi","cache_control":{"type":"ephemeral","ttl":"1h"}}]}],
		"tools":[{"name":"f","input_schema":{"type":"object"},"cache_control":{"type":"ephemeral"}}]}`,
	harness.GenerateContent: `{"systemInstruction":{"parts":[{"text":"s"}]},"contents":[{"parts":[{"text":"hi","thoughtSignature":"c2ln"},
		{"fileData":{"fileUri":"https://a.example/x.png","mimeType":"image/png"},"mediaResolution":{"level":"LOW"}}]}],
		"generationConfig":{"topK":3,"seed":7,"thinkingConfig":{"thinkingBudget":5000}}}`,
	harness.Interactions: `{"system_instruction":"s","input":[{"type":"user_input","content":[{"type":"text","text":"hi"},{"type":"image","uri":"https://a.example/x.png","mime_type":"image/png","resolution":"low"}]},
		{"type":"thought","signature":"c2ln"},{"type":"model_output","content":[{"type":"text","text":"yes"}]},{"type":"user_input","content":[{"type":"text","text":"go"}]}],
		"generation_config":{"seed":4294967296,"thinking_level":"minimal","thinking_summaries":"auto","max_output_tokens":4000},"labels":{"a":"b"}}`,
}

// callersMembers sends what is lost on the way, and wants each loss to be in the body.
func callersMembers(t *testing.T) {
	named := 0
	everyWay(t, harness.Texts(), harness.Texts(), func(t *testing.T, w way) {
		if w.caller == w.upstream {
			return
		}
		w.Upstream(w.upstream).Answer(answers.Text("fine").Answer(w.upstream, w.streamed))
		a := w.ask(odd[w.caller])
		if a.Status != 200 {
			t.Fatalf("status %d: %s", a.Status, a.Body)
		}
		sent := parse(t, []byte(odd[w.caller]))
		for lost := range strings.SplitSeq(a.Header.Get("X-Genway-Lost"), ", ") {
			if lost == "" || lost == "max_completion_tokens" || lost == "max_output_tokens" || lost == "generationConfig.maxOutputTokens" {
				continue // a limit that the upstream demands was not sent
			}
			named++
			if len(sent.At(lost).Raw) == 0 {
				t.Errorf("%s is lost, which was not sent", lost)
			}
		}
	})
	if named < 40 {
		t.Errorf("%d losses are named", named)
	}
}
