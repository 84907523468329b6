package codec_test

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/chat"
	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/codec/generatecontent"
	"github.com/genway/genway/codec/images"
	"github.com/genway/genway/codec/interactions"
	"github.com/genway/genway/codec/member"
	"github.com/genway/genway/codec/messages"
	"github.com/genway/genway/codec/responses"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// encoders write a direct caller's request for an upstream of each protocol.
var encoders = map[genwayv1.Protocol]func(*genwayv1.GenerateTextRequest) ([]byte, error){
	genwayv1.Protocol_PROTOCOL_CHAT_COMPLETIONS: encodes(chat.Codec{}),
	genwayv1.Protocol_PROTOCOL_RESPONSES:        encodes(responses.Codec{}),
	genwayv1.Protocol_PROTOCOL_MESSAGES:         encodes(messages.Codec{}),
	genwayv1.Protocol_PROTOCOL_GENERATE_CONTENT: encodes(generatecontent.Codec{}),
	genwayv1.Protocol_PROTOCOL_INTERACTIONS:     encodes(interactions.Codec{}),
	genwayv1.Protocol_PROTOCOL_IMAGES: func(r *genwayv1.GenerateTextRequest) ([]byte, error) {
		return images.Codec{}.EncodeRequest(&genwayv1.GenerateImageRequest{Model: r.GetModel(), Prompt: "p", ExtraJson: r.GetExtraJson(), NativeFields: r.GetNativeFields()}, nil)
	},
}

func encodes(c codec.Codec) func(*genwayv1.GenerateTextRequest) ([]byte, error) {
	return func(r *genwayv1.GenerateTextRequest) ([]byte, error) {
		return c.EncodeRequest(&codec.Request{GenerateTextRequest: r}, nil)
	}
}

func direct() *genwayv1.GenerateTextRequest {
	return &genwayv1.GenerateTextRequest{Model: "m", Messages: []*genwayv1.Message{{
		Role: genwayv1.Role_ROLE_USER, Parts: []*genwayv1.Part{{Kind: &genwayv1.Part_Text{Text: &genwayv1.Text{Text: "hi"}}}},
	}}}
}

// TestReservedMembers demands that a direct caller cannot say by extra_json or a native
// field what the contract has a field for: admission, routing, overrides and metering
// look at the field.
func TestReservedMembers(t *testing.T) {
	const (
		chatP = genwayv1.Protocol_PROTOCOL_CHAT_COMPLETIONS
		resp  = genwayv1.Protocol_PROTOCOL_RESPONSES
		mess  = genwayv1.Protocol_PROTOCOL_MESSAGES
		gen   = genwayv1.Protocol_PROTOCOL_GENERATE_CONTENT
		img   = genwayv1.Protocol_PROTOCOL_IMAGES
	)
	for _, c := range []struct {
		protocol genwayv1.Protocol
		// path is the member, value what it is given.
		path, value string
	}{
		{chatP, "model", `"other"`}, {chatP, "max_tokens", `1e9`}, {chatP, "max_completion_tokens", `1000000`}, {chatP, "n", `128`},
		{chatP, "stream", `true`}, {chatP, "stream_options.include_usage", `false`}, {chatP, "tools", `[]`}, {chatP, "tool_choice", `"none"`},
		{chatP, "functions", `[]`}, {chatP, "messages", `[]`}, {chatP, "reasoning_effort", `"high"`}, {chatP, "MODEL", `"other"`}, {chatP, "maxTokens", `5`},
		{chatP, "response_format.json_schema.schema", `{}`}, {chatP, "audio.format", `"wav"`}, {chatP, "max_tokens", `null`}, {chatP, "stream_options", `null`},
		{resp, "model", `"other"`}, {resp, "max_output_tokens", `1000000`}, {resp, "stream", `true`}, {resp, "input", `"x"`}, {resp, "instructions", `"x"`},
		{resp, "reasoning.effort", `"high"`}, {resp, "text.format", `{}`}, {resp, "tools", `[]`}, {resp, "store", `true`}, {resp, "Model", `"other"`},
		{mess, "model", `"other"`}, {mess, "max_tokens", `1000000`}, {mess, "stream", `true`}, {mess, "system", `"x"`}, {mess, "thinking.budget_tokens", `99999`},
		{mess, "output_config.effort", `"max"`}, {mess, "output_format", `{}`}, {mess, "metadata.user_id", `"u"`}, {mess, "top_k", `4`},
		{gen, "generationConfig.maxOutputTokens", `1000000`}, {gen, "generation_config.max_output_tokens", `1000000`}, {gen, "generationConfig.max_output_tokens", `1`},
		{gen, "generationConfig.candidateCount", `8`}, {gen, "generationConfig.thinkingConfig.thinkingBudget", `30000`}, {gen, "model", `"models/other"`},
		{gen, "contents", `[]`}, {gen, "system_instruction.parts", `[]`}, {gen, "toolConfig.functionCallingConfig.mode", `"ANY"`}, {gen, "generationConfig", `7`},
		{gen, "generationConfig._responseJsonSchema", `{}`},
		{img, "model", `"other"`}, {img, "n", `10`}, {img, "size", `"4096x4096"`}, {img, "stream", `true`}, {img, "quality", `"high"`},
	} {
		r := direct()
		value := c.value
		names := strings.Split(c.path, ".")
		for _, name := range slices.Backward(names) {
			value = `{"` + name + `":` + value + `}`
		}
		r.ExtraJson = value
		refusesMember(t, c.protocol, r, "extra_json."+c.path)
		if c.value == "null" {
			continue
		}
		var extra map[string]json.RawMessage
		if err := json.Unmarshal([]byte(value), &extra); err != nil {
			t.Fatal(err)
		}
		for name, json := range extra {
			r = direct()
			r.NativeFields = []*genwayv1.NativeField{{Protocol: c.protocol, Name: name, Json: json}}
			refusesMember(t, c.protocol, r, c.path)
		}
		r.NativeFields = []*genwayv1.NativeField{{Protocol: c.protocol, Name: c.path, Json: []byte(c.value)}}
		refusesMember(t, c.protocol, r, c.path)
	}
}

