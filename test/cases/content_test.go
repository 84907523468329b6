package cases_test

import (
	"strings"
	"testing"

	"github.com/genway/genway/test/cases/answers"
	"github.com/genway/genway/test/cases/fake"
	"github.com/genway/genway/test/cases/harness"
)

// canonical is a gateway in which same-protocol calls go through the canonical
// messages too.
func canonical(t *testing.T) *harness.Gateway {
	t.Helper()
	return harness.New(t, harness.Config{Wrap: (&ledger{foreign: true}).wrap})
}

func nativeGenerateContent(t *testing.T) {
	body := `{"systemInstruction":{"parts":[{"text":"be kind"}]},"contents":[{"role":"user","parts":[{"text":"hi"},{"inlineData":{"mimeType":"image/png","data":"iVBORw0KGgo="}}]}],` +
		`"safetySettings":[{"category":"HARM_CATEGORY_HARASSMENT","threshold":"BLOCK_NONE"}],` +
		`"generationConfig":{"temperature":0.5,"topP":0.25,"maxOutputTokens":77,"stopSequences":["x"],"responseMimeType":"application/json","responseSchema":{"type":"OBJECT","properties":{"a":{"type":"STRING"}}}}}`
	everyWay(t, only(harness.GenerateContent), only(harness.Chat, harness.GenerateContent), func(t *testing.T, w way) {
		seen := w.sees(t, body)
		if w.upstream == harness.GenerateContent {
			if string(seen.Raw) != body {
				t.Errorf("the upstream got %s", seen.Raw)
			}
			return
		}
		seen.At("messages[0]").Is(t, `{"role":"system","content":"be kind"}`)
		seen.At("messages[1].content[0]").Is(t, `{"type":"text","text":"hi"}`)
		seen.At("messages[1].content[1].image_url.url").Is(t, `"data:image/png;base64,iVBORw0KGgo="`)
		seen.At("temperature").Is(t, `0.5`)
		seen.At("top_p").Is(t, `0.25`)
		if seen.At("max_tokens").Int()+seen.At("max_completion_tokens").Int() != 77 {
			t.Errorf("no limit in %s", seen.Raw)
		}
		seen.At("stop").Is(t, `["x"]`)
		seen.At("response_format.json_schema.schema").Is(t, `{"type":"object","properties":{"a":{"type":"string"}}}`)
	})
}

func cacheControl(t *testing.T) {
	mark := `"cache_control":{"type":"ephemeral"}`
	body := `{"max_tokens":9,"system":[{"type":"text","text":"be kind",` + mark + `}],"tools":[{"name":"weather","input_schema":{"type":"object"},` + mark + `}],"messages":[` +
		`{"role":"user","content":[{"type":"text","text":"hi",` + mark + `},{"type":"text","text":"you"}]},` +
		`{"role":"assistant","content":[{"type":"tool_use","id":"toolu_1","name":"weather","input":{}}]},` +
		`{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","content":"fine",` + mark + `},{"type":"text","text":"and?"}]},` +
		`{"role":"assistant","content":"plain"},{"role":"user","content":[{"type":"text","text":"go",` + mark + `}]}]}`
	for _, g := range []*harness.Gateway{harness.New(t, harness.Config{}), canonical(t)} {
		g.Messages.Answer(answers.Text("fine").Answer(harness.Messages, false))
		g.Post(harness.Messages, "messages/m", body)
		seen := parse(t, g.Messages.Last(t).Body)
		for _, path := range []string{"system[0]", "tools[0]", "messages[0].content[0]", "messages[2].content[0]", "messages[4].content[0]"} {
			seen.At(path+".cache_control").Is(t, `{"type":"ephemeral"}`)
		}
		seen.At("messages[0].content[1].cache_control").Absent(t)
		seen.At("messages[2].content[1].cache_control").Absent(t)
		if n := strings.Count(string(seen.Raw), `"cache_control"`); n != 5 {
			t.Errorf("%d marks in %s", n, seen.Raw)
		}
	}
	everyWay(t, only(harness.Chat), only(harness.Messages), func(t *testing.T, w way) {
		seen := w.sees(t, `{"messages":[{"role":"system","content":[{"type":"text","text":"be kind",`+mark+`}]},{"role":"user","content":"plain"},{"role":"assistant","content":"yes"},`+
			`{"role":"user","content":[{"type":"text","text":"hi"},{"type":"text","text":"you",`+mark+`}]}]}`)
		seen.At("system[0].cache_control").Is(t, `{"type":"ephemeral"}`)
		seen.At("messages[2].content[0].cache_control").Absent(t)
		seen.At("messages[2].content[1].cache_control").Is(t, `{"type":"ephemeral"}`)
	})
}

