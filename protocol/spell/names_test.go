package spell

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// of has the names of the protocols.
var of = map[genwayv1.Protocol]*Names{
	genwayv1.Protocol_PROTOCOL_CHAT_COMPLETIONS: &Chat,
	genwayv1.Protocol_PROTOCOL_RESPONSES:        &Responses,
	genwayv1.Protocol_PROTOCOL_MESSAGES:         &Messages,
	genwayv1.Protocol_PROTOCOL_GENERATE_CONTENT: &GenerateContent,
	genwayv1.Protocol_PROTOCOL_IMAGES:           &Images,
}

// fieldsOf are the paths of all fields below a message, without those of the messages in
// leave.
func fieldsOf(of protoreflect.MessageDescriptor, prefix string, leave ...protoreflect.Name) []string {
	var found []string
	for i := range of.Fields().Len() {
		f := of.Fields().Get(i)
		path := prefix + string(f.Name())
		found = append(found, path)
		inner := f.Message()
		if inner == nil || f.IsMap() || slices.Contains(leave, inner.Name()) || inner.Name() == of.Name() {
			continue
		}
		found = append(found, fieldsOf(inner, path+".", append(leave, inner.Name())...)...)
	}
	return found
}

// plumbing are fields that no caller's member stands for.
func plumbing(path string) bool { return strings.HasPrefix(path, "wire") }

// No field of the contract is forgotten: each protocol says what it calls it, or none.
func TestEveryFieldHasAName(t *testing.T) {
	heavy := []protoreflect.Name{"Message", "Tool", "NativeField", "WireMessage"}
	for protocol, n := range of {
		type table struct {
			of     proto.Message
			prefix string
			names  map[string]string
			leave  []protoreflect.Name
		}
		tables := []table{{&genwayv1.GenerateImageRequest{}, "", n.settings, append(heavy, "Media")}}
		if protocol != genwayv1.Protocol_PROTOCOL_IMAGES {
			tables = []table{
				{&genwayv1.GenerateTextRequest{}, "", n.settings, heavy},
				{&genwayv1.ListModelsRequest{}, "", n.settings, heavy},
				{&genwayv1.Part{}, "", n.part, append(heavy, "Part")},
				{&genwayv1.Message{}, "", n.message, append(heavy, "Part")},
				{&genwayv1.Tool{}, "", n.tool, heavy[2:]},
			}
		}
		for _, table := range tables {
			for _, path := range fieldsOf(table.of.ProtoReflect().Descriptor(), table.prefix, table.leave...) {
				whole := path == "sampling" || path == "parts" // known by what is in them
				if _, _, ok := longest(table.names, path); !ok && !whole && !plumbing(path) {
					t.Errorf("%v has no name for %s of %T: add the member's name, or an empty one where the protocol has no such member, to protocol/spell/names_*.go", protocol, path, table.of)
				}
			}
		}
	}
}