func refusesMember(t *testing.T, p genwayv1.Protocol, r *genwayv1.GenerateTextRequest, param string) {
	t.Helper()
	body, err := encoders[p](r)
	f, ok := errors.AsType[*fault.Error](err)
	if !ok || f.Kind != fault.InvalidRequest || f.Param != param || !strings.Contains(f.Message, param) {
		t.Errorf("%v %s%v: %s, %v", p, r.GetExtraJson(), r.GetNativeFields(), body, err)
	}
}

// TestNestedNatives demands the same of native fields of the messages in a request.
func TestNestedNatives(t *testing.T) {
	field := func(p genwayv1.Protocol, name string) []*genwayv1.NativeField {
		return []*genwayv1.NativeField{{Protocol: p, Name: name, Json: []byte(`99999`)}}
	}
	for p, name := range map[genwayv1.Protocol]string{
		genwayv1.Protocol_PROTOCOL_MESSAGES:         "budget_tokens",
		genwayv1.Protocol_PROTOCOL_RESPONSES:        "effort",
		genwayv1.Protocol_PROTOCOL_GENERATE_CONTENT: "thinkingBudget",
	} {
		r := direct()
		r.Thinking = &genwayv1.ThinkingConfig{Mode: genwayv1.ThinkingConfig_MODE_ADAPTIVE, Effort: "", NativeFields: field(p, name)}
		if p == genwayv1.Protocol_PROTOCOL_GENERATE_CONTENT {
			r.Thinking = &genwayv1.ThinkingConfig{Effort: "low", NativeFields: field(p, name)}
		}
		refusesMember(t, p, r, "thinking."+name)
	}
}

