package translation

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/chat"
	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/codec/fit"
	"github.com/genway/genway/codec/generatecontent"
	"github.com/genway/genway/codec/interactions"
	"github.com/genway/genway/codec/messages"
	"github.com/genway/genway/codec/responses"
	"github.com/genway/genway/codec/setting"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

// bareBodies are requests with a tool, and a document in the messages protocol, to which a test adds one member.
var bareBodies = map[string]string{
	"chat":      `{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"a"},{"role":"assistant","content":"b"},{"role":"user","content":"c"}],"tools":[{"type":"function","function":{"name":"f","parameters":{"type":"object"}}}]}`,
	"responses": `{"model":"m","max_output_tokens":99,"input":[{"role":"user","content":[{"type":"input_text","text":"a"}]}],"tools":[{"type":"function","name":"f","parameters":{"type":"object"},"strict":false}]}`,
	"messages": `{"model":"m","max_tokens":9,"messages":[{"role":"user","content":[{"type":"document","source":{"type":"base64","media_type":"application/pdf","data":"JVBERg=="}},
		{"type":"text","text":"a"}]}],"tools":[{"name":"f","input_schema":{"type":"object"}}]}`,
	"generatecontent": `{"contents":[{"role":"user","parts":[{"text":"a"}]}],"tools":[{"functionDeclarations":[{"name":"f","parametersJsonSchema":{"type":"object"}}]}],"generationConfig":{"maxOutputTokens":9}}`,
	"interactions":    `{"model":"m","input":[{"type":"user_input","content":[{"type":"text","text":"a"}]}],"tools":[{"type":"function","name":"f","parameters":{"type":"object"}}],"generation_config":{"max_output_tokens":99}}`,
}

var codecOf = map[string]codec.Codec{"chat": chat.Codec{}, "responses": responses.Codec{}, "messages": messages.Codec{}, "generatecontent": generatecontent.Codec{}, "interactions": interactions.Codec{}}

// with returns a body with a member at a path: objects on the way are made, and of a list the first element is
// meant. scopes are the names of the contract's lists in the bodies.
func with(t *testing.T, of, path string, value string) string {
	t.Helper()
	var body map[string]any
	if err := json.Unmarshal([]byte(bareBodies[of]), &body); err != nil {
		t.Fatal(err)
	}
	steps := strings.Split(path, ".")
	at := body
	for _, step := range steps[:len(steps)-1] {
		next, is := at[step].(map[string]any)
		if list, isList := at[step].([]any); isList {
			next, is = list[0].(map[string]any), true
		}
		if !is {
			next = map[string]any{}
			at[step] = next
		}
		at = next
	}
	at[steps[len(steps)-1]] = json.RawMessage(value)
	whole, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	return string(whole)
}

// consequences says what a translation loses, and for which member it is refused.
func consequences(losses []*genwayv1.Loss, err error) string {
	var text strings.Builder
	for _, l := range losses {
		text.WriteString(" lost " + l.GetMember())
	}
	if err != nil {
		text.WriteString(" refused " + fault.From(err).Param)
	}
	return text.String()
}

// placeOf is where a protocol's bodies have a native member of the contract's path.
func placeOf(of, name string) string {
	switch of {
	case "generatecontent":
		name = strings.NewReplacer("messages.parts.", "contents.parts.").Replace(name)
		return strings.Replace(name, "tools.", "tools.functionDeclarations.", 1)
	case "interactions":
		return strings.Replace(name, "messages.parts.", "input.content.", 1)
	case "responses":
		return strings.NewReplacer("thinking.", "reasoning.", "messages.parts.", "input.content.").Replace(name)
	case "messages":
		return strings.Replace(name, "messages.parts.", "messages.content.", 1)
	}
	return name
}

// ofConversation reports whether a member is in a call, a result or a breakpoint, which the bare bodies lack.
func ofConversation(n setting.Native) bool {
	return strings.Contains(n.Name, ".function") || strings.Contains(n.Name, ".cache_control.")
}

