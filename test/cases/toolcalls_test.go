package cases_test

import (
	"strings"
	"testing"

	"github.com/genway/genway/test/cases/answers"
	"github.com/genway/genway/test/cases/fake"
	"github.com/genway/genway/test/cases/harness"
	"github.com/genway/genway/test/cases/transcript"
)

func toolCallCases() []Case {
	return []Case{
		{"T1", "a turn that calls tools ends with the protocol's word for it; truncation wins", textThenTool},
		{"T2", "no content block is opened for empty text", noEmptyText},
		{"T3", "generateContent's call in one chunk and STOP in the next end a chat stream with tool_calls", finishOverWholeStream},
		{"T4", "exactly one finish per choice, on its last chunk", oneFinish},
		{"T5", "a completed choice always has a finish reason", alwaysFinish},
		{"T6", "an unknown native stop reason never becomes content_filter and stays readable", unknownStopReason},
		{"T7", "the finish chunk of a chat stream has a delta object", finishChunkHasDelta},
		{"T8", "parallel calls are dense, in order, named once, all in one choice", parallelCalls},
		{"T9", "content blocks of parallel calls do not overlap", blocksDoNotOverlap},
		{"T10", "a call without arguments has {} on the wire, and input {} when replayed", noArguments},
		{"T11", "a finish that is repeated emits nothing twice", repeatedFinish},
		{"T12", "a call cut by the token limit keeps its partial arguments and says so", cutArguments},
		{"T21", "an answer that ends within the arguments of a call, by [DONE], by the end of the bytes or by a reason to stop that says it is whole, fails for every caller, streamed as unary, and the call never looks complete", brokenOffCalls},
		{"T22", "a call of a cut answer whose arguments never came is incomplete, or left out and named, and never has {}", callsWithoutArguments},
		{"T23", "words of ends that are not the caller's vendor's become the most cautious word that its SDK knows, with the upstream's word beside it; an engine's word for a natural end is one", foreignEnds},
	}
}

// words are how each protocol says why an answer ended.
var words = map[harness.Protocol]struct{ ended, called, truncated string }{
	harness.Chat:            {"stop", "tool_calls", "length"},
	harness.Responses:       {"completed", "completed", "max_output_tokens"},
	harness.Messages:        {"end_turn", "tool_use", "max_tokens"},
	harness.GenerateContent: {"STOP", "STOP", "MAX_TOKENS"},
	harness.Interactions:    {"completed", "requires_action", "incomplete"},
}

const paris = `{"city":"Paris"}`

// calls demands the tool calls of a turn. Identifiers are compared only where
// they are given.
func calls(t *testing.T, got transcript.Transcript, want ...transcript.Call) {
	t.Helper()
	ok := len(got.Calls) == len(want)
	for i := 0; ok && i < len(want); i++ {
		ok = got.Calls[i].Name == want[i].Name && got.Calls[i].Arguments == want[i].Arguments &&
			(want[i].ID == "" || got.Calls[i].ID == want[i].ID)
	}
	if !ok {
		t.Errorf("calls %q, want %q", got.Calls, want)
	}
}

func finishes(t *testing.T, got transcript.Transcript, want string) {
	t.Helper()
	if got.Finish != want {
		t.Errorf("ends with %q, want %q", got.Finish, want)
	}
}

func textThenTool(t *testing.T) {
	reply := answers.Text("Let me look.").Then(answers.Tool("call_1", "weather", paris))
	everyWay(t, harness.Texts(), harness.Texts(), func(t *testing.T, w way) {
		got := w.receive(t, reply)
		if got.Text != "Let me look." {
			t.Errorf("text %q", got.Text)
		}
		calls(t, got, transcript.Call{ID: "call_1", Name: "weather", Arguments: paris})
		finishes(t, got, words[w.caller].called)
		finishes(t, w.receive(t, reply.Cut()), words[w.caller].truncated)
	})
	// Engines that say "stop" although they call.
	everyWay(t, others(harness.Chat), only(harness.Chat), func(t *testing.T, w way) {
		w.Chat.Answer(w.altered(reply, `"tool_calls"`+"}", `"stop"}`, `"finish_reason":"tool_calls"`, `"finish_reason":"stop"`))
		got := transcript.Read(t, w.caller, w.ask(w.caller.Hello()), w.streamed)
		calls(t, got, transcript.Call{ID: "call_1", Name: "weather", Arguments: paris})
		finishes(t, got, words[w.caller].called)
	})
}

