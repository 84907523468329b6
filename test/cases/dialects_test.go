package cases_test

import (
	"bytes"
	"fmt"
	"maps"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/genway/genway/codec/chat"
	"github.com/genway/genway/core/upstream/provider"
	"github.com/genway/genway/test/cases/answers"
	"github.com/genway/genway/test/cases/fake"
	"github.com/genway/genway/test/cases/harness"
	"github.com/genway/genway/test/cases/probe"
	"github.com/genway/genway/test/clouds"
	"google.golang.org/grpc/metadata"
)

func dialectCases() []Case {
	return []Case{
		{"V7", "a fake of each place of chat completions that refuses whatever its vendor does not document, at any depth, takes translated requests of every protocol with everything in them, unary and streamed; what is left out is named", strictPlaces},
		{"V8", "contents that a place of chat completions does not document are refused by name and never sent", untakenContents},
		{"V9", "an upstream of chat completions without a provider gets the least of a translated request, and of one of its own protocol every byte", minAssumed},
		{"V10", "what only the form of a member differs in reaches each place in its form: limits, seeds, efforts, reasoning, schemas, identifiers, one tool to be called", ownForms},
		{"V12", "an effort that a place of chat completions has no word for is the next higher that it has, is left out if it is none, and is named; words that it has, and that nobody knows, reach it", placesEfforts},
	}
}

// schemaOf are the words of the providers' upstreams in a configuration.
func schemaOf(name string) string {
	switch name {
	case "vllm", "tgi":
		return "kind: chat, provider: " + name + `, base_url: "http://127.0.0.1:1/v1"`
	case "custom":
		return `kind: chat, base_url: "http://127.0.0.1:1/v1"`
	}
	return "kind: chat, provider: " + name
}

// whole has everything in a request that its protocol can say, but for media.
var whole = map[harness.Protocol]string{
	harness.Messages: `{"max_tokens":4096,"system":[{"type":"text","text":"be kind","cache_control":{"type":"ephemeral"}},{"type":"text","text":"be brief"}],
		"temperature":1,"top_p":0.97,"top_k":5,"stop_sequences":["END"],"metadata":{"user_id":"u-1"},"service_tier":"standard_only",
		"thinking":{"type":"enabled","budget_tokens":2048},"output_config":{"format":{"type":"json_schema","schema":` + wholeSchema + `}},
		"tools":[{"name":"look","description":"d","input_schema":` + wholeSchema + `,"strict":true,"cache_control":{"type":"ephemeral","ttl":"1h"}},{"name":"go","input_schema":{"type":"object"}}],
		"tool_choice":{"type":"tool","name":"look","disable_parallel_tool_use":true},
		"messages":[{"role":"user","content":[{"type":"text","text":"one"},{"type":"text","text":"two","cache_control":{"type":"ephemeral"}}]},
			{"role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"c2lnbmVk"},{"type":"redacted_thinking","data":"c2VhbGVk"},
				{"type":"text","text":"I look","citations":[{"type":"web_search_result_location","url":"https://a.example","title":"A","encrypted_index":"e","cited_text":"c"}]},
				{"type":"tool_use","id":"toolu_01A09q90qw90lq917835lq9","name":"look","input":{"at":"it"}}]},
			{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_01A09q90qw90lq917835lq9","is_error":true,"content":[{"type":"text","text":"seen"},{"type":"text","text":"twice"}]},{"type":"text","text":"and?"}]}]}`,
	harness.Responses: `{"instructions":"be kind","max_output_tokens":4096,"temperature":0.5,"top_p":0.9,"top_logprobs":3,"include":["reasoning.encrypted_content","message.output_text.logprobs"],
		"store":false,"user":"u-1","safety_identifier":"s-1","prompt_cache_key":"k-1","service_tier":"flex","metadata":{"a":"b"},"truncation":"auto",
		"reasoning":{"effort":"high","summary":"auto"},"text":{"verbosity":"low","format":{"type":"json_schema","name":"n","description":"d","strict":true,"schema":` + wholeSchema + `}},
		"parallel_tool_calls":false,"tool_choice":{"type":"allowed_tools","mode":"required","tools":[{"type":"function","name":"look"},{"type":"custom","name":"say"}]},
		"tools":[{"type":"function","name":"look","description":"d","strict":true,"parameters":` + wholeSchema + `},{"type":"function","name":"go","parameters":{"type":"object"}},
			{"type":"custom","name":"say","description":"says","format":{"type":"grammar","syntax":"lark","definition":"start: \"a\""}}],
		"input":[{"role":"developer","content":[{"type":"input_text","text":"be brief"}]},{"role":"user","content":[{"type":"input_text","text":"one"},{"type":"input_text","text":"two"}]},
			{"type":"reasoning","id":"rs_1","summary":[{"type":"summary_text","text":"hm"}],"encrypted_content":"c2VhbGVk"},
			{"type":"message","id":"msg_1","role":"assistant","status":"completed","content":[{"type":"output_text","text":"I look","annotations":[{"type":"url_citation","start_index":0,"end_index":1,"url":"https://a.example","title":"A"}]},{"type":"refusal","refusal":"not that"}]},
			{"type":"function_call","id":"fc_1","call_id":"call_1","name":"look","arguments":"{\"at\":\"it\"}"},
			{"type":"custom_tool_call","id":"ct_1","call_id":"call_2","name":"say","input":"a"},
			{"type":"function_call_output","call_id":"call_1","output":"seen"},{"type":"custom_tool_call_output","call_id":"call_2","output":"said"},
			{"role":"user","content":"and?"}]}`,
	harness.GenerateContent: `{"systemInstruction":{"parts":[{"text":"be kind"},{"text":"be brief"}]},
		"generationConfig":{"temperature":0.5,"topP":0.9,"topK":5,"candidateCount":2,"maxOutputTokens":4096,"stopSequences":["END"],"presencePenalty":0.1,"frequencyPenalty":0.2,"seed":7,
			"responseLogprobs":true,"logprobs":3,"responseMimeType":"application/json","responseSchema":{"type":"OBJECT","properties":{"at":{"type":"STRING"}}},"responseModalities":["TEXT"],
			"thinkingConfig":{"thinkingBudget":2048,"includeThoughts":true}},
		"tools":[{"functionDeclarations":[{"name":"look","description":"d","parameters":{"type":"OBJECT","properties":{"at":{"type":"STRING"}}}},{"name":"go"}]}],
		"toolConfig":{"functionCallingConfig":{"mode":"ANY","allowedFunctionNames":["look"]}},
		"contents":[{"role":"user","parts":[{"text":"one"},{"text":"two"}]},
			{"role":"model","parts":[{"text":"hm","thought":true},{"text":"I look","thoughtSignature":"c2lnbmVk"},{"functionCall":{"name":"look","args":{"at":"it"}},"thoughtSignature":"c2lnbmVk"}]},
			{"role":"user","parts":[{"functionResponse":{"name":"look","response":{"output":"seen"}}}]},{"role":"user","parts":[{"text":"and?"}]}]}`,
}

