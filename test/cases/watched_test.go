package cases_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/genway/genway/test/cases/answers"
	"github.com/genway/genway/test/cases/fake"
	"github.com/genway/genway/test/cases/harness"
	"github.com/genway/genway/test/cases/transcript"
	"pgregory.net/rapid"
)

func watchedCases() []Case {
	return []Case{
		{"X2", "an answer for a caller of the upstream's protocol passes byte for byte and succeeds when its protocol's end is there, whatever Genway makes of a member of it that it only watches: an unknown delta, a number with a fraction, another type", func(t *testing.T) {
			t.Run("reported", reportedDeltas)
			t.Run("every member of a stream", mutatedStreams)
			t.Run("several members of a stream", manyMutated)
			t.Run("every member of an answer", mutatedAnswers)
			t.Run("usage", oddUsage)
			t.Run("cuts and failures", watchedEndings)
			t.Run("translated", foreignUsage)
			t.Run("the upstream's to say", upstreamsToSay)
		}},
	}
}

// spoken is a stream with thinking, text and a call, where the protocol streams them.
func spoken(p harness.Protocol) []string {
	reply := answers.Think("hm", "c2ln").Then(answers.Text("fine")).Then(answers.Tool("call_1", "weather", `{"city":"Rome"}`))
	return reply.Events(p)
}

// passes demands that a stream of events reaches the caller as it is, without an error.
func passes(t *testing.T, g *harness.Gateway, p harness.Protocol, what string, events []string) {
	t.Helper()
	body := p.Hello()
	if p == harness.Chat {
		body = `{"messages":[{"role":"user","content":"hi"}],"stream_options":{"include_usage":true}}`
	}
	g.Upstream(p).Answer(fake.Stream(fake.Events(events...)...))
	a := g.Stream(p, string(p)+"/m", body)
	if a.Status != http.StatusOK {
		t.Errorf("%s: %d %s", what, a.Status, a.Body)
		return
	}
	var got []string
	for _, f := range a.Frames() {
		if f.Comment == "" {
			got = append(got, f.Data)
		}
	}
	if !slices.Equal(got, events) {
		t.Errorf("%s: sent\n%s\ngot\n%s", what, strings.Join(events, "\n"), strings.Join(got, "\n"))
	}
}

func reportedDeltas(t *testing.T) {
	g := harness.New(t, harness.Config{})
	block := `{"type":"content_block_delta","index":0,"delta":{"type":"new_delta","new":1}}`
	messages := answers.Text("fine").Events(harness.Messages)
	passes(t, g, harness.Messages, "as the first delta", slices.Insert(slices.Clone(messages), 2, block))
	for i := 1; i < len(messages); i++ {
		passes(t, g, harness.Messages, fmt.Sprintf("a delta before event %d", i), slices.Insert(slices.Clone(messages), i, block))
	}
	chat := answers.Text("fine").Events(harness.Chat)
	for _, odd := range []string{`{"id":"c","object":"chat.completion.chunk","created":"x","model":"m","choices":[]}`,
		`{"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[],"usage":{"prompt_tokens":10.0,"completion_tokens":2.0,"total_tokens":12.0}}`,
		`{"id":"c","choices":[{"index":0,"delta":{"new":{"a":[1]},"content":7}}]}`} {
		for i := range chat {
			passes(t, g, harness.Chat, odd, slices.Insert(slices.Clone(chat), i, odd))
		}
	}
	responses := answers.Text("fine").Events(harness.Responses)
	passes(t, g, harness.Responses, "a delta of a new kind", slices.Insert(slices.Clone(responses), 2, `{"type":"response.output_text.delta","sequence_number":9,"output_index":"0","delta":{"new":1}}`))
	generate := answers.Text("fine").Events(harness.GenerateContent)
	passes(t, g, harness.GenerateContent, "a part of a new kind", slices.Insert(slices.Clone(generate), 1, `{"candidates":[{"index":0,"content":{"parts":[{"text":{"new":1}},7]}}]}`))
}