// TestMisspeltMembers demands that a body cannot name a model or a limit in other letters
// than those the gateway reads: upstreams written in Go take names in any case.
func TestMisspeltMembers(t *testing.T) {
	for c, bodies := range map[codec.Codec][]string{
		chat.Codec{}:            {`{"model":"m","messages":[{"role":"user","content":"hi"}],"Model":"other"}`, `{"model":"m","messages":[{"role":"user","content":"hi"}],"max_Tokens":9}`, `{"model":"m","messages":[{"role":"user","content":"hi"}],"m\u004fdel":"other"}`},
		responses.Codec{}:       {`{"model":"m","input":"hi","MODEL":"other"}`, `{"model":"m","input":"hi","Max_output_tokens":9}`},
		messages.Codec{}:        {`{"model":"m","max_tokens":5,"messages":[{"role":"user","content":"hi"}],"Max_tokens":9}`},
		generatecontent.Codec{}: {`{"contents":[{"parts":[{"text":"hi"}]}],"GenerationConfig":{}}`},
		interactions.Codec{}:    {`{"model":"m","input":"hi","Model":"other"}`, `{"model":"m","input":"hi","generation_config":{"Max_output_tokens":9}}`},
	} {
		for _, body := range bodies {
			_, err := c.DecodeRequest([]byte(body))
			f, ok := errors.AsType[*fault.Error](err)
			if !ok || f.Kind != fault.InvalidRequest || !strings.Contains(f.Message, "unknown member; write ") {
				t.Errorf("%s: %v", body, err)
			}
			if heads, ok := c.(codec.HeadDecoder); ok {
				if _, ok := heads.DecodeRequestHead([]byte(body)); ok {
					t.Errorf("the head of %s was taken", body)
				}
			}
		}
	}
	if _, err := (images.Codec{}).DecodeRequest([]byte(`{"model":"m","prompt":"p","N":9}`)); err == nil {
		t.Error("an image's N was taken")
	}
}

// TestVendorOptions demands that options the contract has no field for still go, next to
// what it has fields for.
func TestVendorOptions(t *testing.T) {
	most := int64(7)
	for _, c := range []struct {
		protocol    genwayv1.Protocol
		extra, want string
	}{
		{genwayv1.Protocol_PROTOCOL_CHAT_COMPLETIONS, `{"top_k":4,"repetition_penalty":1.1}`, `{"model":"m","messages":[{"role":"user","content":"hi"}],"max_tokens":7,"top_k":4,"repetition_penalty":1.1}`},
		{genwayv1.Protocol_PROTOCOL_CHAT_COMPLETIONS, `{"stream_options":{"include_obfuscation":false}}`, `{"model":"m","messages":[{"role":"user","content":"hi"}],"max_tokens":7,"stream_options":{"include_obfuscation":false}}`},
		{genwayv1.Protocol_PROTOCOL_GENERATE_CONTENT, `{"generation_config":{"mediaResolution":"LOW","thinkingConfig":{"new":1}},"labels":{"model":"x"}}`,
			`{"contents":[{"parts":[{"text":"hi"}],"role":"user"}],"generationConfig":{"maxOutputTokens":7,"mediaResolution":"LOW","thinkingConfig":{"new":1}},"labels":{"model":"x"}}`},
		{genwayv1.Protocol_PROTOCOL_MESSAGES, `{"container":"c","metadata":{"team":"t"}}`, `{"model":"m","max_tokens":7,"messages":[{"role":"user","content":"hi"}],"container":"c","metadata":{"team":"t"}}`},
		{genwayv1.Protocol_PROTOCOL_RESPONSES, `{"truncation":"auto","reasoning":{"new":1}}`, `{"model":"m","input":"hi","max_output_tokens":7,"truncation":"auto","reasoning":{"new":1}}`},
	} {
		r := direct()
		r.MaxOutputTokens, r.ExtraJson = &most, c.extra
		body, err := encoders[c.protocol](r)
		if err != nil || !sameJSON(t, body, c.want) {
			t.Errorf("%v %s: %s, %v", c.protocol, c.extra, body, err)
		}
	}
}

func sameJSON(t *testing.T, a []byte, b string) bool {
	t.Helper()
	canon := func(in []byte) string {
		var v any
		if err := json.Unmarshal(in, &v); err != nil {
			t.Fatalf("%v in %s", err, in)
		}
		out, _ := json.Marshal(v)
		return string(out)
	}
	return canon(a) == canon([]byte(b))
}

// TestNoTextBreaksOut puts text that ends its value and goes on with members of other
// objects into every field of a request, one at a time. Either the request is refused, or
// no member of the body's top level differs but the one the field is written to.
func TestNoTextBreaksOut(t *testing.T) {
	var breaks []string
	for depth := range 7 {
		for bits := range 1 << depth {
			closers, openers := "", "0"
			for i := range depth {
				if bits>>i&1 == 0 {
					closers, openers = closers+"}", `{"k":`+openers+"}"
				} else {
					closers, openers = closers+"]", "["+openers+"]"
				}
			}
			openers = openers[:strings.IndexByte(openers, '0')+1]
			for _, value := range []string{`0`, `""`, `{}`, `[]`, `["a"]`} {
				breaks = append(breaks, value+closers+`,"n":9,"max_tokens":9,"max_output_tokens":9,"max_completion_tokens":9,"stream":true,"candidateCount":9,"zz":`+openers)
			}
		}
	}
	for p := range encoders {
		if p == genwayv1.Protocol_PROTOCOL_IMAGES {
			continue
		}
		whole := everything(p)
		for _, place := range leaves(whole.ProtoReflect(), "") {
			for _, text := range breaks {
				r := proto.CloneOf(whole)
				if !plant(r.ProtoReflect(), place, text) {
					t.Fatalf("%v has no %s", p, place)
				}
				body, err := encoders[p](r)
				if err != nil {
					continue
				}
				if !member.Valid(body) || brokeOut(t, body) {
					t.Errorf("%v %s: %.80s gave %s", p, place, text, body)
					break
				}
			}
		}
	}
}