// Members of calls, results and breakpoints that say what is so without them are not named as lost; with another value, they are.
func TestNeutralMembersOfConversations(t *testing.T) {
	const (
		anthropic = `{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"a"},{"role":"assistant","content":[{"type":"tool_use","id":"t","name":"f","input":{},"caller":CALLER}]},
			{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":[{"type":"document","source":{"type":"base64","media_type":"application/pdf","data":"JVBERg=="},"citations":CITED}]}]}]}`
		openai = `{"model":"m","input":[{"role":"user","content":[{"type":"input_text","text":"a","prompt_cache_breakpoint":{"mode":"explicit"}}]},
			{"type":"function_call","call_id":"t","name":"f","arguments":"{}","caller":CALLER,"async":CONTINUES},{"type":"function_call_output","call_id":"t","output":"b"}]}`
		google = `{"contents":[{"role":"user","parts":[{"text":"a"}]},{"role":"model","parts":[{"functionCall":{"id":"t","name":"f","args":{},"willContinue":CONTINUES}}]},
			{"role":"user","parts":[{"functionResponse":{"id":"t","name":"f","response":{},"scheduling":SCHEDULED}}]}]}`
	)
	nothing := strings.NewReplacer("CALLER", `{"type":"direct"}`, "CITED", `{"enabled":false}`, "CONTINUES", "false", "SCHEDULED", `"WHEN_IDLE"`)
	something := strings.NewReplacer("CALLER", `{"type":"code_execution_20260120","tool_id":"x"}`, "CITED", `{"enabled":true}`, "CONTINUES", "true", "SCHEDULED", `"SILENT"`)
	for _, c := range []struct {
		from, body, to string
		lost           []string
	}{
		{"messages", anthropic, "generatecontent", []string{"messages[1].parts[0].caller", "messages[2].parts[0].tool_result.parts[0].citations"}},
		{"responses", openai, "messages", []string{"messages[1].parts[0].caller", "messages[1].parts[0].async"}},
		{"generatecontent", google, "messages", []string{"messages[1].parts[0].functionCall.willContinue", "messages[2].parts[0].functionResponse.scheduling"}},
		{"generatecontent", google, "chat", []string{"messages[1].parts[0].functionCall.willContinue", "messages[2].parts[0].functionResponse.scheduling"}},
	} {
		if _, losses, err := translate(c.from, c.to, nothing.Replace(c.body)); err != nil || len(losses) > 0 {
			t.Errorf("%s to %s: got error %v, losses %v", c.from, c.to, err, losses)
		}
		_, losses, err := translate(c.from, c.to, something.Replace(c.body))
		var names []string
		for _, l := range losses {
			names = append(names, l.GetMember())
		}
		slices.Sort(names)
		slices.Sort(c.lost)
		if err != nil || !slices.Equal(names, c.lost) {
			t.Errorf("%s to %s: got error %v, losses %q, want %q", c.from, c.to, err, names, c.lost)
		}
	}
}

// tried are the members of a protocol with values that say nothing, and one that does.
type tried struct {
	at      string
	nothing []string
	// setting is the setting that the member has, nil for others.
	setting *setting.Setting
}