// spoilt calls yield with each document in which one value is replaced by one of another
// type, and where.
func spoilt(document string, yield func(where, spoilt string)) {
	var whole any
	if err := json.Unmarshal([]byte(document), &whole); err != nil {
		return // [DONE]
	}
	var walk func(v any, path string, set func(any))
	walk = func(v any, path string, set func(any)) {
		for _, odd := range []any{nil, true, "x", 10.5, -3, []any{}, []any{1, nil}, map[string]any{}, map[string]any{"new": 1}} {
			if path == "" {
				break
			}
			set(odd)
			out, _ := json.Marshal(whole)
			yield(fmt.Sprintf("%s=%v", path, odd), string(out))
		}
		set(v)
		switch v := v.(type) {
		case map[string]any:
			for _, name := range slices.Sorted(maps.Keys(v)) {
				walk(v[name], path+"."+name, func(odd any) { v[name] = odd })
			}
		case []any:
			for i := range v {
				walk(v[i], fmt.Sprintf("%s[%d]", path, i), func(odd any) { v[i] = odd })
			}
		}
	}
	walk(whole, "", func(any) {})
}

// ends reports whether a member of an event is one that marks its end, so that the
// event without it has no meaning.
func ends(p harness.Protocol, event, where string) bool {
	member, _, _ := strings.Cut(where, "=")
	switch p {
	case harness.Messages:
		return member == ".type"
	case harness.Responses:
		return member == ".type" || strings.Contains(event, `"response.completed"`) && (strings.HasPrefix(member, ".response.status") || strings.HasPrefix(member, ".response.error"))
	case harness.Interactions:
		return member == ".event_type" || strings.Contains(event, `"interaction.completed"`) && (member == ".interaction" || strings.HasPrefix(member, ".interaction.status"))
	case harness.GenerateContent:
		// An index below 0 is another candidate, which does not end.
		return where == ".candidates[0].index=-3" || strings.Contains(event, "finishReason") &&
			(member == ".candidates" || member == ".candidates[0]" || where == ".candidates[0].finishReason=<nil>")
	default:
		return false
	}
}

func mutatedStreams(t *testing.T) {
	for _, p := range harness.Texts() {
		t.Run(string(p), func(t *testing.T) {
			g := harness.New(t, harness.Config{})
			events := spoken(p)
			for i, event := range events {
				spoilt(event, func(where, odd string) {
					if t.Failed() || ends(p, event, where) || strings.Contains(where, "error") {
						return
					}
					mutated := slices.Clone(events)
					mutated[i] = odd
					passes(t, g, p, fmt.Sprintf("event %d, %s", i, where), mutated)
				})
			}
		})
	}
}

// manyMutated spoils several events of a stream at once.
func manyMutated(t *testing.T) {
	for _, p := range harness.Texts() {
		g := harness.New(t, harness.Config{})
		events := spoken(p)
		var odd [][]string
		for _, event := range events {
			all := []string{event}
			spoilt(event, func(where, spoilt string) {
				if !ends(p, event, where) && !strings.Contains(where, "error") {
					all = append(all, spoilt)
				}
			})
			odd = append(odd, all)
		}
		rapid.Check(t, func(rt *rapid.T) {
			mutated := make([]string, len(events))
			for i := range events {
				mutated[i] = rapid.SampledFrom(odd[i]).Draw(rt, "event")
			}
			passes(t, g, p, "several members", mutated)
			if t.Failed() {
				rt.FailNow()
			}
		})
	}
}

func mutatedAnswers(t *testing.T) {
	for _, p := range harness.Texts() {
		t.Run(string(p), func(t *testing.T) {
			g := harness.New(t, harness.Config{})
			body := answers.Think("hm", "c2ln").Then(answers.Text("fine")).Then(answers.Tool("call_1", "weather", `{"city":"Rome"}`)).Body(p)
			spoilt(body, func(where, odd string) {
				g.Upstream(p).Answer(fake.JSON(odd))
				if a := g.Post(p, string(p)+"/m", p.Hello()); a.Status != http.StatusOK || string(a.Body) != odd {
					t.Errorf("%s: %d %s", where, a.Status, a.Body)
				}
			})
		})
	}
}