func textBlocks(t *testing.T) {
	everyWay(t, others(harness.Messages), only(harness.Messages, harness.GenerateContent), func(t *testing.T, w way) {
		if w.caller == w.upstream {
			return
		}
		got := w.receive(t, answers.Text("One ").Then(answers.Text("two, ")).Then(answers.Text("three.")))
		if got.Text != "One two, three." {
			t.Errorf("got %q", got.Text)
		}
	})
	cited := `{"id":"msg_1","type":"message","role":"assistant","model":"m","stop_reason":"end_turn","stop_sequence":null,"usage":{"input_tokens":1,"output_tokens":1},"content":[` +
		`{"type":"text","text":"One ","citations":[{"type":"web_search_result_location","url":"https://a.example","title":"A","cited_text":"a","encrypted_index":"x"}]},{"type":"text","text":"two."}]}`
	g := canonical(t)
	g.Messages.Answer(fake.JSON(cited), fake.JSON(cited))
	a := g.Post(harness.Messages, "messages/m", harness.Messages.Hello()).JSON()
	a.At("content[0].text").Is(t, `"One "`)
	a.At("content[0].citations[0].url").Is(t, `"https://a.example"`)
	a.At("content[1].text").Is(t, `"two."`)
	c := g.Post(harness.Chat, "messages/m", harness.Chat.Hello()).JSON()
	c.At("choices[0].message.content").Is(t, `"One two."`)
	c.At("choices[0].message.annotations[0].url_citation.url").Is(t, `"https://a.example"`)
}

func emptyContent(t *testing.T) {
	call := `"tool_calls":[{"id":"call_1","type":"function","function":{"name":"weather","arguments":"{}"}}]`
	for _, content := range []string{`"content":"",`, `"content":null,`, ``, `"content":[{"type":"text","text":""}],`} {
		everyWay(t, only(harness.Chat), others(harness.Chat), func(t *testing.T, w way) {
			seen := w.sees(t, `{"messages":[{"role":"user","content":"hi"},{"role":"assistant",`+content+call+`},{"role":"tool","tool_call_id":"call_1","content":"fine"},`+
				`{"role":"user","content":[{"type":"text","text":""},{"type":"text","text":"go"}]}]}`)
			for _, empty := range []string{`"text":""`, `"content":""`, `"content":[]`, `"parts":[]`} {
				if w.upstream == harness.Responses && empty == `"text":""` {
					continue // this vendor takes what the user left empty
				}
				if strings.Contains(string(seen.Raw), empty) {
					t.Errorf("%s in %s", empty, seen.Raw)
				}
			}
			if !strings.Contains(string(seen.Raw), `"go"`) || !strings.Contains(string(seen.Raw), `"weather"`) {
				t.Errorf("too much is dropped: %s", seen.Raw)
			}
		})
	}
}

func systemText(t *testing.T) {
	body := `{"messages":[{"role":"system","content":[{"type":"text","text":"first","cache_control":{"type":"ephemeral"}}]},{"role":"user","content":"hi"},{"role":"developer","content":"second"},{"role":"assistant","content":"yes"},{"role":"system","content":"third"},{"role":"user","content":"go"}]}`
	everyWay(t, only(harness.Chat), harness.Texts(), func(t *testing.T, w way) {
		seen := w.sees(t, body)
		whole := string(seen.Raw)
		if w.upstream == harness.Interactions { // one text of all
			seen.At("system_instruction").Is(t, `"first\n\nsecond\n\nthird"`)
			return
		}
		if a, b, c := strings.Index(whole, `"first"`), strings.Index(whole, `"second"`), strings.Index(whole, `"third"`); a < 0 && !strings.Contains(whole, "first") || b < 0 || c < 0 || a > b || b > c {
			t.Errorf("order or text is lost: %s", whole)
		}
		switch w.upstream {
		case harness.Messages:
			seen.At("system[0]").Is(t, `{"type":"text","text":"first","cache_control":{"type":"ephemeral"}}`)
			seen.At("system[1].text").Is(t, `"second"`)
			seen.At("system[2].text").Is(t, `"third"`)
		case harness.GenerateContent:
			seen.At("systemInstruction.parts[0].text").Is(t, `"first"`)
			seen.At("systemInstruction.parts[1].text").Is(t, `"second"`)
			seen.At("systemInstruction.parts[2].text").Is(t, `"third"`)
		default:
			return
		}
		for _, m := range append(seen.At("messages").List(), seen.At("contents").List()...) {
			if role := m.At("role").Text(); role != "user" && role != "assistant" && role != "model" {
				t.Errorf("role %s in the conversation", role)
			}
		}
	})
}