// neutrals are all settings and native members of a protocol.
func neutrals(c setting.Column) []tried {
	var all []tried
	for _, s := range c.Settings {
		place := s.Of(c.Protocol)
		if place.Member == "" || slices.Contains([]string{"model", "messages", "tools", "max_output_tokens", "compact"}, s.Field) {
			continue
		}
		path := s.Path(c.Request)
		leaf := path[len(path)-1]
		for name := range strings.SplitSeq(place.Member, "|") {
			row := tried{at: name}
			if !strings.Contains(name, ".") || !place.ByHand { // not within an object that needs others beside it
				row.nothing = []string{"null"}
			}
			if s.Neutral != "" && !place.ByHand {
				row.setting = &s
				row.nothing = append(row.nothing, s.Neutral)
			}
			switch {
			case place.ByHand:
			case leaf.IsMap():
				row.nothing = append(row.nothing, "{}")
			case leaf.IsList():
				row.nothing = append(row.nothing, "[]")
			case leaf.Kind().String() == "string":
				row.nothing = append(row.nothing, `""`)
			}
			all = append(all, row)
		}
	}
	for _, n := range c.Natives {
		if ofConversation(n) {
			continue
		}
		row := tried{at: placeOf(c.Codec, n.Name), nothing: []string{"null"}}
		switch {
		case n.Neutral != "":
			row.nothing = append(row.nothing, n.Neutral)
		case !n.Present:
			row.nothing = append(row.nothing, `""`, "{}", "[]", "{ }", "[\n]")
		}
		all = append(all, row)
	}
	return append(all, documented[c.Codec]...)
}

// documented are defaults of members that codecs read by hand, and forms that SDKs write.
var documented = map[string][]tried{
	"chat": {
		{at: "parallel_tool_calls", nothing: []string{"true"}},
		{at: "response_format", nothing: []string{`{"type":"text"}`}}, {at: "stop", nothing: []string{`""`, "[]", `[""]`}},
		{at: "tools.function.strict", nothing: []string{"false"}}, {at: "functions", nothing: []string{"[]"}},
		{at: "reasoning_effort", nothing: []string{`""`}}, {at: "stream_options", nothing: []string{"{}"}}, {at: "stream", nothing: []string{"false"}},
		{at: "tools.function.description", nothing: []string{`""`}}, {at: "messages.name", nothing: []string{`""`}},
	},
	"responses": {
		{at: "parallel_tool_calls", nothing: []string{"true"}}, {at: "text", nothing: []string{"{}", `{"format":{"type":"text"}}`}},
		{at: "reasoning", nothing: []string{"{}"}}, {at: "instructions", nothing: []string{`""`}}, {at: "stream", nothing: []string{"false"}}, {at: "stream_options.include_obfuscation", nothing: []string{"true"}},
		{at: "tools.description", nothing: []string{`""`}}, {at: "include", nothing: []string{"[]", `["reasoning.encrypted_content"]`}},
	},
	"messages": {
		{at: "system", nothing: []string{`""`, "[]"}}, {at: "metadata", nothing: []string{"{}", `{"user_id":null}`, `{"user_id":""}`}}, {at: "stream", nothing: []string{"false"}},
		{at: "tools.strict", nothing: []string{"false"}}, {at: "tools.type", nothing: []string{`"custom"`}}, {at: "output_config", nothing: []string{"{}"}}, {at: "stop_sequences", nothing: []string{"[]", `[""]`}},
		{at: "messages.content.title", nothing: []string{`""`}}, {at: "tools.description", nothing: []string{`""`}},
	},
	"generatecontent": {
		{at: "toolConfig", nothing: []string{"{}", `{"functionCallingConfig":{}}`, `{"functionCallingConfig":{"mode":"MODE_UNSPECIFIED"}}`}},
		{at: "generationConfig.thinkingConfig", nothing: []string{"{}"}},
		{at: "generationConfig.responseMimeType", nothing: []string{`"text/plain"`, `""`}}, {at: "generationConfig.candidateCount", nothing: []string{"1"}},
		{at: "generationConfig.speechConfig", nothing: []string{"{}"}}, {at: "serviceTier", nothing: []string{`"unspecified"`}},
		{at: "systemInstruction", nothing: []string{`{"parts":[]}`, `{"parts":[{"text":""}]}`}}, {at: "generationConfig.responseLogprobs", nothing: []string{"false"}},
	},
	"interactions": {
		{at: "system_instruction", nothing: []string{`""`}}, {at: "stream", nothing: []string{"false"}}, {at: "background", nothing: []string{"false"}},
		{at: "generation_config.tool_choice", nothing: []string{"null"}}, {at: "generation_config.thinking_level", nothing: []string{`""`}},
		{at: "response_mime_type", nothing: []string{`"text/plain"`, `""`}}, {at: "response_format", nothing: []string{"[]", `{"type":"text"}`}},
		{at: "tools.description", nothing: []string{`""`}}, {at: "agent", nothing: []string{"null"}},
	},
}

