package cases_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/genway/genway/test/cases/answers"
	"github.com/genway/genway/test/cases/harness"
	"github.com/genway/genway/test/cases/probe"
	"github.com/genway/genway/test/cases/requests"
)

// answers returns the documents of an answer: the body, or each event.
func (w way) answers(t *testing.T, reply answers.Reply) []probe.Value {
	t.Helper()
	w.Upstream(w.upstream).Answer(reply.Answer(w.upstream, w.streamed))
	a := w.askForBill()
	if !w.streamed {
		return []probe.Value{a.JSON()}
	}
	var list []probe.Value
	for _, f := range a.Frames() {
		if f.Comment == "" && f.Data != "[DONE]" {
			list = append(list, f.JSON())
		}
	}
	return list
}

// nulls are the members that a protocol's clients may find null. The vendors'
// SDKs have them as required and nullable.
var nulls = map[harness.Protocol]*regexp.Regexp{
	harness.Chat: regexp.MustCompile(`^(usage|choices\[\]\.(message\.(content|refusal)|logprobs|finish_reason|delta\.(content|refusal)))$`),
	harness.Responses: regexp.MustCompile(`^(response\.)?(error|incomplete_details|instructions|temperature|top_p|usage|completed_at|max_output_tokens|` +
		`max_tool_calls|previous_response_id|prompt_cache_key|prompt_cache_retention|safety_identifier|user|background|conversation|prompt|top_logprobs|moderation|reasoning(\.(effort|summary))?)$`),
	harness.Messages:        regexp.MustCompile(`^((message|delta)\.)?(stop_reason|stop_sequence|stop_details|container|diagnostics|request_id)$|^(message\.)?context_management$|^(message\.)?usage\.(server_tool_use|speed)$`),
	harness.GenerateContent: regexp.MustCompile(`^$`),
	harness.Interactions:    regexp.MustCompile(`^$`),
}

// everyNull calls visit with the path of each null; [] stands for any index.
func everyNull(raw json.RawMessage, path string, visit func(string)) {
	var members map[string]json.RawMessage
	var list []json.RawMessage
	switch {
	case string(raw) == "null":
		visit(path)
	case json.Unmarshal(raw, &members) == nil:
		for name, value := range members {
			everyNull(value, strings.TrimPrefix(path+"."+name, "."), visit)
		}
	case json.Unmarshal(raw, &list) == nil:
		for _, value := range list {
			everyNull(value, path+"[]", visit)
		}
	}
}

func onlyRequiredNulls(t *testing.T) {
	everyWay(t, harness.Texts(), harness.Texts(), func(t *testing.T, w way) {
		if w.caller == w.upstream { // what the vendor says is passed on as it is
			return
		}
		for _, reply := range []answers.Reply{answers.Text("fine"), answers.Tool("call_1", "weather", `{}`), answers.Think("hm", "").Then(answers.Text("fine").Cut())} {
			for _, v := range w.answers(t, reply) {
				everyNull(v.Raw, "", func(path string) {
					if !nulls[w.caller].MatchString(path) {
						t.Errorf("%s is null in %s", path, v.Raw)
					}
				})
			}
		}
	})
}