const wholeSchema = `{"type":"object","properties":{"at":{"type":"string"}},"required":["at"],"additionalProperties":false}`

// wholeChat is a request of chat completions with everything in it that the contract has a
// field for: a direct caller of the core may ask for all of it of an upstream of chat completions.
const wholeChat = `{"model":"m","max_completion_tokens":4096,"temperature":0.5,"top_p":0.9,"seed":7,"n":2,"frequency_penalty":0.1,"presence_penalty":0.2,"logprobs":true,"top_logprobs":3,"stop":["END"],
	"store":true,"user":"u-1","safety_identifier":"s-1","prompt_cache_key":"k-1","service_tier":"flex","metadata":{"a":"b"},"reasoning_effort":"low","verbosity":"high","modalities":["text"],
	"parallel_tool_calls":false,"tool_choice":{"type":"function","function":{"name":"look"}},
	"response_format":{"type":"json_schema","json_schema":{"name":"n","description":"d","strict":true,"schema":` + wholeSchema + `}},
	"tools":[{"type":"function","function":{"name":"look","description":"d","strict":true,"parameters":` + wholeSchema + `},"cache_control":{"type":"ephemeral"}},{"type":"custom","custom":{"name":"say","description":"says"}}],
	"messages":[{"role":"system","name":"s","content":"be kind"},{"role":"developer","content":[{"type":"text","text":"be"},{"type":"text","text":"brief"}]},
		{"role":"user","name":"ann","content":[{"type":"text","text":"one","cache_control":{"type":"ephemeral"}}]},
		{"role":"assistant","name":"bot","content":"I look","reasoning_content":"hm","annotations":[{"type":"url_citation","url_citation":{"start_index":0,"end_index":1,"url":"https://a.example","title":"A"}}],
			"tool_calls":[{"id":"call_1","type":"function","function":{"name":"look","arguments":"{}"},"extra_content":{"google":{"thought_signature":"c2ln"}}},{"id":"call_2","type":"custom","custom":{"name":"say","input":"a"}}]},
		{"role":"tool","tool_call_id":"call_1","content":[{"type":"text","text":"seen"},{"type":"text","text":"twice"}]},{"role":"tool","tool_call_id":"call_2","content":"said"},
		{"role":"assistant","refusal":"not that","audio":{"id":"audio_1"}},
		{"role":"assistant","content":"","reasoning_details":[{"type":"reasoning.text","text":"so","signature":"c2ln","id":"r1","index":0}]},
		{"role":"user","content":"and?"}]}`