// translate returns what an upstream of another protocol gets.
func translate(from, to, body string) (string, []*genwayv1.Loss, error) {
	req, err := codecOf[from].DecodeRequest([]byte(body))
	if err != nil {
		return "", nil, fmt.Errorf("decode: %w", err)
	}
	req.Model = "m"
	req.GenerateTextRequest = fit.Neutral(req.GenerateTextRequest, codecOf[to].Protocol())
	var losses codec.Losses
	out, err := codecOf[to].EncodeRequest(req, &losses)
	return string(out), losses.List(), err
}

// A member that says what is so without it, by the vendor's documentation or since it is empty, is not carried to
// another protocol, not named as lost and not refused.
func TestNeutralMembersSayNothing(t *testing.T) {
	for _, c := range setting.Columns() {
		if codecOf[c.Codec] == nil {
			continue
		}
		for _, member := range neutrals(c) {
			for _, value := range member.nothing {
				body := with(t, c.Codec, member.at, value)
				for to := range codecOf {
					if to == c.Codec {
						continue
					}
					t.Run(fmt.Sprintf("%s %s %s to %s", c.Codec, member.at, value, to), func(t *testing.T) {
						want, before, err := translate(c.Codec, to, bareBodies[c.Codec])
						if err != nil || len(before) > 0 {
							t.Fatalf("without it: %v, losses %v", err, before)
						}
						got, losses, err := translate(c.Codec, to, body)
						if err != nil || len(losses) > 0 {
							t.Fatalf("got error %v, losses %v", err, losses)
						}
						written := member.setting != nil && value == member.setting.Neutral && member.setting.Of(codecOf[to].Protocol()).Written
						if ofPart := strings.HasPrefix(member.at, "contents.") || strings.HasPrefix(member.at, "input.content."); got != want && !written && !ofPart {
							t.Errorf("got  %s\nwant %s", got, want)
						}
						if got == want && written {
							t.Errorf("it is not written, and upstreams may do otherwise without it: %s", got)
						}
					})
				}
			}
		}
	}
}