// altered is the turn as the upstream says it, with replacements in its JSON.
func (w way) altered(reply answers.Reply, oldnew ...string) fake.Answer {
	replace := strings.NewReplacer(oldnew...).Replace
	if !w.streamed {
		return fake.JSON(replace(reply.Body(w.upstream)))
	}
	events := reply.Events(w.upstream)
	for i := range events {
		events[i] = replace(events[i])
	}
	return fake.Stream(fake.Events(events...)...)
}

func noEmptyText(t *testing.T) {
	call := answers.Tool("call_1", "weather", paris)
	empty := map[harness.Protocol]struct{ unary, streamed []string }{
		harness.Chat: {[]string{`"content":null`, `"content":""`}, []string{`"role":"assistant","content":""}`, `"role":"assistant","content":"","reasoning_content":""}`}},
		harness.Messages: {
			[]string{`"content":[`, `"content":[{"type":"text","text":""},`}, nil,
		},
		harness.GenerateContent: {[]string{`"parts":[{"functionCall"`, `"parts":[{"text":""},{"functionCall"`}, []string{`"parts":[{"functionCall"`, `"parts":[{"text":""},{"functionCall"`}},
	}
	everyWay(t, harness.Texts(), only(harness.Chat, harness.Messages, harness.GenerateContent), func(t *testing.T, w way) {
		if w.caller == w.upstream {
			return
		}
		change := empty[w.upstream].unary
		if w.streamed {
			change = empty[w.upstream].streamed
		}
		w.Upstream(w.upstream).Answer(w.altered(call, change...))
		a := w.ask(w.caller.Hello())
		got := transcript.Read(t, w.caller, a, w.streamed)
		calls(t, got, transcript.Call{ID: "call_1", Name: "weather", Arguments: paris})
		if w.caller == harness.Messages && strings.Contains(string(a.Body), `"type":"text"`) || strings.Contains(string(a.Body), `"output_text"`) {
			t.Errorf("text out of nothing: %s", a.Body)
		}
	})
}

func finishOverWholeStream(t *testing.T) {
	g := harness.New(t, harness.Config{})
	for _, p := range others(harness.GenerateContent) {
		g.GenerateContent.Answer(fake.Stream(fake.Events(
			answers.Chunk(`[{"functionCall":{"name":"weather","args":`+paris+`}}]`, ""), answers.Chunk(`[{"text":""}]`, "STOP"))...))
		got := transcript.Read(t, p, g.Stream(p, "generatecontent/m", p.Hello()), true)
		calls(t, got, transcript.Call{Name: "weather", Arguments: paris})
		finishes(t, got, words[p].called)
		if got.Calls[0].ID == "" {
			t.Errorf("%s: a call without id", p)
		}
	}
}

// oneFinish: some upstreams repeat the finish on every chunk.
func oneFinish(t *testing.T) {
	g := harness.New(t, harness.Config{})
	for _, p := range others(harness.GenerateContent) {
		g.GenerateContent.Answer(fake.Stream(fake.Events(answers.Chunk(`[{"text":"a"}]`, "STOP"), answers.Chunk(`[{"text":"b"}]`, "STOP"), answers.Chunk(`[{"text":"c"}]`, "STOP"))...))
		a := g.Stream(p, "generatecontent/m", p.Hello())
		got := transcript.Read(t, p, a, true)
		if got.Text != "abc" {
			t.Errorf("%s: text %q", p, got.Text)
		}
		finishes(t, got, words[p].ended)
	}
	g.Chat.Answer(fake.Stream(fake.Events(answers.ChatChunk(`{"role":"assistant","content":"a"}`, "stop"), answers.ChatChunk(`{"content":"b"}`, "stop"), answers.ChatUsage(), "[DONE]")...))
	if got := transcript.Read(t, harness.Messages, g.Stream(harness.Messages, "chat/m", harness.Messages.Hello()), true); got.Text != "ab" {
		t.Errorf("text %q", got.Text)
	}
}