// brokeOut reports whether a member that the request does not have is in a place where it has an effect.
func brokeOut(t *testing.T, body []byte) bool {
	t.Helper()
	var top map[string]json.RawMessage
	if err := json.Unmarshal(body, &top); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"n", "max_output_tokens", "max_completion_tokens", "stream", "zz"} {
		if top[name] != nil {
			return true
		}
	}
	return strings.TrimSpace(string(top["max_tokens"])) == "9" || strings.Contains(string(top["generationConfig"]), `"candidateCount":9`)
}

// everything is a request with each field of JSON or of bytes that the protocol takes.
func everything(p genwayv1.Protocol) *genwayv1.GenerateTextRequest {
	fields := func() []*genwayv1.NativeField {
		return []*genwayv1.NativeField{{Protocol: p, Name: "unheard_of", Json: []byte(`1`)}}
	}
	r := direct()
	r.NativeFields, r.ExtraJson = fields(), `{"extra_of_ours":1}`
	r.Messages[0].NativeFields = fields()
	r.Messages[0].Parts[0].NativeFields = fields()
	r.Messages[0].Parts = append(r.Messages[0].Parts, &genwayv1.Part{Kind: &genwayv1.Part_Opaque{Opaque: &genwayv1.OpaquePart{Protocol: p, Type: "new", Json: []byte(`{"type":"new"}`)}}})
	r.Messages = append(r.Messages,
		&genwayv1.Message{Role: genwayv1.Role_ROLE_ASSISTANT, Parts: []*genwayv1.Part{
			{Kind: &genwayv1.Part_ToolCall{ToolCall: &genwayv1.ToolCall{Id: "a", Name: "f", Arguments: &genwayv1.ToolCall_ArgumentsJson{ArgumentsJson: `{"a":1}`}}}, NativeFields: fields()}}},
		&genwayv1.Message{Role: genwayv1.Role_ROLE_TOOL, Parts: []*genwayv1.Part{
			{Kind: &genwayv1.Part_ToolResult{ToolResult: &genwayv1.ToolResult{ToolCallId: "a", Name: "f", ResultJson: new(`{"a":1}`)}}}}})
	r.Tools = []*genwayv1.Tool{
		{Kind: &genwayv1.Tool_Function{Function: &genwayv1.FunctionTool{Name: "f", ParametersJson: `{"type":"object"}`}}, NativeFields: fields()},
		{Kind: &genwayv1.Tool_Hosted{Hosted: &genwayv1.HostedTool{Protocol: p, Type: "web", Json: []byte(`{"type":"web"}`)}}},
		{Kind: &genwayv1.Tool_Custom{Custom: &genwayv1.CustomTool{Name: "c", FormatJson: `{"type":"text"}`}}},
	}
	r.ResponseFormat = &genwayv1.ResponseFormat{Kind: genwayv1.ResponseFormat_KIND_JSON_SCHEMA, Name: "s", SchemaJson: `{"type":"object"}`}
	r.Thinking = &genwayv1.ThinkingConfig{Effort: "low", NativeFields: fields()}
	r.Metadata = map[string]string{"a": "b"}
	switch p { //nolint:exhaustive // those with a place of their own
	case genwayv1.Protocol_PROTOCOL_CHAT_COMPLETIONS:
		r.AudioOutput = &genwayv1.AudioOutput{Format: "wav", NativeFields: append(fields(), &genwayv1.NativeField{Protocol: p, Name: "voice", Json: []byte(`{"id":"v"}`)})}
		r.ToolChoice = &genwayv1.ToolChoice{Native: &genwayv1.NativeField{Protocol: p, Name: "tool_choice", Json: []byte(`{"type":"web"}`)}}
	case genwayv1.Protocol_PROTOCOL_RESPONSES:
		r.NativeFields = append(r.NativeFields, &genwayv1.NativeField{Protocol: p, Name: "include", Json: []byte(`["a"]`)})
		r.ToolChoice = &genwayv1.ToolChoice{Native: &genwayv1.NativeField{Protocol: p, Name: "tool_choice", Json: []byte(`{"type":"web"}`)}}
	case genwayv1.Protocol_PROTOCOL_MESSAGES:
		r.NativeFields = append(r.NativeFields, &genwayv1.NativeField{Protocol: p, Name: "metadata", Json: []byte(`{"a":1}`)})
		r.ToolChoice = &genwayv1.ToolChoice{Native: &genwayv1.NativeField{Protocol: p, Name: "tool_choice", Json: []byte(`{"type":"web"}`)}}
	case genwayv1.Protocol_PROTOCOL_GENERATE_CONTENT:
		r.Tools[1].GetHosted().Json = []byte(`{"googleSearch":{}}`)
		r.Messages[0].Parts[1].GetOpaque().Json = []byte(`{"executableCode":{}}`)
		r.NativeFields = append(r.NativeFields, &genwayv1.NativeField{Protocol: p, Name: "generationConfig.new", Json: []byte(`{"a":1}`)})
	}
	return r
}

