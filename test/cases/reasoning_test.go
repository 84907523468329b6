package cases_test

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/genway/genway/core/catalog"
	"github.com/genway/genway/core/route"
	"github.com/genway/genway/core/upstream"
	"github.com/genway/genway/core/upstream/remote"
	"github.com/genway/genway/test/cases/answers"
	"github.com/genway/genway/test/cases/fake"
	"github.com/genway/genway/test/cases/harness"
	"github.com/genway/genway/test/cases/requests"
	"github.com/genway/genway/test/cases/transcript"
)

func reasoningCases() []Case {
	return []Case{
		{"R1", "a thought signature survives the client's round trip, byte for byte", thoughtSignatures},
		{"R2", "an empty text with a signature is content", emptySignedText},
		{"R3", "a signature comes as signature_delta, after the thinking and before the block's end", signatureDelta},
		{"R4", "no signature is invented for a caller; a call of the history that has none goes to a model that demands one with the value which its vendor documents, and never in place of a real one", noInventedSignature},
		{"R5", "reasoning_content becomes thinking for every caller", reasoningContent},
		{"R6", "redacted and encrypted reasoning is kept and goes back to who made it", redactedReasoning},
		{"R7", "foreign and unsigned reasoning is kept from upstreams that verify it, and goes to others", foreignReasoning},
		{"R8", "reasoning is given back on every turn, to every family of upstreams", reasoningReplay},
		{"R9", "efforts pass through as words; a downgrade is told", effortWords},
		{"R10", "signatures and encrypted reasoning go back to the account that made them, in the protocol of every caller, and elsewhere are left out", reasoningOfAccounts},
		{"R12", "what a model refuses is written to it in a form that it takes, else left out and named, else refused by name: how it is asked to think, sampling beside it, a call that is demanded, a schema beside functions; strict refuses what would be named", modelRules},
	}
}

// Signatures are standard base64, as the vendors' are; thoughts are prose.
const (
	signature = "Q2lRQmNzaWduYXR1cmU+Pz8vLysr/w=="
	thought   = "First I think, then I answer."
)

// again has the caller send the turn back with more behind it, and returns what the
// upstream sees of the conversation.
func (w way) again(t *testing.T, turn transcript.Transcript, more ...string) probeValue {
	t.Helper()
	turns := append([]string{requests.User(w.caller, "hi"), turn.Echo}, more...)
	return w.sees(t, requests.Body(w.caller, []string{requests.Tools(w.caller, false, weather)}, turns...))
}

// result is the result of the turn's first call.
func (w way) result(t *testing.T, turn transcript.Transcript) string {
	t.Helper()
	if len(turn.Calls) == 0 {
		t.Fatalf("no calls in %s", turn.Echo)
	}
	return requests.Result(w.caller, turn.Calls[0].ID, turn.Calls[0].Name, "sun")
}

// count demands how often a text stands in what was seen.
func count(t *testing.T, seen probeValue, text string, want int) {
	t.Helper()
	if n := strings.Count(string(seen.Raw), text); n != want {
		t.Errorf("%s stands %d times, want %d, in %s", text, n, want, seen.Raw)
	}
}

func thoughtSignatures(t *testing.T) {
	turn := answers.Reply{Parts: []answers.Part{
		{Call: &answers.Call{Name: "weather", Arguments: paris, Signature: signature}},
		{Call: &answers.Call{Name: "time", Arguments: `{}`}},
	}}
	everyWay(t, harness.Texts(), only(harness.GenerateContent), func(t *testing.T, w way) {
		received := w.receive(t, turn)
		calls(t, received, transcript.Call{Name: "weather", Arguments: paris}, transcript.Call{Name: "time", Arguments: `{}`})
		if w.caller == harness.Chat {
			at := parse(t, []byte(received.Echo)).At("tool_calls[0].extra_content.google.thought_signature")
			if at.Text() == "" {
				t.Errorf("not in the vendor's own place: %s", received.Echo)
			}
			parse(t, []byte(received.Echo)).At("tool_calls[1].extra_content").Absent(t)
		}
		seen := w.again(t, received, w.result(t, received))
		seen.At("contents[1].parts[0].thoughtSignature").Is(t, strconv.Quote(signature))
		seen.At("contents[1].parts[0].functionCall.args").Is(t, paris)
		seen.At("contents[1].parts[1].thoughtSignature").Absent(t)
		count(t, seen, signature, 1)
	})
	everyWay(t, signingTexts(), only(harness.GenerateContent), func(t *testing.T, w way) {
		w.GenerateContent.Answer(w.altered(answers.Text("hello"), `"text":"hello"`, `"text":"hello","thoughtSignature":"`+signature+`"`, `"text":"llo"`, `"text":"llo","thoughtSignature":"`+signature+`"`))
		received := transcript.Read(t, w.caller, w.ask(w.caller.Hello()), w.streamed)
		if received.Text != "hello" {
			t.Errorf("text %q", received.Text)
		}
		count(t, w.again(t, received, requests.User(w.caller, "and?")), `"thoughtSignature":"`+signature+`"`, 1)
	})
}