func impossibleOutput(t *testing.T) {
	g := harness.New(t, harness.Config{})
	draw := `{"contents":[{"parts":[{"text":"draw"}]}],"generationConfig":{"responseModalities":["TEXT","IMAGE"]}}`
	for _, upstream := range only(harness.Responses, harness.Messages) {
		body := draw
		if upstream == harness.Responses { // which draw: case C23
			body = strings.Replace(draw, "IMAGE", "AUDIO", 1)
		}
		for _, ask := range []func(harness.Protocol, string, string) harness.Answer{g.Post, g.Stream} {
			message := native(t, harness.GenerateContent, ask(harness.GenerateContent, string(upstream)+"/m", body), 400)
			if !strings.Contains(strings.ToLower(message), "modalit") {
				t.Errorf("over %s: %s", upstream, message)
			}
		}
	}
	for _, upstream := range harness.Texts() {
		if upstream == harness.Messages { // the others draw: case C21
			native(t, harness.Images, g.Post(harness.Images, string(upstream)+"/m", harness.Images.Hello()), 400)
		}
		native(t, upstream, g.Post(upstream, "images/m", upstream.Hello()), 400)
		if n := len(g.Upstream(upstream).Requests()); n != 0 {
			t.Errorf("%s was asked %d times", upstream, n)
		}
	}
	// Chat upstreams that draw put images beside the content: the picture arrives.
	g.Chat.Answer(fake.JSON(`{"id":"c","object":"chat.completion","created":7,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"here","images":[{"type":"image_url","image_url":{"url":"data:image/png;base64,iVBORw0KGgo="}}]},"finish_reason":"stop"}]}`))
	a := g.Post(harness.GenerateContent, "chat/m", draw).JSON()
	parse(t, g.Chat.Last(t).Body).At("modalities").Is(t, `["text","image"]`)
	a.At("candidates[0].content.parts[1].inlineData").Is(t, `{"mimeType":"image/png","data":"iVBORw0KGgo="}`)
}

func foreignMembers(t *testing.T) {
	everyWay(t, only(harness.Chat), harness.Texts(), func(t *testing.T, w way) {
		seen := w.sees(t, `{"messages":[{"role":"user","content":"hi"}],"prompt_cache_key":"k1","safety_identifier":"s1","x_unknown":{"deep":"u1"}}`)
		for member, value := range map[string]string{"prompt_cache_key": "k1", "safety_identifier": "s1", "x_unknown": "u1"} {
			there := strings.Contains(string(seen.Raw), value)
			if own := w.upstream == harness.Chat; own != there && (own || w.upstream != harness.Responses || member == "x_unknown") {
				t.Errorf("%s: there %t in %s", member, there, seen.Raw)
			}
		}
	})
}