func alwaysFinish(t *testing.T) {
	everyWay(t, harness.Texts(), harness.Texts(), func(t *testing.T, w way) {
		finishes(t, w.receive(t, answers.Text("hello")), words[w.caller].ended)
		finishes(t, w.receive(t, answers.Text("hello").Cut()), words[w.caller].truncated)
	})
	// Engines that leave the word out.
	everyWay(t, others(harness.Chat), only(harness.Chat), func(t *testing.T, w way) {
		w.Chat.Answer(w.altered(answers.Text("hello"), `"finish_reason":"stop"`, `"finish_reason":null`))
		finishes(t, transcript.Read(t, w.caller, w.ask(w.caller.Hello()), w.streamed), words[w.caller].ended)
	})
}

func unknownStopReason(t *testing.T) {
	for _, native := range []string{"MALFORMED_FUNCTION_CALL", "FINISH_REASON_OF_TOMORROW"} {
		everyWay(t, others(harness.GenerateContent), only(harness.GenerateContent), func(t *testing.T, w way) {
			w.GenerateContent.Answer(w.altered(answers.Text("hm"), `"STOP"`, `"`+native+`"`))
			a := w.ask(w.caller.Hello())
			if a.Status != 200 {
				t.Fatalf("status %d: %s", a.Status, a.Body)
			}
			for _, filter := range []string{"content_filter", "refusal\"", "SAFETY"} {
				if strings.Contains(strings.ReplaceAll(string(a.Body), `"refusal":null`, ""), filter) {
					t.Errorf("%s is reported as a filter: %s", native, a.Body)
				}
			}
			if !strings.Contains(strings.ToUpper(string(a.Body)), native) {
				t.Errorf("%s cannot be read in %s", native, a.Body)
			}
		})
	}
	everyWay(t, others(harness.GenerateContent), only(harness.GenerateContent), func(t *testing.T, w way) {
		w.GenerateContent.Answer(w.altered(answers.Text("hm"), `"STOP"`, `"SAFETY"`))
		got := transcript.Read(t, w.caller, w.ask(w.caller.Hello()), w.streamed)
		finishes(t, got, map[harness.Protocol]string{harness.Chat: "content_filter", harness.Responses: "content_filter", harness.Messages: "refusal", harness.Interactions: "incomplete"}[w.caller])
	})
}