func requiredNulls(t *testing.T) {
	everyWay(t, harness.Texts(), harness.Texts(), func(t *testing.T, w way) {
		if w.caller == w.upstream {
			return
		}
		reply := w.answers(t, answers.Text("fine"))
		first, last := reply[0], reply[len(reply)-1]
		called := w.answers(t, answers.Tool("call_1", "weather", `{}`))
		switch {
		case w.caller == harness.Chat && !w.streamed:
			first.At("choices[0].message.refusal").Is(t, `null`)
			first.At("choices[0].message.annotations").Is(t, `[]`)
			first.At("choices[0].logprobs").Is(t, `null`)
			called[0].At("choices[0].message.content").Is(t, `null`)
		case w.caller == harness.Chat:
			for i, v := range reply[:len(reply)-2] {
				v.At("choices[0].finish_reason").Is(t, `null`)
				if !v.At("choices[0].delta").Exists() {
					t.Errorf("chunk %d has no delta", i)
				}
			}
			last.At("choices").Is(t, `[]`)
		case w.caller == harness.Messages && !w.streamed:
			first.At("stop_sequence").Is(t, `null`)
			first.At("stop_details").Is(t, `null`)
			first.At("content[0].citations").Is(t, `[]`)
			first.At("context_management.applied_edits").Is(t, `[]`)
		case w.caller == harness.Messages:
			first.At("message.content").Is(t, `[]`)
			first.At("message.stop_reason").Is(t, `null`)
			first.At("message.stop_sequence").Is(t, `null`)
			end := reply[len(reply)-2]
			end.At("type").Is(t, `"message_delta"`)
			end.At("delta.stop_sequence").Is(t, `null`)
		case w.caller == harness.Responses:
			whole := last
			if w.streamed {
				whole = last.At("response")
				first.At("response.output").Is(t, `[]`)
				first.At("response.error").Is(t, `null`)
			}
			whole.At("error").Is(t, `null`)
			whole.At("incomplete_details").Is(t, `null`)
			whole.At("tools").Is(t, `[]`)
			whole.At("output[0].content[0].annotations").Is(t, `[]`)
			whole.At("output[0].content[0].logprobs").Is(t, `[]`)
		case w.caller == harness.Interactions && !w.streamed:
			first.At("steps[0].content").Is(t, `[{"type":"text","text":"fine"}]`)
		case w.caller == harness.Interactions:
			first.At("interaction.status").Is(t, `"in_progress"`)
			last.At("interaction.status").Is(t, `"completed"`)
		default:
			last.At("candidates[0].content.role").Is(t, `"model"`)
			last.At("candidates[0].content.parts[0].text").Is(t, map[bool]string{false: `"fine"`, true: `""`}[w.streamed])
		}
	})
}

// wholeResponse asks for what openai-go's Response, ResponseUsage and
// ResponseOutputMessage mark as required.
func wholeResponse(t *testing.T) {
	kinds := map[string]string{
		"id": `^"resp_|^"`, "object": `^"response"$`, "created_at": `^[1-9]\d*$`, "status": `^"completed"$`, "error": `^null$`, "incomplete_details": `^null$`,
		"instructions": `^"be kind"$`, "metadata": `^\{"a":"b"\}$`, "model": `^"m"$`, "output": `^\[\{`, "parallel_tool_calls": `^false$`, "temperature": `^0\.5$`,
		"tool_choice": `^"auto"$`, "tools": `^\[\]$`, "top_p": `^(1|1\.0|null)$`, "service_tier": `^"default"$`,
		"usage.input_tokens": `^11$`, "usage.input_tokens_details.cached_tokens": `^0$`, "usage.output_tokens": `^7$`,
		"usage.output_tokens_details.reasoning_tokens": `^0$`, "usage.total_tokens": `^18$`,
		"output[0].id": `^"`, "output[0].type": `^"message"$`, "output[0].role": `^"assistant"$`, "output[0].status": `^"completed"$`,
		"output[0].content[0].type": `^"output_text"$`, "output[0].content[0].text": `^"fine"$`,
	}
	everyWay(t, only(harness.Responses), others(harness.Responses), func(t *testing.T, w way) {
		w.Upstream(w.upstream).Answer(answers.Text("fine").Answer(w.upstream, w.streamed))
		a := w.ask(`{"input":"hi","instructions":"be kind","metadata":{"a":"b"},"parallel_tool_calls":false,"temperature":0.5,"tool_choice":"auto"}`)
		whole := a.JSON
		if w.streamed {
			frames := a.Frames()
			whole = func() probe.Value { return frames[len(frames)-1].JSON().At("response") }
		}
		for path, want := range kinds {
			if raw := whole().At(path).Raw; !regexp.MustCompile(want).Match(raw) {
				t.Errorf("%s is %s, want %s", path, raw, want)
			}
		}
	})
}