func losslessRoundTrip(t *testing.T) {
	for p, body := range map[harness.Protocol]string{
		harness.Chat: `{"model":"m","messages":[{"role":"user","name":"ann","content":[{"type":"text","text":"hi"},{"type":"image_url","image_url":{"url":"https://a.example/i.png","detail":"low"}},{"type":"file","file":{"file_id":"f1"}},{"type":"of_tomorrow","x":{"b":1,"a":2}}]}],` +
			`"tools":[{"type":"function","function":{"name":"weather","parameters":{"type":"object"}}},{"type":"of_tomorrow","y":[1]}],"temperature":0.5,"x_unknown":{"z":1.50}}`,
		harness.Responses:       `{"model":"m","input":[{"type":"message","role":"user","content":[{"type":"input_text","text":"hi"},{"type":"input_image","image_url":"https://a.example/i.png","detail":"low"}]},{"type":"of_tomorrow","x":{"b":1}}],"tools":[{"type":"of_tomorrow","y":[1]}],"x_unknown":1.50}`,
		harness.Messages:        `{"model":"m","max_tokens":9,"messages":[{"role":"user","content":[{"type":"text","text":"hi"},{"type":"image","source":{"type":"url","url":"https://a.example/i.png"}},{"type":"of_tomorrow","x":{"b":1}}]}],"tools":[{"type":"of_tomorrow_20990101","name":"y"}],"x_unknown":1.50}`,
		harness.GenerateContent: `{"contents":[{"role":"user","parts":[{"text":"hi"},{"fileData":{"mimeType":"image/png","fileUri":"https://a.example/i.png"}},{"ofTomorrow":{"b":1}}]}],"tools":[{"ofTomorrow":{"y":[1]}}],"xUnknown":1.50}`,
		harness.Interactions:    `{"model":"m","input":[{"type":"user_input","content":[{"type":"text","text":"hi"},{"type":"image","uri":"https://a.example/i.png","mime_type":"image/png"}]},{"type":"of_tomorrow","x":{"b":1}}],"tools":[{"type":"of_tomorrow","y":[1]}],"x_unknown":1.50}`,
	} {
		for name, g := range map[string]*harness.Gateway{"as it is": harness.New(t, harness.Config{}), "canonical": canonical(t)} {
			t.Run(string(p)+" "+name, func(t *testing.T) {
				g.Upstream(p).Answer(answers.Text("fine").Answer(p, false))
				call := harness.CallOf(p, string(p)+"/m", "{}", false)
				call.Body = strings.Replace(body, `"model":"m"`, `"model":"`+string(p)+`/m"`, 1)
				if a := g.Call(call); a.Status != 200 {
					t.Fatalf("%d %s", a.Status, a.Body)
				}
				seen := g.Upstream(p).Last(t).Body
				if name == "as it is" && string(seen) != body {
					t.Errorf("the upstream got %s, want %s", seen, body)
				}
				parse(t, seen).Is(t, body)
			})
		}
	}
}

func schemaDialects(t *testing.T) {
	schema := `{"type":"object","properties":{"a":{"$ref":"#/$defs/x"},"b":{"type":["string","null"]}},"additionalProperties":false,"patternProperties":{"^z":{"type":"integer"}},"$defs":{"x":{"type":"string"}}}`
	everyWay(t, only(harness.Chat), only(harness.GenerateContent), func(t *testing.T, w way) {
		seen := w.sees(t, `{"messages":[{"role":"user","content":"hi"}],"tools":[{"type":"function","function":{"name":"weather","parameters":`+schema+`}}],`+
			`"response_format":{"type":"json_schema","json_schema":{"name":"r","schema":`+schema+`}}}`)
		f := seen.At("tools[0].functionDeclarations[0]")
		if string(f.At("parametersJsonSchema").Raw) != schema {
			t.Errorf("the schema is %s", f.Raw)
		}
		f.At("parameters").Absent(t)
		if string(seen.At("generationConfig.responseJsonSchema").Raw) != schema {
			t.Errorf("the schema of the answer is %s", seen.At("generationConfig").Raw)
		}
		seen.At("generationConfig.responseSchema").Absent(t)
	})
	everyWay(t, only(harness.GenerateContent), others(harness.GenerateContent), func(t *testing.T, w way) {
		seen := w.sees(t, `{"contents":[{"parts":[{"text":"hi"}]}],"tools":[{"functionDeclarations":[{"name":"weather","parameters":{"type":"OBJECT","properties":{"a":{"type":"STRING","nullable":true},"b":{"type":"ARRAY","items":{"type":"INTEGER"}}},"required":["a"]}}]}]}`)
		path := map[harness.Protocol]string{harness.Chat: "tools[0].function.parameters", harness.Responses: "tools[0].parameters", harness.Messages: "tools[0].input_schema", harness.Interactions: "tools[0].parameters"}[w.upstream]
		seen.At(path).Is(t, `{"type":"object","properties":{"a":{"type":["string","null"]},"b":{"type":"array","items":{"type":"integer"}}},"required":["a"]}`)
	})
}
