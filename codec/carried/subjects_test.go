package carried

import (
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"google.golang.org/protobuf/proto"
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
	return &genwayv1.Part{Kind: &genwayv1.Part_ToolCall{ToolCall: &genwayv1.ToolCall{Id: "call_1", Name: "weather", ArgumentsJson: "{}"}}}
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
		{Kind: &genwayv1.Part_Image{Image: &genwayv1.Media{MediaType: "image/png", Source: &genwayv1.Media_Data{Data: []byte("png")}}}},
		{Kind: &genwayv1.Part_Audio{Audio: &genwayv1.Media{MediaType: "audio/wav", Source: &genwayv1.Media_Data{Data: []byte("wav")}}}},
		{Kind: &genwayv1.Part_File{File: &genwayv1.Media{MediaType: "application/pdf", Source: &genwayv1.Media_Data{Data: []byte("pdf")}}}},
		{Kind: &genwayv1.Part_Video{Video: &genwayv1.Media{MediaType: "video/mp4", Source: &genwayv1.Media_Data{Data: []byte("mp4")}}}},
	} {
		part("user", atUser, p)
	}
	for _, p := range []*genwayv1.Part{
		text("Rain."),
		{Kind: &genwayv1.Part_Thinking{Thinking: &genwayv1.Thinking{Text: "Hm."}}},
		{Kind: &genwayv1.Part_Refusal{Refusal: &genwayv1.Refusal{Text: "No."}}},
		{Kind: &genwayv1.Part_Image{Image: &genwayv1.Media{MediaType: "image/png", Source: &genwayv1.Media_Data{Data: []byte("png")}}}},
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