func foreignEnds(t *testing.T) {
	natural := map[harness.Protocol][]string{harness.Chat: {"eos", "eos_token", "end_turn", "COMPLETE"}, harness.Messages: {"stop", "eos"}}
	cut := map[harness.Protocol][]string{harness.Chat: {"max_tokens", "MAX_TOKENS"}, harness.Messages: {"length"}}
	unknown := map[harness.Protocol][]string{
		harness.Chat:            {"error", "malformed_function_call", "word_of_tomorrow", "Wort: \u00fc"},
		harness.Messages:        {"error", "malformed_function_call", "word_of_tomorrow"},
		harness.Responses:       {"error", "word_of_tomorrow"},
		harness.Interactions:    {"status_of_tomorrow"},
		harness.GenerateContent: {"MALFORMED_FUNCTION_CALL", "FINISH_REASON_OF_TOMORROW", "LANGUAGE"},
	}
	// What the SDKs of the vendors know.
	cautious := map[harness.Protocol]string{harness.Chat: "length", harness.Responses: "max_output_tokens", harness.Messages: "max_tokens", harness.GenerateContent: "OTHER", harness.Interactions: "incomplete"}
	beside := map[harness.Protocol]string{harness.Chat: "native_finish_reason", harness.Responses: "native_reason", harness.Messages: "native_stop_reason", harness.GenerateContent: "finishMessage", harness.Interactions: "code"}
	everyWay(t, harness.Texts(), harness.Texts(), func(t *testing.T, w way) {
		if w.caller == w.upstream {
			return
		}
		ended := map[harness.Protocol]string{harness.Chat: `"stop"`, harness.Messages: `"end_turn"`, harness.GenerateContent: `"STOP"`, harness.Interactions: `"completed"`}[w.upstream]
		answer := func(word string) harness.Answer {
			if w.upstream == harness.Responses {
				w.Responses.Answer(w.altered(answers.Text("hm").Cut(), `"max_output_tokens"`, `"`+word+`"`))
			} else {
				w.Upstream(w.upstream).Answer(w.altered(answers.Text("hm"), ended, `"`+word+`"`))
			}
			return w.ask(w.caller.Hello())
		}
		for _, word := range natural[w.upstream] {
			finishes(t, transcript.Read(t, w.caller, answer(word), w.streamed), words[w.caller].ended)
		}
		for _, word := range cut[w.upstream] {
			finishes(t, transcript.Read(t, w.caller, answer(word), w.streamed), words[w.caller].truncated)
		}
		for _, word := range unknown[w.upstream] {
			a := answer(word)
			got := transcript.Read(t, w.caller, a, w.streamed)
			want := cautious[w.caller]
			if w.caller == harness.GenerateContent && word == "malformed_function_call" {
				want = "MALFORMED_FUNCTION_CALL"
			}
			finishes(t, got, want)
			if want == cautious[w.caller] && !strings.Contains(string(a.Body), `"`+beside[w.caller]+`":"`+word) && !strings.Contains(string(a.Body), `"`+beside[w.caller]+`":"Wort: ü"`) {
				t.Errorf("%s cannot be read in %s", word, a.Body)
			}
		}
	})
}

func finishChunkHasDelta(t *testing.T) {
	g := harness.New(t, harness.Config{})
	for _, p := range others(harness.Chat) {
		g.Upstream(p).Answer(answers.Text("hello").Cut().Answer(p, true))
		frames := g.Stream(harness.Chat, string(p)+"/m", harness.Chat.Hello()).Frames()
		last := frames[len(frames)-2].JSON()
		last.At("choices[0].delta").Is(t, "{}")
		last.At("choices[0].finish_reason").Is(t, `"length"`)
	}
	g.GenerateContent.Answer(fake.Stream(fake.Bytes("data: " + answers.Chunk(`[{"text":"a"}]`, "") + "\n\n" +
		`data: {"candidates":[{"finishReason":"MAX_TOKENS","index":0}],"modelVersion":"m","responseId":"r1"}` + "\n\n")))
	frames := g.Stream(harness.Chat, "generatecontent/m", harness.Chat.Hello()).Frames()
	frames[len(frames)-2].JSON().At("choices[0].delta").Is(t, "{}")
	frames[len(frames)-2].JSON().At("choices[0].finish_reason").Is(t, `"length"`)
}

