package remote_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/core/upstream/remote"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/genway/genway/protocol"
	"github.com/genway/genway/protocol/deferred"
	"golang.org/x/tools/txtar"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// kept is a transport that answers each call shortly and keeps its body.
type kept struct{ body, answer []byte }

func (k *kept) RoundTrip(r *http.Request) (resp *http.Response, err error) {
	if k.body, err = io.ReadAll(r.Body); err != nil {
		return nil, err
	}
	return &http.Response{StatusCode: http.StatusOK, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: r, Header: http.Header{"Content-Type": {"application/json"}},
		ContentLength: int64(len(k.answer)), Body: io.NopCloser(bytes.NewReader(k.answer))}, nil
}

// translator carries bodies from one protocol to an upstream of another.
type translator struct {
	from     *protocol.Protocol
	upstream *remote.Upstream
	wire     *kept
}

func translate(t *testing.T, from, to *protocol.Protocol) *translator {
	t.Helper()
	answer, err := to.Codec.EncodeResponse(&genwayv1.GenerateTextResponse{Id: "r", Model: "m", CreateTime: &timestamppb.Timestamp{Seconds: 1}, Usage: &genwayv1.Usage{},
		Candidates: []*genwayv1.Candidate{{Parts: []*genwayv1.Part{codec.TextPart("a")}, StopReason: genwayv1.StopReason_STOP_REASON_END_TURN}}}, codec.Answer{})
	if err != nil {
		t.Fatal(err)
	}
	wire := &kept{answer: answer}
	u, err := remote.New(remote.Config{Protocol: to.ID, BaseURL: "https://upstream.invalid", HTTP: wire})
	if err != nil {
		t.Fatal(err)
	}
	return &translator{from, u, wire}
}

// outcome says what becomes of a body: what the upstream gets and what is named as lost, or the member for which it is
// refused. decoded is false for a body that is none of its protocol.
func (c *translator) outcome(t *testing.T, body []byte) (got, refused string, decoded bool) {
	t.Helper()
	req, err := c.from.Codec.DecodeRequest(body)
	if err != nil {
		return "", "", false
	}
	req.Wire = &genwayv1.WireMessage{Protocol: c.from.ID, Json: body}
	req.Model = "m"
	names := c.from.Names(body, req.GenerateTextRequest)
	resp, err := c.upstream.GenerateText(t.Context(), deferred.New(req.GenerateTextRequest))
	if err != nil {
		f := *fault.From(err)
		names.Fault(&f)
		return "", f.Param, true
	}
	var b strings.Builder
	b.Write(c.wire.body)
	for _, l := range resp.GetLosses() {
		b.WriteString("\nlost " + names.Member(l.GetMember()))
	}
	return b.String(), "", true
}

// known are members that another protocol's body does not have, by their protocol and their path without indices, and why
// nothing is lost by it.
var known = map[string]string{
	"chat model": "routing sets it", "responses model": "routing sets it", "messages model": "routing sets it", "interactions model": "routing sets it", "generatecontent model": "the path says it",
	"chat stream": "the operation says it", "responses stream": "the operation says it", "messages stream": "the operation says it", "interactions stream": "the operation says it",
	"chat stream_options": "the edge reads it", "chat stream_options.include_usage": "the edge reads it",
	"chat max_tokens": "of two names for one number the other is sent", "chat max_completion_tokens": "of two names for one number the other is sent",
	"chat messages.name":       "the call of the result says it",
	"chat parallel_tool_calls": "is so without it",
	"chat tool_choice":         "is so without it",
	"responses include":        "is neutral", "responses text": "is neutral",
	"chat functions.parameters.type": "is always object", "chat tools.function.parameters.type": "is always object", "responses tools.parameters.type": "is always object",
	"chat response_format.json_schema.schema.$schema": "is so without it",
	"chat response_format.json_schema.strict":         "every answer is held to the schema", "responses text.format.strict": "every answer is held to the schema",
	"chat tools.function.strict": "the mode of the calls says it", "messages tools.strict": "the mode of the calls says it", "responses tools.strict": "the mode of the calls says it",
	"chat tools.function.name": "the choice leaves the tool out", "generatecontent tools.functionDeclarations.name": "the choice leaves the tool out",
	"generatecontent tools.functionDeclarations": "the choice leaves the tool out", "responses input.tools": "the choice leaves the tool out",
	"responses input.tools.name": "the choice leaves the tool out", "responses input.tools.tools.name": "the choice leaves the tool out",
	"responses input.tools.tools.description": "the choice leaves the tool out", "responses tools.name": "the choice leaves the tool out",
	"responses tools.tools.name": "the choice leaves the tool out", "responses tools.description": "the choice leaves the tool out",
	"responses input.tools.description":                    "a later definition of the tools takes its place",
	"generatecontent contents.parts.functionResponse.name": "the call of the result says it",
	"generatecontent contents.role":                        "what is in it says it", "generatecontent systemInstruction.role": "its place says it", "responses input.role": "its type says it",
	"generatecontent generationConfig.responseMimeType": "the schema says it", "generatecontent generation_config.response_mime_type": "the schema says it",
	"generatecontent generationConfig.responseSchema.propertyOrdering": "the order of the properties says it",
	"messages messages.content":                                        "clear_at has cleared it",
	"messages thinking.budget_tokens":                                  "the effort says it",
	"messages thinking":                                                "a model that thinks decides that itself",
	"messages tools.name":                                              "the type says it",
	"responses input.id":                                               "identifies the item at its vendor alone; calls and results have call_id",
	"chat messages.annotations.type":                                   "what is in it says it", "chat messages.reasoning_details.signature": "the thinking that it seals is named", "chat messages.reasoning_details.id": "identifies the item at its vendor alone", "chat messages.reasoning_details.format": "says how the vendor has written it",
	"chat messages.reasoning_details.index": "the order says it",
	"interactions input.name":               "the call of the result says it", "interactions input.content.name": "the call of the result says it",
	"interactions input.content.annotations.type": "what is in it says it", "interactions input.mime_type": "the image says it",
}