// oddUsage demands that of a usage with members that cannot be read the others are kept.
func oddUsage(t *testing.T) {
	for p, c := range map[harness.Protocol]struct {
		usage         string
		input, output int64
	}{
		harness.Chat:            {`{"prompt_tokens":100.0,"completion_tokens":"many","total_tokens":[1],"prompt_tokens_details":7,"completion_tokens_details":{"reasoning_tokens":{}}}`, 100, 0},
		harness.Responses:       {`{"input_tokens":100,"input_tokens_details":[],"output_tokens":20.0,"output_tokens_details":null,"total_tokens":"x"}`, 100, 20},
		harness.Messages:        {`{"input_tokens":100.0,"cache_creation":"x","output_tokens":20,"service_tier":7}`, 100, 20},
		harness.GenerateContent: {`{"promptTokenCount":100,"candidatesTokenCount":20.0,"totalTokenCount":{},"promptTokensDetails":7}`, 100, 20},
		harness.Interactions:    {`{"total_input_tokens":100,"total_output_tokens":20.0,"total_tokens":{},"input_tokens_by_modality":7}`, 100, 20},
	} {
		for _, streamed := range []bool{false, true} {
			books := &ledger{}
			w := way{Gateway: harness.New(t, harness.Config{Wrap: books.wrap}), caller: p, upstream: p, streamed: streamed}
			w.Upstream(p).Answer(billing(t, p, c.usage, streamed))
			if a := w.askForBill(); a.Status != http.StatusOK || !strings.Contains(string(a.Body), c.usage) {
				t.Errorf("%s, streamed %t: %d %s", p, streamed, a.Status, a.Body)
			}
			if got := books.usage(); got.GetInputTokens() != c.input || got.GetOutputTokens() != c.output {
				t.Errorf("%s, streamed %t: the books have %v", p, streamed, got)
			}
		}
	}
	oddImageUsage(t)
}

// foreignUsage demands that a translated answer does not fail for what is metered of it, and
// that a delta of a type that the messages protocol adds is declared as a loss.
func foreignUsage(t *testing.T) {
	everyWay(t, harness.Texts(), harness.Texts(), func(t *testing.T, w way) {
		if w.caller == w.upstream {
			return
		}
		odd := map[harness.Protocol]string{harness.Chat: `{"prompt_tokens":100.0,"completion_tokens":20.0}`, harness.Responses: `{"input_tokens":100.0,"output_tokens":20.0}`,
			harness.Messages: `{"input_tokens":100.0,"output_tokens":20.0}`, harness.GenerateContent: `{"promptTokenCount":100.0,"candidatesTokenCount":20.0,"totalTokenCount":"x"}`,
			harness.Interactions: `{"total_input_tokens":100.0,"total_output_tokens":20.0,"total_tokens":"x"}`}
		w.Upstream(w.upstream).Answer(billing(t, w.upstream, odd[w.upstream], w.streamed))
		if a := w.askForBill(); a.Status != http.StatusOK || !strings.Contains(string(a.Body), "100") || strings.Contains(string(a.Body), `"error":{`) {
			t.Errorf("%d %s", a.Status, a.Body)
		}
		if w.upstream != harness.Messages || !w.streamed {
			return
		}
		events := answers.Text("fine").Events(harness.Messages)
		w.Messages.Answer(fake.Stream(fake.Events(slices.Insert(events, 2, unknownDelta[harness.Messages], `{"type":"news","new":1}`)...)...))
		if got := transcript.Read(t, w.caller, w.ask(w.caller.Hello()), true); got.Text != "fine" {
			t.Errorf("got %+v", got)
		}
	})
}

func oddImageUsage(t *testing.T) {
	books := &ledger{}
	g := harness.New(t, harness.Config{Wrap: books.wrap})
	for _, body := range []string{
		`{"created":"x","data":[{"b64_json":"iVBORw0KGgo="}],"usage":{"input_tokens":50.0,"output_tokens":"x"}}`,
		`{"created":1,"data":[{"b64_json":7,"new":{}}],"background":{},"usage":{"input_tokens":50,"input_tokens_details":7}}`,
	} {
		g.Images.Answer(fake.JSON(body))
		if a := g.Post(harness.Images, "images/m", harness.Images.Hello()); a.Status != http.StatusOK || string(a.Body) != body || books.usage().GetInputTokens() != 50 {
			t.Errorf("%d %s, %v", a.Status, a.Body, books.usage())
		}
	}
}