// signingTexts are the callers whose protocols have a place for the signature of a
// text. The others could only have it in a block of its own behind the text, since
// a stream learns of it there, and agents that take the last block of an answer for
// its result would print an empty one. The vendor demands back no signature but
// those of calls.
func signingTexts() []harness.Protocol { return only(harness.Chat, harness.GenerateContent) }

// emptySignedText: the newest models end a stream with such a part.
func emptySignedText(t *testing.T) {
	everyWay(t, signingTexts(), only(harness.GenerateContent), func(t *testing.T, w way) {
		w.GenerateContent.Answer(answers.Text("hello").Then(answers.Reply{Parts: []answers.Part{{Redacted: signature}}}).Answer(w.upstream, w.streamed))
		received := transcript.Read(t, w.caller, w.ask(w.caller.Hello()), w.streamed)
		if received.Text != "hello" || len(received.Signatures) != 1 {
			t.Errorf("text %q, signatures %q", received.Text, received.Signatures)
		}
		count(t, w.again(t, received, requests.User(w.caller, "and?")), `"thoughtSignature":"`+signature+`"`, 1)
	})
	everyWay(t, others(signingTexts()...), only(harness.GenerateContent), func(t *testing.T, w way) {
		w.GenerateContent.Answer(answers.Text("hello").Then(answers.Reply{Parts: []answers.Part{{Redacted: signature}}}).Answer(w.upstream, w.streamed))
		a := w.ask(w.caller.Hello())
		received := transcript.Read(t, w.caller, a, w.streamed)
		if received.Text != "hello" || len(received.Signatures) != 0 || strings.Contains(string(a.Body), "thinking\"") || strings.Contains(string(a.Body), `"type":"reasoning"`) {
			t.Errorf("text %q and a block behind it: %s", received.Text, a.Body)
		}
		if lost := a.Header.Get("X-Genway-Lost") + a.Trailer.Get("X-Genway-Lost"); !strings.Contains(lost, "thought_signature") {
			t.Errorf("lost %q", lost)
		}
	})
}

// signed is a turn of signed thinking as the upstream's protocol has it.
func (w way) signed() fake.Answer {
	turn := answers.Think(thought, signature).Then(answers.Text("hello"))
	if w.upstream != harness.Chat {
		return turn.Answer(w.upstream, w.streamed)
	}
	both := func(text, seal string) string {
		return `"reasoning_content":"` + text + `","reasoning_details":[{"type":"reasoning.text","text":"` + text + `"` + seal + `,"format":"anthropic-claude-v1","index":0}]`
	}
	begun, rest := thought[:len(thought)/2], thought[len(thought)/2:]
	sealed := `,"signature":"` + signature + `"`
	return w.altered(turn, `"reasoning_content":"`+thought+`"`, both(thought, sealed),
		`"reasoning_content":"`+begun+`"`, both(begun, ""), `"reasoning_content":"`+rest+`"`, both(rest, sealed))
}

func signatureDelta(t *testing.T) {
	for _, p := range harness.Texts() {
		t.Run("over "+string(p), func(t *testing.T) {
			w := way{Gateway: harness.New(t, harness.Config{}), caller: harness.Messages, upstream: p, streamed: true}
			w.Upstream(p).Answer(w.signed())
			a := w.ask(w.caller.Hello())
			received := transcript.Read(t, w.caller, a, true)
			if received.Thinking == "" || len(received.Signatures) != 1 {
				t.Fatalf("thinking %q, signatures %q:\n%s", received.Thinking, received.Signatures, a.Body)
			}
			var order []string
			for _, f := range a.Frames() {
				if f.Comment != "" {
					continue
				}
				v := f.JSON()
				if string(v.At("index").Raw) == "0" {
					order = append(order, strings.TrimPrefix(f.Event, "content_block_")+v.At("delta.type").Text())
				}
			}
			last := strings.Join(order[max(0, len(order)-3):], " ")
			if order[0] != "start" || last != "deltathinking_delta deltasignature_delta stop" {
				t.Errorf("the block is %v", order)
			}
		})
	}
}