func strictPlaces(t *testing.T) {
	var losses strings.Builder
	for _, name := range clouds.ChatProviders() {
		schema, err := clouds.ReadChatSchema(name)
		if err != nil {
			t.Fatal(err)
		}
		t.Run(name, func(t *testing.T) {
			g := harness.New(t, harness.Config{Remote: place(t, upstreamOf(t, schemaOf(name)))})
			// The fake answers as the place does: with an error if it does not take the body.
			strict := func(answer fake.Answer) {
				g.Chat.Answer(answer.If(func(r fake.Request) (fake.Answer, bool) {
					if wrong := schema.Check(r.Body); len(wrong) > 0 {
						return fake.Refusal(schema.Status, fmt.Sprintf(`{"error":{"message":%q}}`, strings.Join(wrong, "; "))), true
					}
					return fake.Answer{}, false
				}))
			}
			for _, p := range []harness.Protocol{harness.Messages, harness.Responses, harness.GenerateContent} {
				for _, stream := range []bool{false, true} {
					strict(answers.Text("fine").Answer(harness.Chat, stream))
					a := g.Call(harness.CallOf(p, "chat/m", whole[p], stream))
					if a.Status != http.StatusOK || !bytes.Contains(a.Body, []byte(`ne"`)) {
						t.Errorf("%s, streamed %t: %d %s, for %s", p, stream, a.Status, a.Body, g.Chat.Last(t).Body)
						continue
					}
					if !stream {
						fmt.Fprintf(&losses, "%s < %s: %s\n", name, p, a.Header.Get("X-Genway-Lost"))
					}
				}
			}
			req, err := chat.Codec{}.DecodeRequest([]byte(strings.Replace(wholeChat, `"m"`, `"chat/m"`, 1)))
			if err != nil {
				t.Fatal(err)
			}
			strict(answers.Text("fine").Answer(harness.Chat, false))
			resp, err := g.Core.GenerateText(metadata.AppendToOutgoingContext(t.Context(), "authorization", "Bearer internal"), req.GenerateTextRequest)
			if err != nil {
				t.Errorf("the contract: %v, for %s", err, g.Chat.Last(t).Body)
			}
			var lost []string
			for _, l := range resp.GetLosses() {
				lost = append(lost, l.GetMember())
			}
			fmt.Fprintf(&losses, "%s < contract: %s\n", name, strings.Join(lost, ", "))
		})
	}
	golden(t, filepath.Join("testdata", "dialects.txt"), losses.String())
}

// Every place of chat completions that says what it takes has a strict fake.
func TestEveryDialectHasASchema(t *testing.T) {
	schemas := clouds.ChatProviders()
	for _, p := range provider.All {
		if e, _ := p.Endpoint("chat", ""); e != nil && e.Chat != nil && !slices.Contains(schemas, p.Name) && p.Name != "azure" && p.Name != "vertex" {
			t.Errorf("%s has none", p.Name)
		}
	}
}