// unknownDelta is an event that Genway cannot make anything of.
var unknownDelta = map[harness.Protocol]string{
	harness.Chat:            `{"id":"c","created":"x","choices":[{"index":0,"delta":{"content":7}}]}`,
	harness.Responses:       `{"type":"response.output_text.delta","sequence_number":4,"output_index":"0","delta":{"new":1}}`,
	harness.Messages:        `{"type":"content_block_delta","index":0,"delta":{"type":"new_delta","new":1}}`,
	harness.GenerateContent: `{"candidates":[{"index":0,"content":{"parts":[{"text":{"new":1}}]}}]}`,
	harness.Interactions:    `{"index":0,"delta":{"type":"text","text":{"new":1}},"event_type":"step.delta"}`,
}

// watchedEndings demands that behind an event that could not be read a cut is still a
// failure, and the upstream's own failure is unchanged.
func watchedEndings(t *testing.T) {
	for _, p := range harness.Texts() {
		g := harness.New(t, harness.Config{})
		w := way{Gateway: g, caller: p, upstream: p, streamed: true}
		for name, end := range endings(p) {
			before := begun(p)
			if p == harness.Responses { // whose events are numbered
				before = before[:len(before)-1]
			}
			w.Upstream(p).Answer(then(before, append(fake.Events(unknownDelta[p]), end...)...))
			a := w.ask(p.Hello())
			message := failsInBand(t, p, a)
			if reported := name == "told" || name == "failed"; reported != (message == "too many cooks") || t.Failed() {
				t.Fatalf("%s %s: %s\n%s", p, name, message, a.Body)
			}
		}
	}
}

// upstreamsToSay demands that the gateway neither leaves out what an upstream says in its
// own protocol nor refuses in its place what the vendor judges in words of its own.
func upstreamsToSay(t *testing.T) {
	g := harness.New(t, harness.Config{})
	for _, p := range []harness.Protocol{harness.Responses, harness.Messages} {
		passes(t, g, p, "a [DONE] behind the end", append(answers.Text("fine").Events(p), "[DONE]"))
		passes(t, g, p, "an event behind the end", append(answers.Text("fine").Events(p), `{"type":"billing","cost":1}`))
	}
	settings := map[harness.Protocol][]string{
		harness.Chat:            {`"temperature":-1`, `"temperature":2.5`, `"top_p":3`, `"frequency_penalty":-9`, `"presence_penalty":9`, `"top_logprobs":99`},
		harness.Responses:       {`"temperature":-1`, `"temperature":2.5`, `"top_p":3`, `"top_logprobs":99`},
		harness.Messages:        {`"temperature":-1`, `"temperature":2.5`, `"top_p":3`},
		harness.GenerateContent: {`"generationConfig":{"temperature":-1}`, `"generationConfig":{"temperature":2.5}`, `"generationConfig":{"topP":3}`, `"generationConfig":{"responseLogprobs":true,"logprobs":99}`},
		harness.Interactions:    {`"generation_config":{"temperature":-1}`, `"generation_config":{"temperature":2.5}`, `"generation_config":{"top_p":3}`},
	}
	everyWay(t, harness.Texts(), harness.Texts(), func(t *testing.T, w way) {
		for _, setting := range settings[w.caller] {
			body := strings.TrimSuffix(w.caller.Hello(), "}") + "," + setting + "}"
			if w.caller == w.upstream {
				w.Upstream(w.upstream).Answer(fake.Refusal(400, refusals[w.upstream]))
				if a := w.ask(body); a.Status != 400 || string(a.Body) != refusals[w.upstream] {
					t.Errorf("%s: %d %s", setting, a.Status, a.Body)
				}
				if seen := string(w.Upstream(w.upstream).Last(t).Body); !strings.Contains(seen, setting) {
					t.Errorf("%s: the upstream sees %s", setting, seen)
				}
				continue
			}
			name, _, _ := strings.Cut(strings.TrimPrefix(setting, `"generationConfig":{`), `":`)
			if strings.Contains(setting, "logprobs") {
				name = "logprobs"
			}
			if message := native(t, w.caller, w.ask(body), 400); !strings.Contains(message, strings.Trim(name, `"`)) {
				t.Errorf("%s: %s", setting, message)
			}
		}
	})
}