// Each member of a request arrives at an upstream of another protocol, says nothing, or is named as lost. The test changes a
// member, then takes it out, and compares what the upstream receives. It uses the bodies of the codecs' goldens and of the agents.
func TestMembersAreNotLostInSilence(t *testing.T) {
	for name, raw := range recorded(t) {
		kind, _, _ := strings.Cut(name, " ")
		from := protocol.ByKind(kind)
		for _, to := range protocol.All() {
			if to.Codec == nil || to == from {
				continue
			}
			t.Run(name+" to "+to.Kind, func(t *testing.T) {
				c, body := translate(t, from, to), value(t, raw)
				base, refused, decoded := c.outcome(t, encoded(t, body))
				for try := 0; refused != "" && decoded && try < 30; try++ { // what is refused is not lost; the others can be
					edit(body, refused, nil)
					base, refused, decoded = c.outcome(t, encoded(t, body))
				}
				if !decoded || refused != "" {
					return
				}
				for path, has := range members(body, "") {
					if known[kind+" "+indices.ReplaceAllString(path, "")] == "" && !named(base, path) && c.silent(t, body, base, path, has) {
						t.Errorf("%s is lost: %s", path, encoded(t, has))
					}
				}
			})
		}
	}
}

// silent reports whether no other value of a member, and no body without it, becomes another body or is refused.
func (c *translator) silent(t *testing.T, body any, base, path string, has any) bool {
	others := []any{nil}
	switch v := has.(type) {
	case nil:
		return false
	case string:
		if v == "" {
			return false
		}
		others = append(others, v+"x", "other")
	case float64:
		if v == 0 {
			return false
		}
		others = append(others, v+1, v/2, v+100)
	case bool:
		if !v {
			return false
		}
		others = append(others, false)
	default:
		return false // its members are looked at
	}
	tried := 0
	for _, other := range others {
		changed := value(t, encoded(t, body))
		edit(changed, path, other)
		got, refused, decoded := c.outcome(t, encoded(t, changed))
		switch {
		case !decoded:
			continue
		case got != base || refused != "":
			return false
		}
		tried++
	}
	return tried > 0
}

