package protocol

import (
	"encoding/json"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/genway/genway/codec/codectest"
	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/codec/member"
	"github.com/genway/genway/codec/setting"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"golang.org/x/tools/txtar"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// textual are the contract's protocols with conversations, by their folders.
var textual = map[string]*Protocol{"chat": &chatCompletions, "responses": &responsesProtocol, "messages": &messagesProtocol, "generatecontent": &generateContent, "interactions": &interactionsProtocol}

// text is a message with a conversation.
var text = (*genwayv1.GenerateTextRequest)(nil)

func plain(name string) string { return name }

// fieldsOf are the paths of all fields below a message, without the fields of the messages in
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

// plumbing are fields that no caller's member sets.
func plumbing(path string) bool { return strings.HasPrefix(path, "wire") }

// No field of the contract is forgotten: each protocol says what it calls it, or none.
func TestEveryFieldHasAName(t *testing.T) {
	heavy := []protoreflect.Name{"Message", "Tool", "NativeField", "WireMessage"}
	for protocol, n := range namesOf() {
		type table struct {
			of     proto.Message
			prefix string
			names  map[string]string
			leave  []protoreflect.Name
		}
		tables := []table{{&genwayv1.GenerateImageRequest{}, "", n.request, append(heavy, "Media")}}
		if protocol != genwayv1.Protocol_PROTOCOL_IMAGES {
			tables = []table{
				{&genwayv1.GenerateTextRequest{}, "", n.request, heavy},
				{&genwayv1.ListModelsRequest{}, "", n.request, heavy},
				{&genwayv1.Part{}, "", n.part, append(heavy, "Part")},
				{&genwayv1.Message{}, "", n.message, append(heavy, "Part")},
				{&genwayv1.Tool{}, "", n.tool, heavy[2:]},
			}
		}
		for _, table := range tables {
			for _, path := range fieldsOf(table.of.ProtoReflect().Descriptor(), table.prefix, table.leave...) {
				whole := path == "sampling" || path == "parts" // known by what is in them
				if _, _, ok := longest(table.names, path); !ok && !whole && !plumbing(path) {
					t.Errorf("%v has no name for %s of %T: add a row to the tables of codec/setting", protocol, path, table.of)
				}
			}
		}
	}
}

// A part without an object of its own is named by the member that has it; where a protocol has no such member, by its
// message, and not by a member of the message's object whose name is only the same.
func TestPartsWithoutAnObject(t *testing.T) {
	for protocol, n := range namesOf() {
		for _, row := range setting.Holders {
			if got, want := n.holder[row.Field], row.Of(protocol); got != want {
				t.Errorf("%v: %s is in %q, want %q", protocol, row.Field, got, want)
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
	"interactions": {`{"model":"m","input":"a","tools":[{"type":"function","name":"f"}],"service_tier":"flex","store":true,"response_modalities":["text"],
		"response_format":{"type":"text","mime_type":"application/json","schema":{}},
		"generation_config":{"temperature":1,"top_p":0.5,"seed":1,"max_output_tokens":7,"stop_sequences":["a"],"thinking_level":"low","thinking_summaries":"auto",
		"tool_choice":{"allowed_tools":{"mode":"any","tools":["f"]}}}}`,
		`{"model":"m","input":"a","generation_config":{"tool_choice":"any"},"response_mime_type":"application/json"}`},
}

// A setting comes from the member that it is given for: without that, it is not there,
// or the body is not one.
func TestSettingsAreTheirMembers(t *testing.T) {
	for name, p := range textual {
		decode := p.decoder(text)
		for _, body := range bodiesOfSettings[name] {
			req, err := decode([]byte(body))
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			s := p.Names([]byte(body), text)
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

// bodies are the requests among the golden cases of a codec.
func bodies(t *testing.T, name string) map[string]string {
	t.Helper()
	found := map[string]string{}
	err := filepath.WalkDir("../codec/"+name+"/testdata", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".txtar") {
			return err
		}
		archive, err := txtar.ParseFile(path)
		if err != nil {
			return err
		}
		for _, file := range archive.Files {
			if _, err := textual[name].Codec.DecodeRequest(file.Data); err == nil {
				found[filepath.Base(path)+"/"+file.Name] = string(file.Data)
			}
		}
		return nil
	})
	if err != nil || len(found) < 5 {
		t.Fatalf("%s has %d requests: %v", name, len(found), err)
	}
	return found
}

// Each position that is given is in the body, and has the text that it is given for.
func TestPositionsAreThoseOfTheBody(t *testing.T) {
	for name, p := range textual {
		traced, all := 0, 0
		for file, body := range bodies(t, name) {
			req, err := p.Codec.DecodeRequest([]byte(body))
			if err != nil {
				t.Fatal(err)
			}
			s := p.Names([]byte(body), text)
			check := func(path, text string) {
				all++
				given := s.Member(path)
				_, at, whole := parse([]byte(body)).follow(given, plain)
				switch {
				case !whole:
					t.Errorf("%s %s: %s is %s, which is not in the body", name, file, path, given)
				case text != "" && !holds(at, text):
					t.Errorf("%s %s: %s is %s, which does not say %q", name, file, path, given, text)
				}
				if given != namesOf()[p.ID].request["messages"] || at.kind != '[' {
					traced++
				}
			}
			for i, m := range req.GetMessages() {
				path := member.Index("messages", i)
				if given := s.Member(path + ".name"); strings.HasPrefix(given, "messages[") && name != "chat" && name != "messages" {
					t.Errorf("%s %s: %s.name is %s", name, file, path, given)
				}
				for j, p := range m.GetParts() {
					text := p.GetText().GetText() + p.GetToolCall().GetName()
					if p.GetNativeFields() != nil && name == "responses" {
						text = "" // names in namespaces are made of two
					}
					check(member.Within(path, ".parts", j), text)
					check(member.Within(path, ".parts", j)+"."+kindOf(p), "")
					check(member.Within(path, ".parts", j)+".cache_control", "")
				}
			}
			for i, tool := range req.GetTools() {
				check(member.Index("tools", i), tool.GetFunction().GetDescription())
			}
		}
		if traced*20 < all*19 {
			t.Errorf("%s: %d of %d positions are traced", name, traced, all)
		}
	}
}

// holds reports whether a text is within a value.
func holds(n *node, text string) bool {
	if n.isText(text) || n.kind == '"' && strings.Contains(member.Raw(n.raw).String(), text) {
		return true
	}
	for _, value := range n.values {
		if holds(value, text) {
			return true
		}
	}
	return false
}

// A body costs what it is long when its members are named, however deep it is.
func TestU43DepthIsCheap(t *testing.T) {
	const deep = 9000
	body := `{"model":"m","input":"hi","tools":[{"type":"function","name":"f","parameters":` +
		strings.Repeat(`{"type":"object","properties":`, deep) + `{}` + strings.Repeat(`}`, deep) + `}]}`
	s := responsesProtocol.Names([]byte(body), text)
	codectest.CostsItsLength(t, len(body), func() {
		if name := s.Member("tools[0].function.strict"); name != "tools[0]" {
			t.Errorf("named %q", name)
		}
	})
}

// FuzzMember: whatever the body and the path, there is a name, and no panic.
func FuzzMember(f *testing.F) {
	for _, path := range []string{"messages[0].parts[0].text", "messages[1].parts[0].tool_result.parts[0].image.detail", "tools[0].function.name",
		"sampling.top_k", "stop_sequences[0]", "candidates[0].parts[1].thought_signature", "request.model", "messages[", "[0]", ".", "a..b", "tools[9999999999999999999]"} {
		for name := range bodiesOfSettings {
			f.Add(bodiesOfSettings[name][0], path)
		}
	}
	f.Fuzz(func(t *testing.T, body, path string) {
		for name, p := range textual {
			s := p.Names([]byte(body), text)
			if given := s.Member(path); given == "" && path != "" {
				t.Errorf("%s: %q has no name in %q", name, path, body)
			}
			s.Fault(&fault.Error{Kind: genwayv1.ErrorKind_ERROR_KIND_INVALID_REQUEST, Param: path, Message: path + ": no"})
		}
	})
}

// The fields of a form are named as the caller has spelled them.
func TestNamesOfAForm(t *testing.T) {
	images := ByKind("images")
	for body, want := range map[string]string{
		`{"image":[{},{}],"mask":{},"svg":{"model":"m"}}`: "image[1] mask svg.model n", `{"images":[{"file_id":"a"},{"image_url":"b"}]}`: "images[1] mask svg.model n",
	} {
		n := images.Names([]byte(body), &genwayv1.GenerateImageRequest{})
		var got []string
		for _, path := range []string{"images[1].mime_type", "mask", "svg.model", "count"} {
			got = append(got, n.Member(path))
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: %q", body, got)
		}
	}
}