func noInventedSignature(t *testing.T) {
	everyWay(t, harness.Texts(), only(harness.Chat, harness.GenerateContent), func(t *testing.T, w way) {
		w.Upstream(w.upstream).Answer(answers.Think(thought, "").Then(answers.Text("hello")).Answer(w.upstream, w.streamed))
		a := w.ask(w.caller.Hello())
		received := transcript.Read(t, w.caller, a, w.streamed)
		if received.Thinking != thought || len(received.Signatures) != 0 {
			t.Errorf("thinking %q, signatures %q", received.Thinking, received.Signatures)
		}
		for _, name := range []string{`"signature"`, `"signature_delta"`, `"encrypted_content"`, `"thoughtSignature"`, `"thought_signature"`, `"reasoning_details"`} {
			if strings.Contains(string(a.Body), name) && !strings.Contains(string(a.Body), name+":null") {
				t.Errorf("%s out of nothing: %s", name, a.Body)
			}
		}
	})
	const absent = `"thoughtSignature":"skip_thought_signature_validator"`
	everyWay(t, others(harness.GenerateContent), only(harness.GenerateContent), func(t *testing.T, w way) {
		history := []string{
			requests.User(w.caller, "hi"),
			requests.Call(w.caller, [3]string{"call_1", "weather", paris}, [3]string{"call_2", "time", `{}`}), requests.Result(w.caller, "call_1", "weather", "sun"), requests.Result(w.caller, "call_2", "time", "noon"),
			requests.Call(w.caller, [3]string{"call_3", "time", `{}`}), requests.Result(w.caller, "call_3", "time", "noon"),
		}
		for model, demands := range map[string]bool{"gemini-3-pro-preview": true, "gemini-2.5-pro": false} {
			w.target = model
			seen := w.sees(t, requests.Body(w.caller, nil, history...))
			if !demands {
				count(t, seen, "thoughtSignature", 0)
				continue
			}
			count(t, seen, "thoughtSignature", 2)
			for _, at := range []string{"contents[1].parts[0]", "contents[3].parts[0]"} {
				seen.At(at+".thoughtSignature").Is(t, `"skip_thought_signature_validator"`)
			}
			if lost := w.lost(t, requests.Body(w.caller, nil, history...)); lost != "" {
				t.Errorf("lost %q", lost)
			}
		}
		w.target = "gemini-3-pro-preview"
		received := w.receive(t, answers.Reply{Parts: []answers.Part{
			{Call: &answers.Call{Name: "weather", Arguments: paris, Signature: signature}}, {Call: &answers.Call{Name: "time", Arguments: `{}`}},
		}})
		seen := w.again(t, received, w.result(t, received))
		count(t, seen, absent, 0)
		count(t, seen, signature, 1)
	})
	// A caller of the vendor's own protocol says it itself.
	w := way{Gateway: harness.New(t, harness.Config{}), caller: harness.GenerateContent, upstream: harness.GenerateContent, target: "gemini-3-pro"}
	count(t, w.sees(t, requests.Body(w.caller, nil, requests.User(w.caller, "hi"), requests.Call(w.caller, [3]string{"", "time", `{}`}), requests.Result(w.caller, "", "time", "noon"))), "thoughtSignature", 0)
}

func reasoningContent(t *testing.T) {
	for _, name := range []string{"reasoning_content", "reasoning"} {
		everyWay(t, others(harness.Chat), only(harness.Chat), func(t *testing.T, w way) {
			w.Chat.Answer(w.altered(answers.Think(thought, "").Then(answers.Text("hello")), `"reasoning_content"`, strconv.Quote(name)))
			a := w.ask(w.caller.Hello())
			received := transcript.Read(t, w.caller, a, w.streamed)
			if received.Thinking != thought || received.Text != "hello" {
				t.Errorf("thinking %q, text %q", received.Thinking, received.Text)
			}
			first := map[harness.Protocol]string{harness.Messages: `"type":"thinking"`, harness.Responses: `"type":"reasoning"`, harness.GenerateContent: `"thought":true`, harness.Interactions: `"type":"thought"`}[w.caller]
			if place := bytes.Index(a.Body, []byte(first)); place < 0 || place > bytes.Index(a.Body, []byte("hello")) && !w.streamed {
				t.Errorf("no %s ahead of the text in %s", first, a.Body)
			}
		})
	}
}

