package gateway_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/genway/genway/codec/fault"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

// talks are conversations with system text before them, a call, its result and a tool:
// each is at another position in the contract than in the body.
var talks = map[string]string{
	"chat": `{"model":"m","n":200,"max_tokens":5,"messages":[{"role":"system","content":"s"},{"role":"user","content":[{"type":"text","text":"a"},{"type":"image_url","image_url":{"url":"https://a.example/x.png"}}]},
		{"role":"assistant","content":"b","tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{}"}}]},
		{"role":"tool","tool_call_id":"c","content":"r"}],"tools":[{"type":"function","function":{"name":"f","parameters":{"type":"object"}}}]}`,
	"responses": `{"model":"m","instructions":"s","max_output_tokens":5,"input":[{"role":"user","content":[{"type":"input_text","text":"a"},{"type":"input_image","image_url":"https://a.example/x.png"}]},
		{"type":"message","role":"assistant","id":"msg_1","status":"completed","content":[{"type":"output_text","text":"b","annotations":[]}]},
		{"type":"function_call","call_id":"c","name":"f","arguments":"{}"},{"type":"function_call_output","call_id":"c","output":"r"}],
		"tools":[{"type":"function","name":"f","parameters":{"type":"object"}}]}`,
	"messages": `{"model":"m","max_tokens":5,"system":[{"type":"text","text":"s"}],"messages":[{"role":"user","content":[{"type":"text","text":"a"},{"type":"image","source":{"type":"url","url":"https://a.example/x.png"}}]},
		{"role":"assistant","content":[{"type":"text","text":"b"},{"type":"tool_use","id":"c","name":"f","input":{}}]},
		{"role":"user","content":[{"type":"tool_result","tool_use_id":"c","content":"r"}]}],"tools":[{"name":"f","input_schema":{"type":"object"}}]}`,
	"generatecontent": `{"systemInstruction":{"parts":[{"text":"s"}]},"contents":[{"role":"user","parts":[{"text":"a"},{"fileData":{"fileUri":"https://a.example/x.png","mimeType":"image/png"}}]},
		{"role":"model","parts":[{"text":"b"},{"functionCall":{"name":"f","args":{}}}]},{"role":"user","parts":[{"functionResponse":{"name":"f","response":{"output":"r"}}}]}],
		"generationConfig":{"candidateCount":200,"maxOutputTokens":5},"tools":[{"functionDeclarations":[{"name":"f","parameters":{"type":"OBJECT"}}]}]}`,
	"interactions": `{"model":"m","system_instruction":"s","input":[{"type":"user_input","content":[{"type":"text","text":"a"},{"type":"image","uri":"https://a.example/x.png"}]},
		{"type":"model_output","content":[{"type":"text","text":"b"}]},{"type":"function_call","id":"c","name":"f","arguments":{}},{"type":"function_result","call_id":"c","name":"f","result":"r"}],
		"generation_config":{"max_output_tokens":5},"tools":[{"type":"function","name":"f","parameters":{"type":"object"}}]}`,
}

// members are paths of the contract in those conversations, and what each caller calls
// them.
var members = map[string]map[string]string{
	"sampling.candidate_count": {"chat": "n", "generatecontent": "generationConfig.candidateCount"},
	"max_output_tokens":        {"chat": "max_tokens", "responses": "max_output_tokens", "messages": "max_tokens", "generatecontent": "generationConfig.maxOutputTokens"},
	"messages[0].parts[0]":     {"chat": "messages[0].content", "responses": "instructions", "messages": "system[0]", "generatecontent": "systemInstruction.parts[0]", "interactions": "system_instruction"},
	"messages[1].parts[1].image": {
		"chat": "messages[1].content[1].image_url", "responses": "input[0].content[1].image_url",
		"messages": "messages[0].content[1].source", "generatecontent": "contents[0].parts[1].fileData", "interactions": "input[0].content[1].uri",
	},
	"messages[2].parts[1].tool_call.arguments_json": {
		"chat": "messages[2].tool_calls[0].function.arguments", "responses": "input[2].arguments",
		"messages": "messages[1].content[1].input", "generatecontent": "contents[1].parts[1].functionCall.args", "interactions": "input[2].arguments",
	},
	"messages[3].parts[0].tool_result.parts[0].text": {
		"chat": "messages[3].content", "responses": "input[3].output",
		"messages": "messages[2].content[0].content", "generatecontent": "contents[2].parts[0].functionResponse.response", "interactions": "input[3].result",
	},
	"tools[0].function.parameters_json": {
		"chat": "tools[0].function.parameters", "responses": "tools[0].parameters",
		"messages": "tools[0].input_schema", "generatecontent": "tools[0].functionDeclarations[0].parameters", "interactions": "tools[0].parameters",
	},
}