// The default of one vendor that is another's choice keeps its meaning: it is carried, or named as lost.
func TestDefaultsThatDifferKeepTheirMeaning(t *testing.T) {
	for _, c := range []struct{ from, at, value, to, want string }{
		{"chat", "temperature", "1", "messages", `"temperature":1`},
		{"chat", "temperature", "1", "responses", `"temperature":1`},
		{"chat", "top_p", "1", "generatecontent", `"topP":1`},
		{"chat", "store", "false", "responses", `"store":false`},
		{"chat", "store", "true", "responses", `"store":true`},
		{"chat", "store", "true", "messages", "lost store"},
		{"responses", "store", "true", "chat", `"store":true`},
		{"chat", "modalities", `["text"]`, "generatecontent", `"responseModalities":["TEXT"]`},
		{"chat", "parallel_tool_calls", "false", "messages", `"disable_parallel_tool_use":true`},
		{"chat", "parallel_tool_calls", "false", "generatecontent", "lost tool_choice.parallel"},
		{"messages", "tools.strict", "false", "responses", `"strict":false`},
		{"chat", "tools.function.strict", "true", "messages", `"strict":true`},
		{"messages", "thinking", `{"type":"disabled"}`, "chat", `"reasoning_effort":"none"`},
		{"generatecontent", "generationConfig.thinkingConfig.includeThoughts", "false", "chat", "lost thinking.include_thoughts"},
		{"chat", "tool_choice", `"none"`, "messages", `"type":"none"`},
		{"chat", "frequency_penalty", "0.5", "messages", "lost sampling.frequency_penalty"},
		{"chat", "frequency_penalty", "-0.5", "generatecontent", `"frequencyPenalty":-0.5`},
		{"chat", "n", "2", "messages", "refused sampling.candidate_count"},
		{"chat", "n", "0", "messages", "refused n"},
		{"chat", "logit_bias", `{"50256":-100}`, "messages", "refused logit_bias"},
		{"chat", "web_search_options", "{}", "messages", "lost web_search_options"},
		{"chat", "stop", `["",""]`, "responses", ""},
		{"chat", "stop", `["","x"]`, "responses", "refused stop_sequences"},
		{"chat", "unknown", "{}", "messages", "lost unknown"},
		{"chat", "unknown", "0", "messages", "lost unknown"},
		{"chat", "min_p", "0.0", "messages", ""},
		{"chat", "min_p", "9007199254740993", "messages", "lost min_p"},
		{"chat", "repetition_penalty", "1e0", "messages", ""},
		{"responses", "include", `["reasoning.encrypted_content","file_search_call.results"]`, "messages", "lost include"},
		{"responses", "background", "true", "messages", "refused background"},
		{"responses", "truncation", `"auto"`, "messages", "lost truncation"},
		{"responses", "previous_response_id", `"resp_1"`, "chat", "refused previous_response_id"},
		{"generatecontent", "cachedContent", `"cachedContents/1"`, "chat", "refused cachedContent"},
		{"generatecontent", "generationConfig.imageConfig", `{"aspectRatio":"1:1"}`, "chat", "refused generationConfig.imageConfig"},
		{"generatecontent", "generationConfig.audioTranscriptionConfig", "{}", "chat", "refused generationConfig.audioTranscriptionConfig"},
		{"messages", "speed", `"fast"`, "chat", "lost speed"},
	} {
		got, losses, err := translate(c.from, c.to, with(t, c.from, c.at, c.value))
		got += consequences(losses, err)
		if !strings.Contains(got, c.want) || c.want == "" && (err != nil || len(losses) > 0) {
			t.Errorf("%s %s %s to %s: got %s, want %s", c.from, c.at, c.value, c.to, got, c.want)
		}
	}
}

// A native member of the table is one: with another value than those that say nothing, another protocol cannot have
// it without notice.
func TestNativeMembersAreNoticed(t *testing.T) {
	for _, c := range setting.Columns() {
		if codecOf[c.Codec] == nil {
			continue
		}
		for _, n := range c.Natives {
			if ofConversation(n) {
				continue
			}
			value := map[bool]string{true: "false", false: "true"}[n.Neutral == "true"]
			switch {
			case n.Name == "tools.defer_loading" && c.Codec == "messages":
				continue // the tool is not offered before a result names it
			case strings.HasPrefix(n.Neutral, "["):
				value = `["other"]`
			case strings.HasSuffix(n.Name, "responseMimeType"):
				value = `"text/x.enum"`
			case n.With != "":
				value = `{"model":"m","policy":{"output":{"mode":"` + n.With + `"}}}`
			case n.Name == "stream_options":
				value = `{"include_obfuscation":false}`
			}
			for to := range codecOf {
				if to == c.Codec {
					continue
				}
				got, losses, err := translate(c.Codec, to, with(t, c.Codec, placeOf(c.Codec, n.Name), value))
				if setting.Shares(c.Protocol, codecOf[to].Protocol(), n.Name, []byte(value)) {
					if err != nil || len(losses) > 0 || !strings.Contains(got, `"`+n.Name+`":`+value) {
						t.Errorf("%s %s to %s: got error %v, losses %v, %s", c.Codec, n.Name, to, err, losses, got)
					}
					continue
				}
				if err == nil && len(losses) == 0 || n.Binds && err == nil {
					t.Errorf("%s %s to %s: got error %v, losses %v", c.Codec, n.Name, to, err, losses)
				}
			}
		}
	}
}