// leaves are the paths of all fields of text that are set, by names and indices.
func leaves(m protoreflect.Message, at string) []string {
	var out []string
	m.Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		path := strings.TrimPrefix(at+"."+string(f.Name()), ".")
		switch {
		case f.IsMap(), f.Name() == "name" && f.ContainingMessage().Name() == "NativeField":
		case f.IsList() && f.Message() != nil:
			for i := range v.List().Len() {
				out = append(out, leaves(v.List().Get(i).Message(), path+"."+string(rune('0'+i)))...)
			}
		case f.IsList():
		case f.Message() != nil:
			out = append(out, leaves(v.Message(), path)...)
		case f.Kind() == protoreflect.StringKind || f.Kind() == protoreflect.BytesKind:
			out = append(out, path)
		}
		return true
	})
	return out
}

// plant sets the field at a path to a text.
func plant(m protoreflect.Message, path, text string) bool {
	name, rest, deeper := strings.Cut(path, ".")
	f := m.Descriptor().Fields().ByName(protoreflect.Name(name))
	switch {
	case f == nil:
		return false
	case f.IsList():
		index, inner, _ := strings.Cut(rest, ".")
		return plant(m.Mutable(f).List().Get(int(index[0]-'0')).Message(), inner, text)
	case deeper:
		return plant(m.Mutable(f).Message(), rest, text)
	case f.Kind() == protoreflect.BytesKind:
		m.Set(f, protoreflect.ValueOfBytes([]byte(text)))
	default:
		m.Set(f, protoreflect.ValueOfString(text))
	}
	return true
}

// All encoders merge extra_json in the same way: they refuse what is no JSON object in the same words, and put its
// members on the top level.
func TestExtraJSONIsMergedAlike(t *testing.T) {
	for _, extra := range []string{`[1]`, `7`, `null`, `"x"`, `{`, `{"a":1`, `{"a":1}{}`, `{"a":1,"a":2}`, ` `} {
		texts := map[string][]genwayv1.Protocol{}
		for p, encode := range encoders {
			r := direct()
			r.ExtraJson = extra
			body, err := encode(r)
			f, ok := errors.AsType[*fault.Error](err)
			if !ok || f.Kind != fault.InvalidRequest || f.Param != "extra_json" {
				t.Errorf("%v, extra_json %q: got %s, %v, want an invalid request that names extra_json", p, extra, body, err)
				continue
			}
			texts[f.Message] = append(texts[f.Message], p)
		}
		if len(texts) > 1 {
			t.Errorf("extra_json %q: one error has several texts: %v", extra, texts)
		}
	}
	for p, encode := range encoders {
		r := direct()
		r.ExtraJson = `{"x_own":{"b":[1.50,null]}}`
		if body, err := encode(r); err != nil || !strings.Contains(string(body), `"x_own":{"b":[1.50,null]}`) {
			t.Errorf("%v: got %s, %v, want the member of extra_json in it", p, body, err)
		}
	}
}
