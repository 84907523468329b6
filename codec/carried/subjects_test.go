package carried

import (
	"fmt"
	"strings"
	"time"

	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// subject is a part of a request or of an answer whose fields are set one by one. make gives
// the whole and the message in it, which has no field set but those that it needs to be valid.
type subject struct {
	// title is what the table calls it, and path where it is in the whole.
	title, path string
	make        func() (whole, target proto.Message)
}

// conversation has a turn of each kind, so that every setting has something to bear on.
func conversation() *genwayv1.GenerateTextRequest {
	return &genwayv1.GenerateTextRequest{
		Model: "m",
		Messages: []*genwayv1.Message{
			{Role: genwayv1.Role_ROLE_SYSTEM, Parts: []*genwayv1.Part{text("Be brief.")}},
			{Role: genwayv1.Role_ROLE_USER, Parts: []*genwayv1.Part{text("What is the weather?")}},
			{Role: genwayv1.Role_ROLE_ASSISTANT, Parts: []*genwayv1.Part{text("Let me look."), toolCall()}},
			{Role: genwayv1.Role_ROLE_TOOL, Parts: []*genwayv1.Part{toolResult()}},
			{Role: genwayv1.Role_ROLE_USER, Parts: []*genwayv1.Part{text("And tomorrow?")}},
		},
		Tools: []*genwayv1.Tool{{Kind: &genwayv1.Tool_Function{Function: &genwayv1.FunctionTool{Name: "weather"}}}},
	}
}

func text(s string) *genwayv1.Part {
	return &genwayv1.Part{Kind: &genwayv1.Part_Text{Text: &genwayv1.Text{Text: s}}}
}

func toolCall() *genwayv1.Part {
	return &genwayv1.Part{Kind: &genwayv1.Part_ToolCall{ToolCall: &genwayv1.ToolCall{Id: "call_1", Name: "weather", Arguments: &genwayv1.ToolCall_ArgumentsJson{ArgumentsJson: "{}"}}}}
}

func toolResult() *genwayv1.Part {
	return &genwayv1.Part{Kind: &genwayv1.Part_ToolResult{ToolResult: &genwayv1.ToolResult{ToolCallId: "call_1", Name: "weather", Parts: []*genwayv1.Part{text("Rain.")}}}}
}

// Positions in the conversation.
const (
	atSystem = iota
	atUser
	atAssistant
	atResult
	atLast
)

func requestSubjects() []subject {
	all := []subject{{"The request", "", func() (whole, target proto.Message) {
		r := conversation()
		return r, r
	}}}
	setting := func(title, path string, put func(*genwayv1.GenerateTextRequest) proto.Message) {
		all = append(all, subject{title, path, func() (whole, target proto.Message) {
			r := conversation()
			return r, put(r)
		}})
	}
	setting("Sampling", "sampling", func(r *genwayv1.GenerateTextRequest) proto.Message {
		r.Sampling = &genwayv1.Sampling{}
		return r.Sampling
	})
	setting("Thinking", "thinking", func(r *genwayv1.GenerateTextRequest) proto.Message {
		r.Thinking = &genwayv1.ThinkingConfig{}
		return r.Thinking
	})
	setting("Response format", "response_format", func(r *genwayv1.GenerateTextRequest) proto.Message {
		r.ResponseFormat = &genwayv1.ResponseFormat{Kind: genwayv1.ResponseFormat_KIND_JSON_SCHEMA, SchemaJson: `{"type":"object","properties":{},"additionalProperties":false}`}
		return r.ResponseFormat
	})
	setting("Audio output", "audio_output", func(r *genwayv1.GenerateTextRequest) proto.Message {
		r.Modalities = []string{"text", "audio"}
		r.AudioOutput = &genwayv1.AudioOutput{Voice: "alloy"}
		return r.AudioOutput
	})
	setting("Tool choice", "tool_choice", func(r *genwayv1.GenerateTextRequest) proto.Message {
		for _, name := range []string{"time", "place"} {
			r.Tools = append(r.Tools, &genwayv1.Tool{Kind: &genwayv1.Tool_Function{Function: &genwayv1.FunctionTool{Name: name}}})
		}
		r.ToolChoice = &genwayv1.ToolChoice{Mode: genwayv1.ToolChoice_MODE_REQUIRED, Names: []string{"weather"}}
		return r.ToolChoice
	})
	for _, kind := range []*genwayv1.Tool{
		{Kind: &genwayv1.Tool_Function{Function: &genwayv1.FunctionTool{Name: "time"}}},
		{Kind: &genwayv1.Tool_Custom{Custom: &genwayv1.CustomTool{Name: "shell"}}},
	} {
		name := oneofName(kind)
		setting("Tool: "+name, "tools[1]", func(r *genwayv1.GenerateTextRequest) proto.Message {
			tool := proto.CloneOf(kind)
			r.Tools = append(r.Tools, tool)
			return tool
		})
	}
	setting("Message of the user", "messages[1]", func(r *genwayv1.GenerateTextRequest) proto.Message { return r.Messages[atUser] })
	setting("Message of the assistant", "messages[2]", func(r *genwayv1.GenerateTextRequest) proto.Message { return r.Messages[atAssistant] })
	part := func(speaker string, at int, p *genwayv1.Part) {
		path := map[int]string{atSystem: "messages[0].parts[1]", atUser: "messages[1].parts[1]", atAssistant: "messages[2].parts[1]", atLast: "messages[4].parts[1]"}[at]
		setting("Part of the "+speaker+": "+oneofName(p), path, func(r *genwayv1.GenerateTextRequest) proto.Message {
			own := proto.CloneOf(p)
			parts := r.Messages[at].Parts
			r.Messages[at].Parts = append([]*genwayv1.Part{parts[0], own}, parts[1:]...)
			return own
		})
	}
	part("system", atSystem, text("Be kind."))
	for _, p := range []*genwayv1.Part{
		text("Look."),
		{Kind: &genwayv1.Part_Image{Image: &genwayv1.Media{MimeType: "image/png", Source: &genwayv1.Media_Data{Data: []byte("png")}}}},
		{Kind: &genwayv1.Part_Audio{Audio: &genwayv1.Media{MimeType: "audio/wav", Source: &genwayv1.Media_Data{Data: []byte("wav")}}}},
		{Kind: &genwayv1.Part_File{File: &genwayv1.Media{MimeType: "application/pdf", Source: &genwayv1.Media_Data{Data: []byte("pdf")}}}},
		{Kind: &genwayv1.Part_Video{Video: &genwayv1.Media{MimeType: "video/mp4", Source: &genwayv1.Media_Data{Data: []byte("mp4")}}}},
	} {
		part("user", atUser, p)
	}
	for _, p := range []*genwayv1.Part{
		text("Rain."),
		{Kind: &genwayv1.Part_Thinking{Thinking: &genwayv1.Thinking{Text: "Hm."}}},
		{Kind: &genwayv1.Part_Refusal{Refusal: &genwayv1.Refusal{Text: "No."}}},
		{Kind: &genwayv1.Part_Image{Image: &genwayv1.Media{MimeType: "image/png", Source: &genwayv1.Media_Data{Data: []byte("png")}}}},
	} {
		part("assistant", atAssistant, p)
	}
	setting("Part of the assistant: tool_call", "messages[2].parts[1]", func(r *genwayv1.GenerateTextRequest) proto.Message { return r.Messages[atAssistant].Parts[1] })
	setting("Part of the tool: tool_result", "messages[3].parts[0]", func(r *genwayv1.GenerateTextRequest) proto.Message { return r.Messages[atResult].Parts[0] })
	return all
}

// oneofName returns the name of the arm that is set.
func oneofName(m proto.Message) string {
	r := m.ProtoReflect()
	return string(r.WhichOneof(r.Descriptor().Oneofs().ByName("kind")).Name())
}

// notWalked are fields that say nothing to an upstream, or that have a subject of their own.
var notWalked = map[protoreflect.FullName]string{
	"genway.v1.GenerateTextRequest.model":            "the path has it in generateContent",
	"genway.v1.GenerateTextRequest.messages":         "has subjects of its own",
	"genway.v1.GenerateTextRequest.tools":            "has subjects of its own",
	"genway.v1.GenerateTextRequest.wire":             "is the body itself",
	"genway.v1.GenerateTextRequest.extra_json":       "is merged into the body as it is",
	"genway.v1.GenerateTextRequest.compact":          "makes another operation of the request",
	"genway.v1.Message.parts":                        "has subjects of its own",
	"genway.v1.Message.role":                         "decides what the message is",
	"genway.v1.Message.native_role":                  "goes with a role that no field is for",
	"genway.v1.ToolResult.parts":                     "has subjects of its own",
	"genway.v1.ToolResult.tool_call_id":              "links to the call",
	"genway.v1.ToolCall.id":                          "links to the result",
	"genway.v1.NativeField.binding":                  "says how the field is treated",
	"genway.v1.TokenLogprob.top":                     "is a list of what it is in",
	"genway.v1.ToolChoice.native_mode":               "goes with a mode that no field is for",
	"genway.v1.GenerateTextResponse.candidates":      "has a subject of its own",
	"genway.v1.GenerateTextResponse.usage":           "has a subject of its own",
	"genway.v1.GenerateTextResponse.prompt_feedback": "has a subject of its own",
	"genway.v1.GenerateTextResponse.wire":            "is the body itself",
	"genway.v1.GenerateTextResponse.losses":          "go into a header",
	"genway.v1.Candidate.index":                      "is the place of the candidate",
	"genway.v1.Usage.models":                         "is derived from native fields",
	"genway.v1.Usage.tools":                          "is derived from native fields",
	"genway.v1.Usage.model":                          "is derived from native fields",
	"genway.v1.Usage.speed":                          "is derived from native fields",
	"genway.v1.Usage.inference_geo":                  "is derived from native fields",
	"genway.v1.Usage.service_tier":                   "is the answer's service_tier once more",
	"genway.v1.Candidate.parts":                      "has subjects of its own",
}

// created is the time of the answers.
var created = time.Unix(1_700_000_000, 0)

// samples are values of fields whose zero or made-up value means nothing. A field with several
// is set to each of them.
var samples = map[protoreflect.FullName][]any{
	"genway.v1.GenerateTextRequest.service_tier":      {"flex"},
	"genway.v1.GenerateTextRequest.verbosity":         {"low"},
	"genway.v1.GenerateTextRequest.modalities":        {"audio"},
	"genway.v1.GenerateTextRequest.stop_sequences":    {"END"},
	"genway.v1.GenerateTextRequest.max_output_tokens": {int64(777)},
	"genway.v1.Sampling.temperature":                  {0.0, 0.5},
	"genway.v1.Sampling.top_p":                        {0.0, 0.5},
	"genway.v1.Sampling.top_k":                        {int32(1), int32(5)},
	"genway.v1.Sampling.seed":                         {int64(0), int64(7)},
	"genway.v1.Sampling.frequency_penalty":            {0.0, 0.5},
	"genway.v1.Sampling.presence_penalty":             {0.0, 0.5},
	"genway.v1.Sampling.candidate_count":              {int32(2)},
	"genway.v1.Sampling.logprobs":                     {true},
	"genway.v1.Sampling.top_logprobs":                 {int32(0), int32(3)},
	"genway.v1.ThinkingConfig.effort":                 {"low", "none"},
	"genway.v1.ThinkingConfig.budget_tokens":          {int32(2048), int32(0), int32(-1)},
	"genway.v1.ThinkingConfig.include_thoughts":       {true, false},
	"genway.v1.ThinkingConfig.summary":                {"concise"},
	"genway.v1.ResponseFormat.kind":                   {genwayv1.ResponseFormat_KIND_TEXT, genwayv1.ResponseFormat_KIND_JSON_OBJECT, genwayv1.ResponseFormat_KIND_ENUM},
	"genway.v1.ResponseFormat.strict":                 {true, false},
	"genway.v1.ResponseFormat.schema_json":            {`{"type":"object","properties":{"a":{"type":"string"}},"required":["a"],"additionalProperties":false}`},
	"genway.v1.FunctionTool.parameters_json":          {`{"type":"object","properties":{"a":{"type":"string"}},"required":["a"],"additionalProperties":false}`},
	"genway.v1.FunctionTool.strict":                   {true, false},
	"genway.v1.CustomTool.format_json":                {`{"type":"grammar","syntax":"regex","definition":"a+"}`},
	"genway.v1.ToolChoice.mode":                       {genwayv1.ToolChoice_MODE_AUTO, genwayv1.ToolChoice_MODE_NONE},
	"genway.v1.ToolChoice.names":                      {"weather"},
	"genway.v1.ToolChoice.parallel":                   {true, false},
	"genway.v1.AudioOutput.format":                    {"mp3"},
	"genway.v1.Media.detail":                          {"low"},
	"genway.v1.Media.url":                             {"https://example.com/a"},
	"genway.v1.Media.filename":                        {"a.pdf"},
	"genway.v1.ToolCall.arguments_json":               {`{"a":"b"}`},
	"genway.v1.ToolResult.result_json":                {`{"a":1}`},
	"genway.v1.Citation.url":                          {"https://example.com/a"},
	"genway.v1.CacheControl.ttl":                      {durationpb.New(time.Hour).ProtoReflect()},
	"genway.v1.Usage.output_tokens":                   {int64(60)}, // of less, the total counts the rest
}

// values returns what a field is set to, one value a test. other is a protocol that the request
// does not go to.
func values(field protoreflect.FieldDescriptor, other genwayv1.Protocol) []protoreflect.Value {
	if field.IsMap() { // set makes the entry
		return make([]protoreflect.Value, 1)
	}
	var all []protoreflect.Value
	for _, v := range samples[field.FullName()] {
		if e, ok := v.(protoreflect.Enum); ok {
			all = append(all, protoreflect.ValueOfEnum(e.Number()))
			continue
		}
		all = append(all, protoreflect.ValueOf(v))
	}
	if all != nil {
		return all
	}
	switch field.Kind() { //nolint:exhaustive // those that the contract has
	case protoreflect.StringKind:
		return []protoreflect.Value{protoreflect.ValueOfString("sample")}
	case protoreflect.BytesKind:
		return []protoreflect.Value{protoreflect.ValueOfBytes([]byte("sample"))}
	case protoreflect.BoolKind:
		return []protoreflect.Value{protoreflect.ValueOfBool(true)}
	case protoreflect.Int32Kind:
		return []protoreflect.Value{protoreflect.ValueOfInt32(3)}
	case protoreflect.Int64Kind:
		return []protoreflect.Value{protoreflect.ValueOfInt64(3)}
	case protoreflect.DoubleKind:
		return []protoreflect.Value{protoreflect.ValueOfFloat64(-0.5)}
	case protoreflect.EnumKind:
		for i := 1; i < field.Enum().Values().Len(); i++ {
			all = append(all, protoreflect.ValueOfEnum(field.Enum().Values().Get(i).Number()))
		}
		return all
	case protoreflect.MessageKind:
		switch field.Message().FullName() {
		case "google.protobuf.Timestamp":
			return []protoreflect.Value{message(timestamppb.New(created.Add(time.Hour)))}
		case "genway.v1.NativeField":
			return []protoreflect.Value{message(&genwayv1.NativeField{Protocol: other, Name: "made_up", Json: []byte(`"sample"`)})}
		case "genway.v1.CacheWrite":
			return []protoreflect.Value{message(&genwayv1.CacheWrite{Ttl: "1h", Tokens: 3})}
		case "genway.v1.Seal":
			return []protoreflect.Value{message(&genwayv1.Seal{Protocol: other, Value: []byte("c2VhbA")})}
		}
	}
	return nil
}

func message(m proto.Message) protoreflect.Value {
	return protoreflect.ValueOfMessage(m.ProtoReflect())
}

// valueText is a value as the table shows it.
func valueText(field protoreflect.FieldDescriptor, v protoreflect.Value) string {
	switch field.Kind() { //nolint:exhaustive // all others keep their value
	case protoreflect.EnumKind:
		values := field.Enum().Values()
		prefix := strings.TrimSuffix(string(values.Get(0).Name()), "UNSPECIFIED")
		return strings.ToLower(strings.TrimPrefix(string(values.ByNumber(v.Enum()).Name()), prefix))
	case protoreflect.MessageKind, protoreflect.BytesKind:
		return ""
	}
	if len(samples[field.FullName()]) < 2 {
		return ""
	}
	return fmt.Sprint(v.Interface())
}