func untakenContents(t *testing.T) {
	contents := map[string]struct{ part, typed string }{
		"image_url":   {`{"type":"input_image","image_url":"data:image/png;base64,iVBORw0KGgo=","detail":"high"}`, "image_url"},
		"file":        {`{"type":"input_file","filename":"a.pdf","file_data":"data:application/pdf;base64,JVBERi0="}`, "file"},
		"input_audio": {`{"type":"input_audio","input_audio":{"data":"UklGRg==","format":"wav"}}`, "input_audio"},
	}
	for _, name := range clouds.ChatProviders() {
		schema, err := clouds.ReadChatSchema(name)
		if err != nil {
			t.Fatal(err)
		}
		t.Run(name, func(t *testing.T) {
			g := harness.New(t, harness.Config{Remote: place(t, upstreamOf(t, schemaOf(name)))})
			for _, kind := range slices.Sorted(maps.Keys(contents)) {
				_, documented := schema.Types["part."+kind]
				before := len(g.Chat.Requests())
				if documented {
					g.Chat.Answer(answers.Text("fine").Answer(harness.Chat, false))
				}
				body := `{"input":[{"role":"user","content":[` + contents[kind].part + `,{"type":"input_text","text":"what is it?"}]}]}`
				a := g.Post(harness.Responses, "chat/m", body)
				switch {
				case documented && a.Status != http.StatusOK:
					t.Errorf("%s: %d %s", kind, a.Status, a.Body)
				case documented:
					if wrong := schema.Check(g.Chat.Last(t).Body); len(wrong) > 0 {
						t.Errorf("%s: %v", kind, wrong)
					}
				case a.Status != http.StatusBadRequest || !bytes.Contains(a.Body, []byte("input[0].content[0]")) || !bytes.Contains(a.Body, []byte(contents[kind].typed)):
					t.Errorf("%s: %d %s", kind, a.Status, a.Body)
				case len(g.Chat.Requests()) != before:
					t.Errorf("%s was sent", kind)
				}
			}
		})
	}
}

func minAssumed(t *testing.T) {
	g := harness.New(t, harness.Config{Remote: place(t, upstreamOf(t, schemaOf("custom")))})
	g.Chat.Answer(answers.Text("fine").Answer(harness.Chat, true))
	if a := g.Stream(harness.Responses, "chat/m", whole[harness.Responses]); a.Status != http.StatusOK {
		t.Fatalf("%d %s", a.Status, a.Body)
	}
	sent := probe.Parse(t, g.Chat.Last(t).Body)
	for path, want := range map[string]string{
		"max_tokens": "4096", "max_completion_tokens": "", "store": "", "user": "", "reasoning_effort": "", "parallel_tool_calls": "", "metadata": "", "service_tier": "",
		"stream_options": `{"include_usage":true}`, "messages[0].role": `"system"`, "messages[1].role": `"system"`, "messages[1].content": `"be brief"`, "messages[2].content": `"one\ntwo"`,
		"messages[3].content": `"I looknot that"`, "messages[3].reasoning_content": "", "messages[3].annotations": "", "messages[3].refusal": "",
		"messages[3].tool_calls[1].function": `{"name":"say","arguments":"{\"input\":\"a\"}"}`, "tool_choice": `"required"`, "tools[0].function.strict": "",
		"tools[1].type": `"function"`, "tools[1].function.name": `"say"`, "tools[2]": "", "response_format.type": `"json_schema"`,
	} {
		if got := string(sent.At(path).Raw); got != want {
			t.Errorf("%s is %s, not %s", path, got, want)
		}
	}
	for _, stream := range []bool{false, true} {
		own := strings.ReplaceAll(wholeChat, "\n", "")
		if stream {
			own = strings.Replace(own, `{"model"`, `{"stream":true,"stream_options":{"include_usage":true},"model"`, 1)
		}
		g.Chat.Answer(answers.Text("fine").Answer(harness.Chat, stream))
		call := harness.CallOf(harness.Chat, "chat/m", harness.Chat.Hello(), stream)
		call.Body = strings.Replace(own, `"model":"m"`, `"model":"chat/m"`, 1)
		if a := g.Call(call); a.Status != http.StatusOK || a.Header.Get("X-Genway-Lost") != "" {
			t.Errorf("%d %v %s", a.Status, a.Header, a.Body)
		}
		if got := string(g.Chat.Last(t).Body); got != own {
			t.Errorf("streamed %t: the body was changed: %s", stream, got)
		}
	}
}