func redactedReasoning(t *testing.T) {
	const data = "EmwKAhgBIgzOpaque+data/for=the=vendor=="
	turn := answers.Reply{Parts: []answers.Part{{Redacted: data}}}.Then(answers.Tool("call_1", "weather", paris))
	want := map[harness.Protocol]string{
		harness.Messages:     fmt.Sprintf(`{"type":"redacted_thinking","data":%q}`, data),
		harness.Responses:    fmt.Sprintf(`"encrypted_content":%q`, data),
		harness.Chat:         fmt.Sprintf(`"data":%q`, data),
		harness.Interactions: fmt.Sprintf(`"signature":%q`, data),
	}
	everyWay(t, harness.Texts(), others(harness.GenerateContent), func(t *testing.T, w way) {
		received := w.receive(t, turn)
		if len(received.Signatures) != 1 {
			t.Errorf("signatures %q", received.Signatures)
		}
		seen := w.again(t, received, w.result(t, received))
		count(t, seen, data, 1)
		if w.upstream == harness.Messages {
			seen.At("messages[1].content[0]").Is(t, want[harness.Messages])
			return
		}
		count(t, seen, want[w.upstream], 1)
	})
}

// accountsOf is a vendor with accounts, of which each reads only what it has signed or encrypted itself.
type accountsOf struct {
	*fake.Upstream
	maker harness.Protocol
}

// seal is what an account signs and encrypts with: standard base64, as the vendors' values are.
func (accountsOf) seal(account string) string {
	return base64.StdEncoding.EncodeToString([]byte("what only " + account + " can read?>~"))
}

// seals is how many of them a turn has.
func (v accountsOf) seals() int {
	if v.maker == harness.Messages {
		return 2
	}
	return 1
}

// key is the account that a request is made with.
func (accountsOf) key(r fake.Request) string {
	return strings.TrimPrefix(r.Header.Get("Authorization")+r.Header.Get("X-Api-Key")+r.Header.Get("X-Goog-Api-Key"), "Bearer ")
}

// thinks answers with what the account asked seals, in each form that the vendor has.
func (v accountsOf) thinks(streamed bool) {
	turn := func(account string) fake.Answer {
		call := answers.Call{ID: "call_1", Name: "weather", Arguments: paris}
		parts := []answers.Part{{Redacted: v.seal(account)}}
		if v.maker == harness.Messages {
			parts = append(parts, answers.Part{Thinking: thought, Signature: v.seal(account)})
		}
		if v.maker == harness.GenerateContent {
			parts, call.Signature = nil, v.seal(account)
		}
		return answers.Reply{Parts: append(parts, answers.Part{Call: &call})}.Answer(v.maker, streamed)
	}
	v.Answer(turn("a").If(func(r fake.Request) (fake.Answer, bool) { return turn("b"), v.key(r) == "b" }))
}

// reads answers a turn, and refuses one with a value of the other account.
func (v accountsOf) reads(streamed bool) {
	refusals := map[harness.Protocol]string{
		harness.Responses:       `{"error":{"message":"The encrypted content could not be verified.","type":"invalid_request_error","code":"invalid_encrypted_content"}}`,
		harness.Messages:        "{\"type\":\"error\",\"error\":{\"type\":\"invalid_request_error\",\"message\":\"messages.1.content.0: Invalid `signature` in `thinking` block\"}}",
		harness.Interactions:    `{"error":{"code":"invalid_argument","message":"Thought signature is not valid."}}`,
		harness.GenerateContent: `{"error":{"code":400,"message":"Thought signature is not valid.","status":"INVALID_ARGUMENT"}}`,
	}
	v.Answer(answers.Text("fine").Answer(v.maker, streamed).If(func(r fake.Request) (fake.Answer, bool) {
		other := map[string]string{"a": "b", "b": "a"}[v.key(r)]
		return fake.Refusal(400, refusals[v.maker]), bytes.Contains(r.Body, []byte(v.seal(other))) || bytes.Contains(r.Body, []byte("genway"))
	}))
}

// gate is a gateway whose route has the accounts.
func (v accountsOf) gate(t *testing.T, accounts ...string) *harness.Gateway {
	t.Helper()
	one := route.Route{Model: "m"}
	for _, name := range accounts {
		transport := remote.NewTransport(remote.Way{})
		t.Cleanup(transport.CloseIdleConnections)
		u, err := remote.New(remote.Config{Name: name, Protocol: v.maker.ID(), BaseURL: v.URL, APIKey: name, HTTP: transport})
		if err != nil {
			t.Fatal(err)
		}
		one.Targets = append(one.Targets, route.Target{Name: name, Upstream: u, Protocol: v.maker.ID()})
	}
	one.Sticky = one.SeveralAccounts()
	return harness.New(t, harness.Config{Wrap: func(upstream.Upstream) upstream.Upstream { return route.New([]route.Route{one}) }})
}