func droppedMembers(t *testing.T) {
	everyWay(t, only(harness.Chat), harness.Texts(), func(t *testing.T, w way) {
		w.Upstream(w.upstream).Answer(answers.Text("fine").Answer(w.upstream, w.streamed))
		a := w.ask(`{"messages":[{"role":"user","content":"hi"}],"seed":7,"frequency_penalty":0.5,"x_unknown":true}`)
		lost := strings.Split(a.Header.Get("X-Genway-Lost"), ", ")
		seen := parse(t, w.Upstream(w.upstream).Last(t).Body)
		for _, member := range []string{"seed", "frequency_penalty", "x_unknown"} {
			camel := map[string]string{"seed": "generationConfig.seed", "frequency_penalty": "generationConfig.frequencyPenalty"}[member]
			carried := seen.At(member).Exists() || seen.At("generation_config."+member).Exists() || camel != "" && seen.At(camel).Exists()
			dropped := slices.ContainsFunc(lost, func(path string) bool { return path == member || strings.HasSuffix(path, "."+member) })
			if carried == dropped || a.Status != 200 {
				t.Errorf("%s: carried %t, named as lost %t (%v), %d %s", member, carried, dropped, lost, a.Status, a.Body)
			}
		}
	})
	everyWay(t, only(harness.Chat), only(harness.Responses), func(t *testing.T, w way) {
		for _, member := range []string{`"stop":["x"]`, `"n":2`, `"logit_bias":{"5":1}`} {
			a := w.ask(`{"messages":[{"role":"user","content":"hi"}],` + member + `}`)
			native(t, harness.Chat, a, 400)
			name, _, _ := strings.Cut(strings.Trim(member, `"`), `"`)
			if !strings.Contains(errorMessage(harness.Chat, a), name) {
				t.Errorf("%s is not named: %s", name, a.Body)
			}
		}
		if n := len(w.Responses.Requests()); n != 0 {
			t.Errorf("the upstream was asked %d times", n)
		}
	})
}

func tokenLimits(t *testing.T) {
	limits := map[harness.Protocol][]string{harness.Chat: {"max_tokens", "max_completion_tokens"}, harness.Responses: {"max_output_tokens"}, harness.GenerateContent: {"generationConfig.maxOutputTokens"}, harness.Interactions: {"generation_config.max_output_tokens"}}
	everyWay(t, others(harness.Messages), harness.Texts(), func(t *testing.T, w way) {
		seen := w.sees(t, w.caller.Hello())
		if w.upstream == harness.Messages {
			if n := seen.At("max_tokens").Int(); n < 8192 {
				t.Errorf("where the upstream requires a limit, it is %d", n)
			}
		}
		for _, member := range limits[w.upstream] {
			seen.At(member).Absent(t)
		}
		if got := w.receive(t, answers.Text("fine").Cut()).Finish; !slices.Contains([]string{"length", "max_tokens", "max_output_tokens", "MAX_TOKENS", "incomplete"}, got) {
			t.Errorf("truncation is lost as %q", got)
		}
	})
}

func openChoices(t *testing.T) {
	tools := `"tools":[{"type":"function","function":{"name":"weather","parameters":{"type":"object"}}}]`
	body := `{"messages":[{"role":"user","content":"hi"}],` + tools + `,"tool_choice":"validated"}`
	for _, foreign := range []bool{false, true} {
		for _, upstream := range harness.Texts() {
			for _, streamed := range []bool{false, true} {
				w := way{Gateway: harness.New(t, harness.Config{Wrap: (&ledger{foreign: foreign}).wrap}), caller: harness.Chat, upstream: upstream, streamed: streamed}
				w.Upstream(upstream).Answer(answers.Text("fine").Answer(upstream, streamed))
				a := w.ask(body)
				switch asked := w.Upstream(upstream).Requests(); {
				case len(asked) == 1 && strings.Contains(strings.ToLower(string(asked[0].Body)), `"validated"`):
				case a.Status == 400 && len(asked) == 0 && strings.Contains(errorMessage(harness.Chat, a), "tool_choice"):
				default:
					t.Errorf("over %s, foreign %t: %d %s", upstream, foreign, a.Status, a.Body)
				}
			}
		}
	}
}

// neutralMembersOf are members of each protocol that say what is so without them, and one that does not, as callers send them.
var neutralMembersOf = map[harness.Protocol][2]string{
	harness.Chat: {
		`"frequency_penalty":0,"presence_penalty":0,"n":1,"logit_bias":{},"stop":"","logprobs":false,"top_logprobs":0,"response_format":{"type":"text"},"parallel_tool_calls":true,"stream_options":null,"verbosity":"medium","min_p":0,"prediction":null,"user":""`,
		`"logit_bias":{"5":1}`,
	},
	harness.Responses: {
		`"background":false,"truncation":"disabled","previous_response_id":"","include":[],"top_logprobs":0,"text":{"format":{"type":"text"},"verbosity":"medium"},"reasoning":{"context":"auto"},"stream_options":{"include_obfuscation":true},"max_tool_calls":null,"metadata":{}`,
		`"truncation":"auto"`,
	},
	harness.Messages: {
		`"stop_sequences":[],"system":"","metadata":{},"container":null,"speed":"standard","mcp_servers":[],"context_management":{"edits":[]},"output_config":{}`,
		`"speed":"fast"`,
	},
	harness.GenerateContent: {
		`"cachedContent":"","safetySettings":[],"labels":{},"toolConfig":{},"generationConfig":{"candidateCount":1,"frequencyPenalty":0,"imageConfig":{},"responseMimeType":"text/plain","stopSequences":[],"thinkingConfig":{},"speechConfig":{},"mediaResolution":"MEDIA_RESOLUTION_UNSPECIFIED","enableAffectiveDialog":false}`,
		`"labels":{"team":"a"}`,
	},
	harness.Interactions: {
		`"background":false,"response_modalities":[],"tools":[],"labels":{},"previous_interaction_id":"","safety_settings":[],"generation_config":{"stop_sequences":[],"thinking_summaries":""}`,
		`"labels":{"team":"a"}`,
	},
}