// bodiesOfSettings are bodies with every setting of their protocol.
var bodiesOfSettings = map[string][]string{
	"chat": {`{"model":"m","messages":[{"role":"user","content":"a"}],"tools":[{"type":"function","function":{"name":"f"}}],
		"tool_choice":"required","parallel_tool_calls":true,"response_format":{"type":"json_schema","json_schema":{"name":"s","description":"d","schema":{},"strict":true}},
		"temperature":1,"top_p":0.5,"seed":1,"frequency_penalty":1,"presence_penalty":1,"n":2,"logprobs":true,"top_logprobs":2,
		"reasoning_effort":"low","max_completion_tokens":7,"stop":["a"],"service_tier":"flex","user":"u","metadata":{"k":"v"},"verbosity":"low",
		"modalities":["text"],"audio":{"voice":"v","format":"wav"},"store":true,"prompt_cache_key":"p","safety_identifier":"i"}`,
		`{"model":"m","messages":[{"role":"user","content":"a"}],"functions":[{"name":"f"}],"function_call":{"name":"f"},"max_tokens":7}`},
	"responses": {`{"model":"m","input":"a","tools":[{"type":"function","name":"f","parameters":{}}],"tool_choice":"required","parallel_tool_calls":true,
		"text":{"format":{"type":"json_schema","name":"s","description":"d","schema":{},"strict":true},"verbosity":"low"},
		"temperature":1,"top_p":0.5,"include":["message.output_text.logprobs"],"top_logprobs":2,"reasoning":{"effort":"low","summary":"auto"},
		"max_output_tokens":7,"service_tier":"flex","user":"u","metadata":{"k":"v"},"store":true,"prompt_cache_key":"p","safety_identifier":"i"}`},
	"messages": {`{"model":"m","messages":[{"role":"user","content":"a"}],"max_tokens":7,"tools":[{"name":"f","input_schema":{}}],
		"tool_choice":{"type":"tool","name":"f","disable_parallel_tool_use":true},"temperature":1,"top_p":0.5,"top_k":3,
		"thinking":{"type":"enabled","budget_tokens":2000,"display":"summarized"},"output_config":{"effort":"low","format":{"type":"json_schema","schema":{}}},
		"stop_sequences":["a"],"service_tier":"auto","metadata":{"user_id":"u"},"cache_control":{"type":"ephemeral","ttl":"1h"}}`,
		`{"model":"m","messages":[{"role":"user","content":"a"}],"max_tokens":7,"output_format":{"type":"json_schema","schema":{}}}`},
	"generatecontent": {`{"contents":[{"parts":[{"text":"a"}]}],"tools":[{"functionDeclarations":[{"name":"f"}]}],
		"toolConfig":{"functionCallingConfig":{"mode":"ANY","allowedFunctionNames":["f"]}},"serviceTier":"flex","store":true,
		"generationConfig":{"temperature":1,"topP":0.5,"topK":3,"seed":1,"frequencyPenalty":1,"presencePenalty":1,"candidateCount":2,
		"responseLogprobs":true,"logprobs":2,"maxOutputTokens":7,"stopSequences":["a"],"responseModalities":["TEXT"],
		"responseMimeType":"application/json","responseSchema":{"type":"OBJECT"},"thinkingConfig":{"thinkingBudget":1,"thinkingLevel":"LOW","includeThoughts":true},
		"speechConfig":{"voiceConfig":{"prebuiltVoiceConfig":{"voiceName":"v"}}}}}`,
		`{"contents":[{"parts":[{"text":"a"}]}],"generation_config":{"max_output_tokens":7,"response_mime_type":"application/json","response_json_schema":{"type":"object"}}}`},
}

// A setting comes from the member that it is given for: without that, it is not there,
// or the body is not one.
func TestSettingsAreTheirMembers(t *testing.T) {
	for name, c := range codecs {
		decode := decoder(c)
		for _, body := range bodiesOfSettings[name] {
			req, err := decode([]byte(body))
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			s := New(of[c.Protocol()], []byte(body), decode)
			for path, value := range leaves(req.ProtoReflect(), "") {
				given := s.Member(path)
				if _, _, whole := parse([]byte(body)).follow(given, plain); !whole {
					t.Errorf("%s: %s is %s, which is not in the body", name, path, given)
					continue
				}
				rest, err := decode([]byte(without(t, body, given)))
				if err != nil {
					continue // a required member
				}
				if now, ok := maps.Collect(allLeaves(rest.ProtoReflect()))[path]; ok && now == value {
					t.Errorf("%s: %s is %s, and is there without that", name, path, given)
				}
			}
		}
	}
}

func allLeaves(m protoreflect.Message) func(func(string, string) bool) {
	return maps.All(leaves(m, ""))
}

// leaves are the fields that are set, by their paths, but for conversation and native
// fields.
func leaves(m protoreflect.Message, prefix string) map[string]string {
	found := map[string]string{}
	m.Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		path := prefix + string(f.Name())
		switch {
		case f.Name() == "native_fields" || f.Name() == "messages" || f.Name() == "tools" || f.Name() == "native":
		case f.Message() != nil && !f.IsList() && !f.IsMap():
			maps.Copy(found, leaves(v.Message(), path+"."))
		default:
			found[path] = v.String()
		}
		return true
	})
	return found
}

// without takes a member out of a body.
func without(t *testing.T, body, path string) string {
	t.Helper()
	var root map[string]any
	if err := json.Unmarshal([]byte(body), &root); err != nil {
		t.Fatal(err)
	}
	names, object := strings.Split(path, "."), root
	for _, name := range names[:len(names)-1] {
		object, _ = object[name].(map[string]any)
	}
	delete(object, names[len(names)-1])
	out, err := json.Marshal(root)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}