// What one vendor alone has is left out and named where the answer is right without it, and carried where another has it in
// a form of its own.
func TestMembersThatAreNotRefused(t *testing.T) {
	schema := func(kind string) string {
		return strings.Replace(bareBodies["generatecontent"], `"parametersJsonSchema":{"type":"object"}`, `"parameters":`+kind, 1)
	}
	document := func(inner string) string {
		return `{"model":"m","max_tokens":9,"messages":[{"role":"user","content":[{"type":"document_url",` + inner + `}]}]}`
	}
	for _, c := range []struct{ from, body, to, want string }{
		{"chat", with(t, "chat", "response_format", `{"type":"json_object"}`), "messages", "lost response_format"},
		{"responses", with(t, "responses", "text", `{"format":{"type":"json_object"}}`), "messages", "lost response_format"},
		{"generatecontent", with(t, "generatecontent", "generationConfig.responseMimeType", `"application/json"`), "messages", "lost response_format"},
		{"chat", with(t, "chat", "response_format", `{"type":"json_object"}`), "generatecontent", `"responseMimeType":"application/json"`},
		{"generatecontent", schema(`{"type":6,"properties":{"a":{"type":1},"b":{"type":5,"items":{"type":3}},"c":{"type":2,"nullable":true},"d":{"type":7}}}`), "chat",
			`{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"array","items":{"type":"integer"}},"c":{"type":["number","null"]},"d":{"type":"null"}}}`},
		{"generatecontent", schema(`{"type":6,"properties":{"a":{"type":3,"enum":["1"]},"b":{"type":0}}}`), "messages", `{"type":"object","properties":{"a":{"type":"integer","enum":[1]},"b":{}}}`},
		{"generatecontent", schema(`{"type":"OBJECT","properties":{"c":{},"b":{},"a":{}},"propertyOrdering":["a","x","b","a",1]}`), "messages", `"properties":{"a":{},"b":{},"c":{}}`},
		{"chat", with(t, "chat", "messages", `[{"role":"user","content":[{"type":"image_url","image_url":{"url":"https://a.test/a.png","detail":"auto"}}]}]`), "messages", ""},
		{"generatecontent", schema(`{"type":8}`), "chat", "refused tools[0].functionDeclarations[0].parameters"},
		{"generatecontent", schema(`{"type":-1}`), "chat", "refused tools[0].functionDeclarations[0].parameters"},
		{"generatecontent", schema(`{"type":1e0}`), "chat", "refused tools[0].functionDeclarations[0].parameters"},
		{"chat", with(t, "chat", "tools", `[{"type":"custom","custom":{"name":"c","format":{"type":"grammar","grammar":{"syntax":"lark","definition":"a"}}}}]`), "responses", `"format":{"type":"grammar","syntax":"lark","definition":"a"}`},
		{"responses", with(t, "responses", "tools", `[{"type":"custom","name":"c","format":{"type":"grammar","syntax":"lark","definition":"a","x":1}}]`), "chat", `"format":{"type":"grammar","grammar":{"syntax":"lark","definition":"a","x":1}}`},
		{"responses", with(t, "responses", "tools", `[{"type":"custom","name":"c","format":{"type":"text"}}]`), "chat", `"format":{"type":"text"}`},
		{"chat", document(`"document_url":"https://a.test/b.pdf?c","document_name":"b.pdf"`), "messages", `{"type":"document","source":{"type":"url","url":"https://a.test/b.pdf?c"},"title":"b.pdf"}`},
		{"chat", document(`"document_url":{"url":"https://a.test/b.PDF"}`), "responses", `{"type":"input_file","file_url":"https://a.test/b.PDF"}`},
		{"chat", document(`"document_url":"https://a.test/b.pdf"`), "generatecontent", `"fileData":{"mimeType":"application/pdf","fileUri":"https://a.test/b.pdf"}`},
		{"chat", document(`"document_url":"data:application/pdf;base64,JVBERg=="`), "messages", `"data":"JVBERg=="`},
		{"chat", document(`"document_url":"https://a.test/b","document_name":"n","unknown":1`), "chat", `{"type":"document_url","unknown":1,"document_url":"https://a.test/b","document_name":"n"}`},
		{"chat", document(`"document_url":""`), "messages", "refused messages[0].parts[0].opaque"},
		{"chat", document(`"document_url":7`), "messages", "refused messages[0].parts[0].opaque"},
	} {
		got, losses, err := translate(c.from, c.to, c.body)
		got += consequences(losses, err)
		if !strings.Contains(got, c.want) || c.want == "" && (err != nil || len(losses) > 0) {
			t.Errorf("%s to %s: %s\ngot  %s\nwant %s", c.from, c.to, c.body, got, c.want)
		}
	}
}