func ownForms(t *testing.T) {
	for name, want := range map[string]map[string]string{
		"mistral": {
			"max_tokens": "4096", "random_seed": "7", "seed": "", "messages[1].content": `"one"`,
		},
		"openrouter": {"reasoning": `{"effort":"low"}`, "reasoning_effort": "", "max_completion_tokens": "4096", "seed": "7"},
		"tgi":        {"response_format.type": `"json"`, "response_format.value.type": `"object"`, "tool_choice.function.name": `"look"`, "tools[1].function.name": `"go"`},
		"deepseek":   {"response_format": `{"type":"json_object"}`, "messages[2].reasoning_content": `"hm"`, "tool_choice.function.name": `"look"`},
		"vllm":       {"messages[2].reasoning": `"hm"`, "messages[2].reasoning_content": "", "max_tokens": "4096"},
		"ollama":     {"tool_choice": "", "tools[0].function.name": `"look"`, "messages[2].reasoning": `"hm"`},
		"openai":     {"max_completion_tokens": "4096", "max_tokens": "", "messages[2].reasoning_content": ""},
	} {
		t.Run(name, func(t *testing.T) {
			g := harness.New(t, harness.Config{Remote: place(t, upstreamOf(t, schemaOf(name)))})
			g.Chat.Answer(answers.Text("fine").Answer(harness.Chat, false))
			body := `{"systemInstruction":{"parts":[{"text":"s"}]},"generationConfig":{"seed":7,"maxOutputTokens":4096,"thinkingConfig":{"thinkingLevel":"LOW"},"responseMimeType":"application/json","responseJsonSchema":` + wholeSchema + `},
				"tools":[{"functionDeclarations":[{"name":"look"},{"name":"go"}]}],"toolConfig":{"functionCallingConfig":{"mode":"ANY","allowedFunctionNames":["look"]}},
				"contents":[{"role":"user","parts":[{"text":"one"}]},{"role":"model","parts":[{"text":"hm","thought":true},{"functionCall":{"id":"call_with_a_long_name","name":"look","args":{}}}]},
				{"role":"user","parts":[{"functionResponse":{"id":"call_with_a_long_name","name":"look","response":{"output":"seen"}}}]}]}`
			if a := g.Post(harness.GenerateContent, "chat/m", body); a.Status != http.StatusOK {
				t.Fatalf("%d %s", a.Status, a.Body)
			}
			sent := probe.Parse(t, g.Chat.Last(t).Body)
			for path, text := range want {
				if got := string(sent.At(path).Raw); got != text {
					t.Errorf("%s is %s, not %s: %s", path, got, text, sent.Raw)
				}
			}
			call, result := string(sent.At("messages[2].tool_calls[0].id").Raw), string(sent.At("messages[3].tool_call_id").Raw)
			if call != result || (len(call) == 11) != (name == "mistral") {
				t.Errorf("the call is %s, its result %s", call, result)
			}
		})
	}
}

func placesEfforts(t *testing.T) {
	sent := map[string]map[string]string{
		"groq":       {"none": "none", "minimal": "low", "low": "low", "medium": "medium", "high": "high", "xhigh": "high", "max": "high"},
		"together":   {"none": "", "minimal": "low", "low": "low", "medium": "medium", "high": "high", "xhigh": "high", "max": "high"},
		"xai":        {"none": "", "minimal": "low", "low": "low", "medium": "high", "high": "high", "xhigh": "high", "max": "high"},
		"mistral":    {"none": "none", "minimal": "minimal", "medium": "medium", "xhigh": "xhigh", "max": "xhigh"},
		"openai":     {"none": "none", "minimal": "minimal", "max": "max"},
		"openrouter": {"none": "none", "max": "max"},
	}
	for _, name := range slices.Sorted(maps.Keys(sent)) {
		schema, err := clouds.ReadChatSchema(name)
		if err != nil {
			t.Fatal(err)
		}
		t.Run(name, func(t *testing.T) {
			g := harness.New(t, harness.Config{Remote: place(t, upstreamOf(t, schemaOf(name)))})
			sent[name]["brand-new"] = "brand-new"
			for word, want := range sent[name] {
				g.Chat.Answer(answers.Text("fine").Answer(harness.Chat, false))
				a := g.Post(harness.Responses, "chat/m", fmt.Sprintf(`{"input":"hi","reasoning":{"effort":%q}}`, word))
				if a.Status != http.StatusOK {
					t.Errorf("%s: %d %s", word, a.Status, a.Body)
					continue
				}
				body := probe.Parse(t, g.Chat.Last(t).Body)
				got := strings.Trim(string(body.At("reasoning_effort").Raw)+string(body.At("reasoning.effort").Raw), `"`)
				if lost := a.Header.Get("X-Genway-Lost"); got != want || (lost == "reasoning.effort") != (got != word) {
					t.Errorf("%s: %q was sent, not %q, and %q named", word, got, want, lost)
				}
				if wrong := schema.Check(body.Raw); len(wrong) > 0 && word != "brand-new" {
					t.Errorf("%s: %v", word, wrong)
				}
			}
		})
	}
}