// What is lost or refused is named by its place in the caller's conversation, although turns are joined and results are moved to
// their calls before they are written.
func TestPlacesInChangedConversations(t *testing.T) {
	const (
		call  = `{"role":"assistant","tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}},{"id":"b","type":"function","function":{"name":"f","arguments":"{}"}}]}`
		image = `{"type":"image_url","image_url":{"url":"https://a.test/a.png","detail":"low"}}`
		audio = `{"type":"input_audio","input_audio":{"data":"AQID","format":"wav"}}`
		odd   = `{"role":"assistant","content":"c","reasoning_details":[{"type":"reasoning.odd"}]}`
	)
	for _, c := range []struct{ name, to, conversation, want string }{
		{"joined turns", "generatecontent", `{"role":"user","content":"q"},{"role":"assistant","content":"a"},` + odd + `,{"role":"assistant","content":"b"},{"role":"user","content":[{"type":"text","text":"a"},` + image + `]}`,
			"lost messages[2].reasoning_details, lost messages[4].content[1].image_url.detail"},
		{"a turn before the first call", "generatecontent", call + `,{"role":"tool","tool_call_id":"a","content":"1"},{"role":"tool","tool_call_id":"b","content":"2"},{"role":"user","content":[` + image + `]}`,
			"lost messages[3].content[0].image_url.detail"},
		{"results in another order", "messages", `{"role":"user","content":"q"},` + call + `,{"role":"tool","tool_call_id":"b","content":[` + image + `]},{"role":"tool","tool_call_id":"a","content":[{"type":"text","text":"1"},` + image + `]},{"role":"user","content":[` + image + `]}`,
			"lost messages[3].content[1].image_url.detail, lost messages[2].content[0].image_url.detail, lost messages[4].content[0].image_url.detail"},
		{"a late result", "messages", `{"role":"user","content":"q"},` + call + `,{"role":"tool","tool_call_id":"b","content":"2"},{"role":"user","content":[` + image + `]},{"role":"assistant","content":"x"},{"role":"tool","tool_call_id":"a","content":[` + image + `]},{"role":"user","content":[` + image + `]}`,
			"lost messages[1].tool_calls[0], lost messages[5], lost messages[3].content[0].image_url.detail, lost messages[6].content[0].image_url.detail"},
		{"no result", "messages", `{"role":"user","content":"q"},` + call + `,{"role":"assistant","content":"x"},{"role":"user","content":[` + image + `]}`,
			"lost messages[1].tool_calls[0], lost messages[1].tool_calls[1], lost messages[3].content[0].image_url.detail"},
		{"a refusal", "messages", `{"role":"user","content":"q"},{"role":"assistant","content":"a"},{"role":"assistant","content":"b"},` + call + `,{"role":"tool","tool_call_id":"b","content":"2"},{"role":"tool","tool_call_id":"a","content":"1"},{"role":"user","content":[{"type":"text","text":"a"},` + audio + `]}`,
			"refused messages[6].content[1]"},
	} {
		t.Run(c.name, func(t *testing.T) {
			body := []byte(`{"model":"m","messages":[` + c.conversation + `]}`)
			got, refused, decoded := translate(t, protocol.ByKind("chat"), protocol.ByKind(c.to)).outcome(t, body)
			if !decoded {
				t.Fatal(string(body))
			}
			_, lost, _ := strings.Cut(got, "\n")
			if lost = strings.ReplaceAll(lost, "\n", ", "); refused != "" {
				lost = "refused " + refused
			}
			if lost != c.want {
				t.Errorf("got  %s\nwant %s\n%s", lost, c.want, got)
			}
		})
	}
}