func parallelCalls(t *testing.T) {
	reply := answers.Tool("call_a", "weather", paris).Then(answers.Tool("call_b", "time", `{"zone":"CET"}`)).Then(answers.Tool("call_c", "weather", `{"city":"Oslo"}`))
	everyWay(t, harness.Texts(), harness.Texts(), func(t *testing.T, w way) {
		got := w.receive(t, reply)
		calls(t, got, transcript.Call{ID: "call_a", Name: "weather", Arguments: paris}, transcript.Call{ID: "call_b", Name: "time", Arguments: `{"zone":"CET"}`},
			transcript.Call{ID: "call_c", Name: "weather", Arguments: `{"city":"Oslo"}`})
	})
	// Upstream indices with gaps, and all calls in one chunk, without ids.
	g := harness.New(t, harness.Config{})
	for _, p := range others(harness.GenerateContent) {
		g.GenerateContent.Answer(fake.Stream(fake.Events(answers.Chunk(`[{"functionCall":{"name":"weather","args":`+paris+`}},{"functionCall":{"name":"weather","args":{"city":"Oslo"}}}]`, "STOP"))...))
		got := transcript.Read(t, p, g.Stream(p, "generatecontent/m", p.Hello()), true)
		calls(t, got, transcript.Call{Name: "weather", Arguments: paris}, transcript.Call{Name: "weather", Arguments: `{"city":"Oslo"}`})
		if len(got.Calls) == 2 && got.Calls[0].ID == got.Calls[1].ID {
			t.Errorf("%s: two calls with one id %q", p, got.Calls[0].ID)
		}
	}
	for _, p := range others(harness.Chat) {
		g.Chat.Answer(interleaved(1, 3))
		calls(t, transcript.Read(t, p, g.Stream(p, "chat/m", p.Hello()), true),
			transcript.Call{ID: "call_a", Name: "weather", Arguments: paris}, transcript.Call{ID: "call_b", Name: "time", Arguments: `{"zone":"CET"}`})
	}
}

// interleaved is a chat stream of two calls whose arguments come by turns.
func interleaved(a, b int) fake.Answer {
	index := func(n int) string { return `{"tool_calls":[{"index":` + string(rune('0'+n)) + `,` }
	return fake.Stream(fake.Events(
		answers.ChatChunk(`{"role":"assistant","content":null}`, ""),
		answers.ChatChunk(index(a)+`"id":"call_a","type":"function","function":{"name":"weather","arguments":""}}]}`, ""),
		answers.ChatChunk(index(b)+`"id":"call_b","type":"function","function":{"name":"time","arguments":"{\"zone\":"}}]}`, ""),
		answers.ChatChunk(index(a)+`"function":{"arguments":"{\"city\":"}}]}`, ""),
		answers.ChatChunk(index(b)+`"function":{"arguments":"\"CET\"}"}}]}`, ""),
		answers.ChatChunk(index(a)+`"function":{"arguments":"\"Paris\"}"}}]}`, ""),
		answers.ChatChunk(`{}`, "tool_calls"), answers.ChatUsage(), "[DONE]")...)
}

func blocksDoNotOverlap(t *testing.T) {
	g := harness.New(t, harness.Config{})
	g.Chat.Answer(interleaved(0, 1))
	a := g.Stream(harness.Messages, "chat/m", harness.Messages.Hello())
	calls(t, transcript.Read(t, harness.Messages, a, true), transcript.Call{ID: "call_a", Name: "weather", Arguments: paris}, transcript.Call{ID: "call_b", Name: "time", Arguments: `{"zone":"CET"}`})
	var order []string
	for _, f := range a.Frames() {
		if strings.HasPrefix(f.Event, "content_block_st") {
			order = append(order, strings.TrimPrefix(f.Event, "content_block_")+string(f.JSON().At("index").Raw))
		}
	}
	if got := strings.Join(order, " "); got != "start0 stop0 start1 stop1" {
		t.Errorf("blocks: %s", got)
	}
	for _, p := range others(harness.Messages) {
		g.Upstream(p).Answer(answers.Text("x").Then(answers.Tool("call_a", "weather", paris)).Then(answers.Tool("call_b", "time", `{"zone":"CET"}`)).Answer(p, true))
		calls(t, transcript.Read(t, harness.Messages, g.Stream(harness.Messages, string(p)+"/m", harness.Messages.Hello()), true),
			transcript.Call{ID: "call_a", Name: "weather", Arguments: paris}, transcript.Call{ID: "call_b", Name: "time", Arguments: `{"zone":"CET"}`})
	}
}