// Files that Google keeps go to its vendors alone.
func TestFilesOfGoogle(t *testing.T) {
	for _, c := range []struct{ uri, field string }{
		{"gs://bucket/a.png", "url"}, {"https://generativelanguage.googleapis.com/v1beta/files/abc", "url"}, {"files/abc", "file_id"}, {"https://a.test/a.png", ""},
	} {
		for kind, mediaType := range map[string]string{"image": "image/png", "file": "application/pdf"} {
			req, err := generatecontent.Codec{}.DecodeRequest([]byte(`{"contents":[{"role":"user","parts":[{"text":"a"},{"fileData":{"mimeType":"` + mediaType + `","fileUri":"` + c.uri + `"}}]}]}`))
			if err != nil {
				t.Fatal(err)
			}
			for _, to := range codecOf {
				want := "messages[0].parts[1]." + kind + "." + c.field
				if c.field == "" || to.Protocol() == genwayv1.Protocol_PROTOCOL_GENERATE_CONTENT || to.Protocol() == genwayv1.Protocol_PROTOCOL_INTERACTIONS {
					want = ""
				}
				got := ""
				if err := fit.Media(req.GenerateTextRequest, to.Protocol()); err != nil {
					got = fault.From(err).Param
				}
				if got != want {
					t.Errorf("%s %s to %v: refuses %q, want %q", kind, c.uri, to.Protocol(), got, want)
				}
			}
		}
	}
	nested := request(turn(user, text("a")), turn(assistant, call("c", "{}")), turn(tool, result("c", text("b"),
		&genwayv1.Part{Kind: &genwayv1.Part_Image{Image: &genwayv1.Media{Source: &genwayv1.Media_Url{Url: "gs://b/c"}}}})))
	if err := fit.Media(nested, genwayv1.Protocol_PROTOCOL_MESSAGES); err == nil || fault.From(err).Param != "messages[2].parts[0].tool_result.parts[1].image.url" {
		t.Errorf("in a result: %v", err)
	}
}

// A result whose call is behind a reference that is not known is sent as text: vendors refuse a result without its call.
func TestReferencesLeaveNoOrphans(t *testing.T) {
	const output = `{"type":"function_call_output","call_id":"call_1","output":"sunny"}`
	for to, orphan := range map[string]string{"chat": `"role":"tool"`, "messages": `"tool_result"`, "generatecontent": `"functionResponse"`} {
		for _, reference := range []string{`{"type":"item_reference","id":"fc_unknown"}`, `{"id":"fc_unknown"}`} {
			got, losses, err := translate("responses", to, `{"model":"m","input":[{"role":"user","content":"a"},`+reference+`,`+output+`]}`)
			if err != nil || strings.Contains(got, orphan) || !strings.Contains(got, "sunny") || len(losses) != 2 {
				t.Errorf("%s: %s, losses %v, error %v", to, got, losses, err)
			}
			got, losses, err = translate("responses", to, `{"model":"m","input":[{"role":"user","content":"a"},`+reference+`,{"type":"function_call","call_id":"call_1","name":"f","arguments":"{}"},`+output+`]}`)
			if err != nil || !strings.Contains(got, orphan) || len(losses) != 1 {
				t.Errorf("%s with the call: %s, losses %v, error %v", to, got, losses, err)
			}
		}
	}
}