// What another vendor can be told in a form of its own is not refused; what it cannot, and would change the question, is.
func TestWhatIsRefused(t *testing.T) {
	chat := func(messages, more string) string { return `{"model":"m"` + more + `,"messages":[` + messages + `]}` }
	document := func(source string) string {
		return `{"model":"m","max_tokens":99,"messages":[{"role":"user","content":[{"type":"document","title":"T","source":` + source + `},{"type":"text","text":"q"}]}]}`
	}
	for _, c := range []struct{ from, to, body, want string }{
		{"chat", "messages", chat(`{"role":"system","content":"a"},{"role":"system","content":"b"}`, ""), `"system":"a","messages":[{"role":"user","content":"b"}]}` + "\nlost messages[1].role"},
		{"chat", "generatecontent", chat(`{"role":"developer","content":"a"}`, ""), `{"contents":[{"role":"user","parts":[{"text":"a"}]}]}` + "\nlost messages[0].role"},
		{"chat", "responses", chat(`{"role":"system","content":"a"}`, ""), `"role":"system"`},
		{"chat", "responses", chat(`{"role":"user","content":"a"}`, `,"moderation":{"model":"o"},"prompt_cache_options":{"mode":"explicit"}`), `"moderation":{"model":"o"},"prompt_cache_options":{"mode":"explicit"}}`},
		{"chat", "messages", chat(`{"role":"user","content":"a"}`, `,"moderation":{"model":"o","policy":{"output":{"mode":"score"}}}`), "lost moderation"},
		{"chat", "messages", chat(`{"role":"user","content":"a"}`, `,"moderation":{"model":"o","policy":{"output":{"mode":"bl\u006fck"}}}`), "refused moderation"},
		{"responses", "generatecontent", `{"model":"m","input":"a","moderation":{"model":"o"}}`, "lost moderation"},
		{"responses", "generatecontent", `{"model":"m","input":"a","moderation":{"model":"o","policy":{"input":{"mode":"block"}}}}`, "refused moderation"},
		{"chat", "messages", chat(`{"role":"user","content":[{"type":"input_audio","input_audio":{"data":"AQID","format":"wav"}}]}`, ""), "refused messages[0].content[0]"},
		{"chat", "generatecontent", chat(`{"role":"user","content":[{"type":"input_audio","input_audio":{"data":"AQID","format":"wav"}}]}`, ""), `"inlineData":{"mimeType":"audio/wav","data":"AQID"}`},
		{"messages", "chat", document(`{"type":"content","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}`), `{"type":"text","text":"T\na\nb"}`},
		{"messages", "responses", document(`{"type":"content","content":"a"}`), `{"type":"input_text","text":"T\na"}`},
		{"messages", "generatecontent", document(`{"type":"content","content":"a"}`), `{"text":"T\na"}`},
		{"messages", "chat", document(`{"type":"content","content":[{"type":"text","text":"a"},{"type":"image","source":{"type":"url","url":"https://a.test/a.png"}}]}`), "refused messages[0].content[0]"},
		{"messages", "chat", document(`{"type":"content","content":[]}`), `{"type":"text","text":"T"}`},
		{"messages", "chat", document(`{"type":"tomorrow","content":7}`), `{"type":"text","text":"T"}`},
		{"generatecontent", "messages", `{"contents":[{"parts":[{"inlineData":{"mimeType":"text/csv","data":"YSxiCg=="}}]}]}`, `"data":"a,b\n"`},
		{"generatecontent", "messages", `{"contents":[{"parts":[{"inlineData":{"mimeType":"text/csv","data":"YSxiCg=="}}]}]}`, "lost contents[0].parts[0].inlineData.mimeType"},
	} {
		got, refused, decoded := translate(t, protocol.ByKind(c.from), protocol.ByKind(c.to)).outcome(t, []byte(c.body))
		if refused != "" {
			got = "refused " + refused
		}
		if !decoded || !strings.Contains(got, c.want) {
			t.Errorf("%s to %s: %s\ngot  %s\nwant %s", c.from, c.to, c.body, got, c.want)
		}
	}
}

// recorded are bodies of callers, by their protocol and their name.
func recorded(t *testing.T) map[string][]byte {
	t.Helper()
	bodies := map[string][]byte{}
	for kind, list := range more {
		for i, body := range list {
			bodies[fmt.Sprintf("%s %d", kind, i)] = []byte(body)
		}
	}
	files := []string{"../../../test/cases/testdata/agents.txtar"}
	for _, pattern := range []string{"../../../codec/*/testdata/request*.txtar", "../../../codec/*/testdata/request/*.txtar"} {
		found, err := filepath.Glob(pattern)
		if err != nil || found == nil {
			t.Fatal(pattern, err)
		}
		files = append(files, found...)
	}
	for _, file := range files {
		archive, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range archive.Files {
			name := f.Name
			if f.Name == "in.json" {
				name = strings.Split(file, "/")[4] + " " + filepath.Base(file)
			} else if !strings.Contains(name, " ") {
				continue
			}
			var body map[string]any
			if json.Unmarshal(f.Data, &body) != nil {
				continue // a golden of what is refused
			}
			if kind, _, _ := strings.Cut(name, " "); body["model"] == nil && kind != "generatecontent" {
				body["model"] = "m" // calls of the cases' harness set these
				if kind == "messages" {
					body["max_tokens"] = 4096
				}
			}
			bodies[name] = encoded(t, body)
		}
	}
	return bodies
}