// reasoningOfAccounts has a route of two accounts, of which each can read only its own reasoning: the second turn goes
// to the one that made it, and at the other one the reasoning is left out and named, with all else in its place.
func reasoningOfAccounts(t *testing.T) {
	for _, maker := range others(harness.Chat) {
		for _, caller := range harness.Texts() {
			for _, streamed := range []bool{false, true} {
				t.Run(fmt.Sprint(maker, " for ", caller, " streamed ", streamed), func(t *testing.T) {
					secondTurns(t, accountsOf{fake.New(t), maker}, caller, streamed)
				})
			}
		}
	}
}

func secondTurns(t *testing.T, vendor accountsOf, caller harness.Protocol, streamed bool) {
	ask := func(g *harness.Gateway, body string) harness.Answer {
		t.Helper()
		a := g.Call(harness.CallOf(caller, "m", body, streamed))
		if a.Status != 200 {
			t.Fatalf("status %d: %s", a.Status, a.Body)
		}
		return a
	}
	both, made := vendor.gate(t, "a", "b"), map[string]bool{}
	for n := 0; n < 3 || len(made) < 2; n++ {
		if n == 64 {
			t.Fatalf("all went to %v", made)
		}
		begin := requests.User(caller, fmt.Sprint("conversation ", n))
		tools := []string{requests.Tools(caller, false, weather)}
		vendor.thinks(streamed)
		first := ask(both, requests.Body(caller, tools, begin))
		maker := vendor.key(vendor.Last(t))
		made[maker] = true
		if native := caller == vendor.maker && caller != harness.Responses; native == (bytes.Contains(first.Body, []byte("genway")) || bytes.Contains(first.Body, []byte("Z2Vud2F5"))) {
			t.Fatalf("the caller is to have the vendor's own value: %t, in %s", native, first.Body)
		}
		received := transcript.Read(t, caller, first, streamed)
		body := requests.Body(caller, tools, begin, received.Echo, way{caller: caller}.result(t, received))
		for range 3 {
			vendor.reads(streamed)
			ask(both, body)
			got := vendor.Last(t)
			if vendor.key(got) != maker {
				t.Fatalf("the turn went to %s, and %s made its reasoning", vendor.key(got), maker)
			}
			count(t, parse(t, got.Body), vendor.seal(maker), vendor.seals())
		}
		if n > 0 {
			continue
		}
		vendor.reads(streamed)
		ask(vendor.gate(t, maker), body)
		count(t, parse(t, vendor.Last(t).Body), vendor.seal(maker), vendor.seals())
		if caller == vendor.maker && caller != harness.Responses {
			continue // nothing in it says whose it is
		}
		vendor.reads(streamed)
		a := ask(vendor.gate(t, map[string]string{"a": "b", "b": "a"}[maker]), body)
		switch seen := parse(t, vendor.Last(t).Body); vendor.maker {
		case harness.GenerateContent:
			count(t, seen, "weather", 4)
			count(t, seen, `"thoughtSignature":"skip_thought_signature_validator"`, 1)
		case harness.Interactions: // whose results have the name
			count(t, seen, "weather", 4)
		default:
			count(t, seen, "weather", 3)
		}
		if a.Header.Get("X-Genway-Lost")+a.Trailer.Get("X-Genway-Lost") == "" {
			t.Error("nothing is named as lost")
		}
	}
}