// A failure names members as the caller has written them: in its text, where every
// protocol has it, and in the member of its own where the protocol has one.
func TestFailuresNameTheCallersMembers(t *testing.T) {
	e := serve(t, nil)
	for path, named := range members {
		for _, p := range protocols {
			want := named[p.name]
			if want == "" {
				continue
			}
			for form, message := range map[string]string{
				"bare": "must be between 1 and 16, not 200", "named": path + " must be between 1 and 16, not 200",
				"colon": path + ": expected another", "within": "the upstream does not take " + path + " here",
			} {
				e.core.fail = detailed(fault.Invalid(path, "%s", message))
				r := e.do(t, http.MethodPost, p.path, right(p.name), talks[p.name])
				native(t, p.name, r, http.StatusBadRequest)
				text, param := failure(t, r)
				if !strings.Contains(text, want) || want != path && strings.Contains(text, path) {
					t.Errorf("%s, %s, %s: %q", p.name, path, form, text)
				}
				if param != want && p.name != "messages" {
					t.Errorf("%s, %s, %s: the param is %q, not %q", p.name, path, form, param, want)
				}
			}
		}
	}
	e.core.fail = detailed(fault.Invalid("sampling.candidate_count", "must be between 1 and 16, not 200"))
	r := e.do(t, http.MethodPost, protocols[0].path, right("chat"), talks["chat"])
	if text, _ := failure(t, r); text != "`n` must be between 1 and 16, not 200" {
		t.Errorf("%q", text)
	}
}

// failure is the text of a failure and the member that it names apart from that.
func failure(t *testing.T, r reply) (text, param string) {
	t.Helper()
	var body struct {
		Error struct {
			Message, Param string
			Details        []struct{ FieldViolations []struct{ Field string } }
		}
	}
	if err := json.Unmarshal([]byte(r.body), &body); err != nil {
		t.Fatal(err)
	}
	param = body.Error.Param
	for _, d := range body.Error.Details {
		for _, v := range d.FieldViolations {
			param = v.Field
		}
	}
	return body.Error.Message, param
}

// What was lost is named likewise.
func TestLossesNameTheCallersMembers(t *testing.T) {
	e := serve(t, nil)
	for path, named := range members {
		for _, p := range protocols {
			want := named[p.name]
			if want == "" {
				continue
			}
			e.core.answer = answer()
			e.core.answer.Losses = []*genwayv1.Loss{{Member: path}, {Member: path}}
			if lost := e.do(t, http.MethodPost, p.path, right(p.name), talks[p.name]).header.Get("X-Genway-Lost"); lost != want {
				t.Errorf("%s: %s is lost as %q", p.name, path, lost)
			}
		}
	}
}

// What the core says of a body that it could not decode is in the caller's names already,
// and an upstream's words are its own.
func TestNamesThatAreTheCallersStay(t *testing.T) {
	e := serve(t, nil)
	own := fault.Invalid("messages[0].content[1].type", "messages[0].content[1].type: expected string, got number")
	e.core.fail = detailed(own)
	body := `{"model":"m","messages":[{"role":"user","content":[{"type":"text","text":"a"},{"type":7}]}]}`
	if text, param := failure(t, e.do(t, http.MethodPost, protocols[0].path, right("chat"), body)); text != own.Message || param != own.Param {
		t.Errorf("%q, %q", text, param)
	}
	upstream := fault.Invalid("max_output_tokens", "max_output_tokens is too large for sampling.seed")
	upstream.NativeType = "invalid_request_error"
	e.core.fail = detailed(upstream)
	if text, param := failure(t, e.do(t, http.MethodPost, protocols[0].path, right("chat"), talks["chat"])); text != upstream.Message || param != upstream.Param {
		t.Errorf("%q, %q", text, param)
	}
}