// more are bodies with members that no recorded one has.
var more = map[string][]string{
	"chat": {
		`{"model":"m","messages":[{"role":"user","content":"q","name":"bob"},{"role":"assistant","content":"abcd","annotations":[{"type":"url_citation","url_citation":{"start_index":0,"end_index":4,"title":"t","url":"https://c.example"}}]},{"role":"user","content":"r"}]}`,
		`{"model":"m","messages":[{"role":"user","content":"q"},{"role":"assistant","content":"a","reasoning_details":[{"type":"reasoning.text","text":"foreign","signature":"c2ln","index":0,"x":1,"format":"f","id":"i"}]},{"role":"user","content":"r"}]}`,
		`{"model":"m","messages":[{"role":"user","content":[{"type":"text","text":"a"},{"type":"image_url","image_url":{"url":"https://a.test/a.png","detail":"low"}}]}],"thinking":{"type":"enabled"},"enable_thinking":true,"reasoning":{"effort":"high","exclude":true}}`,
	},
	"responses": {
		`{"model":"m","input":[{"type":"message","role":"user","content":[{"type":"input_text","text":"a"},{"type":"input_image","image_url":"https://a.test/a.png","detail":"low"}]},
			{"type":"message","role":"assistant","phase":"commentary","id":"msg_1","status":"completed","content":[{"type":"output_text","text":"x"}]},{"type":"reasoning","id":"rs_1","summary":[{"type":"summary_text","text":"s"}],"encrypted_content":"eHg="},
			{"type":"function_call","id":"fc_1","call_id":"c","name":"f","arguments":"{}","status":"completed"},{"type":"function_call_output","call_id":"c","output":[{"type":"input_text","text":"y"},{"type":"input_image","image_url":"https://a.test/b.png","detail":"high"}],"status":"completed"}]}`,
	},
	"messages": {
		`{"model":"m","max_tokens":99,"messages":[{"role":"user","content":"q"},{"role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"c2ln"},{"type":"text","text":"b"},{"type":"tool_use","id":"a","name":"f","input":{},"cache_control":{"type":"ephemeral","ttl":"1h"},"caller":{"type":"direct"}}]},
			{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","is_error":true,"x":1,"content":[{"type":"text","text":"b","cache_control":{"type":"ephemeral"},"x":1}]},{"type":"text","text":"c","x":1}]}]}`,
	},
	"generatecontent": {
		`{"contents":[{"role":"user","parts":[{"text":"a","x":1},{"inlineData":{"mimeType":"image/png","data":"AQID","displayName":"n"},"mediaResolution":{"level":"x"}}]}],"safety_settings":[{"category":"c","threshold":"t"}],"generationConfig":{"candidateCount":1,"responseMimeType":"application/json","responseSchema":{"type":"OBJECT","title":"t","properties":{"b":{"type":"STRING"},"a":{"type":"STRING"}},"propertyOrdering":["a","b"]}}}`,
	},
}

func encoded(t *testing.T, v any) []byte {
	t.Helper()
	body, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return body
}

func value(t *testing.T, body []byte) (v any) {
	t.Helper()
	if err := json.Unmarshal(body, &v); err != nil {
		t.Fatal(err)
	}
	return v
}

// named reports whether a member, or what it is in, is named as lost.
func named(outcome, path string) bool {
	for lost := range strings.SplitSeq(outcome, "\nlost ") {
		if rest, ok := strings.CutPrefix(path, lost); ok && (rest == "" || rest[0] == '.' || rest[0] == '[') {
			return true
		}
	}
	return false
}

// members are the members of all objects in a value, by their paths.
func members(v any, path string) map[string]any {
	all := map[string]any{}
	switch v := v.(type) {
	case map[string]any:
		for name, has := range v {
			at := strings.TrimPrefix(path+"."+name, ".")
			all[at] = has
			maps.Copy(all, members(has, at))
		}
	case []any:
		for i, has := range v {
			maps.Copy(all, members(has, fmt.Sprintf("%s[%d]", path, i)))
		}
	}
	return all
}

var indices = regexp.MustCompile(`\[\d+\]`)

// edit changes a member of a value, or takes it out. An element of a list is taken out.
func edit(v any, path string, to any) {
	steps := strings.FieldsFunc(path, func(r rune) bool { return strings.ContainsRune(".[]", r) })
	edited(v, steps, to)
}

func edited(v any, steps []string, to any) any {
	step, last := steps[0], len(steps) == 1
	switch v := v.(type) {
	case map[string]any:
		switch {
		case last && to == nil:
			delete(v, step)
		case last:
			v[step] = to
		case v[step] != nil:
			v[step] = edited(v[step], steps[1:], to)
		}
	case []any:
		i, err := strconv.Atoi(step)
		switch {
		case err != nil || i >= len(v):
		case last:
			return slices.Delete(v, i, i+1)
		default:
			v[i] = edited(v[i], steps[1:], to)
		}
	}
	return v
}