func neutralMembers(t *testing.T) {
	lax, held := harness.New(t, harness.Config{}), harness.New(t, harness.Config{Wrap: strictly})
	for _, caller := range harness.Texts() {
		for _, upstream := range others(caller) {
			for name, streamed := range map[string]bool{"unary": false, "streamed": true} {
				t.Run(string(caller)+" over "+string(upstream)+" "+name, func(t *testing.T) {
					says := neutralMembersOf[caller]
					ask := func(g *harness.Gateway, members ...string) (harness.Answer, string) {
						g.Upstream(upstream).Answer(answers.Text("fine").Answer(upstream, streamed))
						a := g.Call(harness.CallOf(caller, string(upstream)+"/m", requests.Body(caller, members, requests.User(caller, "hi")), streamed))
						return a, strings.Join(append(a.Header.Values("X-Genway-Lost"), a.Trailer.Values("X-Genway-Lost")...), ", ")
					}
					for _, g := range []*harness.Gateway{lax, held} {
						a, lost := ask(g, says[0])
						if a.Status != http.StatusOK || lost != "" {
							t.Fatalf("%d %s, lost %q", a.Status, a.Body, lost)
						}
						with := g.Upstream(upstream).Last(t).Body
						ask(g)
						if without := g.Upstream(upstream).Last(t).Body; !bytes.Equal(with, without) {
							t.Errorf("the upstream gets\n%s\nand without the members\n%s", with, without)
						}
					}
					if a, lost := ask(lax, says[1]); a.Status == http.StatusOK && lost == "" {
						t.Errorf("%s is carried: %s", says[1], lax.Upstream(upstream).Last(t).Body)
					}
				})
			}
		}
	}
}

func notUnicode(t *testing.T) {
	g := harness.New(t, harness.Config{})
	members := map[harness.Protocol]string{
		harness.Chat: "messages[0].content", harness.Responses: "input[0].content", harness.Messages: "messages[0].content",
		harness.GenerateContent: "contents[0].parts[0].text", harness.Interactions: "input[0].content[0].text", harness.Images: "prompt",
	}
	for caller, member := range members {
		body := `{"prompt":"TEXT"}`
		if caller != harness.Images {
			body = requests.Body(caller, nil, requests.User(caller, "TEXT"))
		}
		for _, upstream := range append(harness.Texts(), harness.Images) {
			if (caller == harness.Images) != (upstream == harness.Images) {
				continue
			}
			for name, streamed := range map[string]bool{"unary": false, "streamed": true} {
				t.Run(string(caller)+" over "+string(upstream)+" "+name, func(t *testing.T) {
					for _, text := range []string{`\ud83d`, `a\ude00b`, `\ude00\ud83d`, "\xff", "a\xf0\x9f", "\xed\xa0\xbd"} {
						before := len(g.Upstream(upstream).Requests())
						if caller == upstream {
							g.Upstream(upstream).Answer(answers.Text("fine").Answer(upstream, streamed))
						}
						sent := harness.CallOf(caller, string(upstream)+"/m", strings.Replace(body, "TEXT", text, 1), streamed)
						a := g.Call(sent)
						asked := len(g.Upstream(upstream).Requests()) - before
						if caller == upstream && caller != harness.Images && asked > 0 {
							if seen := g.Upstream(upstream).Last(t).Body; !strings.Contains(string(seen), text) {
								t.Errorf("%q: its vendor gets %s", text, seen)
							}
							continue
						}
						native(t, caller, a, http.StatusBadRequest)
						if message := errorMessage(caller, a); asked > 0 || !strings.Contains(message, member) || !strings.Contains(message, "not Unicode") {
							t.Errorf("%q: %d calls, %s", text, asked, message)
						}
					}
				})
			}
		}
	}
}