// modelRules asks models of today for what they refuse, by their rows in the catalogue that ships.
func modelRules(t *testing.T) {
	const gemini = `"generationConfig":{"temperature":1,"topP":0.95,"topK":64,"thinkingConfig":{"includeThoughts":true,"thinkingBudget":%d}}`
	forced := requests.Tools(harness.Chat, false, weather) + "," + requests.Choice(harness.Chat, "weather")
	for _, c := range []struct {
		name             string
		caller, upstream harness.Protocol
		model, members   string
		want             map[string]string // by path; empty is absent
		lost, refused    string
	}{
		{
			"Gemini CLI's own body", harness.GenerateContent, harness.Messages, "claude-sonnet-4-5", fmt.Sprintf(gemini, 8192),
			map[string]string{"thinking.type": `"enabled"`, "thinking.budget_tokens": "8192", "temperature": "", "top_p": "0.95", "top_k": ""}, "generationConfig.topK", "",
		},
		{
			"a model that decides itself, asked for a budget", harness.GenerateContent, harness.Messages, "claude-sonnet-4-5", fmt.Sprintf(gemini, -1),
			map[string]string{"thinking.type": `"enabled"`, "thinking.budget_tokens": "8192"}, "generationConfig.thinkingConfig generationConfig.topK", "",
		},
		{
			"Codex' reasoning", harness.Responses, harness.Messages, "claude-haiku-4-5", `"max_output_tokens":32000,"reasoning":{"effort":"medium","summary":"auto"}`,
			map[string]string{"thinking.type": `"enabled"`, "thinking.budget_tokens": "8192", "output_config": ""}, "reasoning.effort", "",
		},
		{
			"no room for thinking", harness.Responses, harness.Messages, "claude-haiku-4-5", `"max_output_tokens":1024,"reasoning":{"summary":"auto"}`,
			map[string]string{"thinking.type": `"disabled"`}, "reasoning", "",
		},
		{
			"sampling that a model refuses while it reasons", harness.Chat, harness.Responses, "gpt-6.1-terra", `"temperature":0.5,"reasoning_effort":"minimal"`,
			map[string]string{"temperature": "", "reasoning.effort": `"low"`}, "reasoning_effort temperature", "",
		},
		{
			"the same, asked not to", harness.Chat, harness.Responses, "gpt-6.1-terra", `"temperature":0.5,"reasoning_effort":"none"`,
			map[string]string{"temperature": "0.5", "reasoning.effort": `"none"`}, "", "",
		},
		{
			"a budget above the largest", harness.Messages, harness.GenerateContent, "gemini-2.5-flash", `"thinking":{"type":"enabled","budget_tokens":60000}`,
			map[string]string{"generationConfig.thinkingConfig.thinkingBudget": "24576"}, "thinking.budget_tokens", "",
		},
		{
			"a call that cannot be demanded", harness.Chat, harness.Messages, "claude-opus-5-5", forced,
			map[string]string{"tool_choice.type": `"auto"`, "tools[0].name": `"weather"`}, "tool_choice", "",
		},
		{
			"a call that is demanded, thinking", harness.Chat, harness.Messages, "claude-sonnet-4-5", forced + `,"reasoning_effort":"low"`,
			map[string]string{"tool_choice.type": `"tool"`, "thinking.type": `"disabled"`}, "reasoning_effort", "",
		},
		{
			"a schema beside functions", harness.Chat, harness.GenerateContent, "gemini-2.5-pro",
			requests.Tools(harness.Chat, false, weather) + `,"response_format":{"type":"json_schema","json_schema":{"name":"a","schema":{"type":"object"}}}`, nil, "", "response_format",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			body := requests.Body(c.caller, []string{c.members}, requests.User(c.caller, "hi"))
			for _, strict := range []bool{false, true} {
				g := harness.New(t, harness.Config{Wrap: func(all upstream.Upstream) upstream.Upstream {
					target := route.Target{Name: "u", Upstream: all, Protocol: c.upstream.ID(), Model: string(c.upstream) + "/" + c.model, Catalog: catalog.Shipped()}
					return route.New([]route.Route{{Model: "m", Strict: strict, Targets: []route.Target{target}}})
				}})
				for _, streamed := range []bool{false, true} {
					g.Upstream(c.upstream).Answer(answers.Text("fine").Answer(c.upstream, streamed))
					a := g.Call(harness.CallOf(c.caller, "m", body, streamed))
					if strict && c.lost != "" || c.refused != "" {
						if named := c.refused; a.Status != 400 || !strings.Contains(string(a.Body), named) {
							t.Errorf("strict %t: status %d: %s, want 400 for %s", strict, a.Status, a.Body, named)
						}
						continue
					}
					if lost := a.Header.Get("X-Genway-Lost"); a.Status != 200 || strings.ReplaceAll(lost, ",", "") != c.lost {
						t.Fatalf("strict %t: status %d, lost %q, want %q: %s", strict, a.Status, lost, c.lost, a.Body)
					}
					seen := parse(t, g.Upstream(c.upstream).Last(t).Body)
					for path, want := range c.want {
						if at := seen.At(path); want == "" {
							at.Absent(t)
						} else {
							at.Is(t, want)
						}
					}
				}
			}
		})
	}
}
