package translation

import (
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// png is the smallest PNG there is.
var png = []byte("\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x06\x00\x00\x00\x1f\x15\xc4\x89\x00\x00\x00\rIDATx\x9cc\xf8\xcf\xc0\xf0\x1f\x00\x05\x00\x01\xff\x89\x99=\x1d\x00\x00\x00\x00IEND\xaeB`\x82")

const weather = `{"type":"object","properties":{"city":{"type":"string"},"days":{"type":"integer"}},"required":["city"],"additionalProperties":false}`

func text(s string) *genwayv1.Part {
	return &genwayv1.Part{Kind: &genwayv1.Part_Text{Text: &genwayv1.Text{Text: s}}}
}

func image() *genwayv1.Part {
	return &genwayv1.Part{Kind: &genwayv1.Part_Image{Image: &genwayv1.Media{MimeType: "image/png", Source: &genwayv1.Media_Data{Data: png}}}}
}

func thinking(s string) *genwayv1.Part {
	return &genwayv1.Part{Kind: &genwayv1.Part_Thinking{Thinking: &genwayv1.Thinking{Text: s}}}
}

func call(id, arguments string) *genwayv1.Part {
	return &genwayv1.Part{Kind: &genwayv1.Part_ToolCall{ToolCall: &genwayv1.ToolCall{Id: id, Name: "weather", Arguments: &genwayv1.ToolCall_ArgumentsJson{ArgumentsJson: arguments}}}}
}

func result(id string, parts ...*genwayv1.Part) *genwayv1.Part {
	return &genwayv1.Part{Kind: &genwayv1.Part_ToolResult{ToolResult: &genwayv1.ToolResult{ToolCallId: id, Name: "weather", Parts: parts}}}
}

func turn(role genwayv1.Role, parts ...*genwayv1.Part) *genwayv1.Message {
	return &genwayv1.Message{Role: role, Parts: parts}
}

const (
	system    = genwayv1.Role_ROLE_SYSTEM
	user      = genwayv1.Role_ROLE_USER
	assistant = genwayv1.Role_ROLE_ASSISTANT
	tool      = genwayv1.Role_ROLE_TOOL
)

func request(messages ...*genwayv1.Message) *genwayv1.GenerateTextRequest {
	return &genwayv1.GenerateTextRequest{Model: "m", MaxOutputTokens: proto.Int64(100), Messages: messages}
}

func withTools(r *genwayv1.GenerateTextRequest) *genwayv1.GenerateTextRequest {
	r.Tools = []*genwayv1.Tool{{Kind: &genwayv1.Tool_Function{Function: &genwayv1.FunctionTool{Name: "weather", Description: "The weather of a city.", ParametersJson: weather}}}}
	return r
}

// requests are the table's left half: what is asked.
func requests() map[string]*genwayv1.GenerateTextRequest {
	schema := request(turn(user, text("Give me JSON.")))
	schema.ResponseFormat = &genwayv1.ResponseFormat{Kind: genwayv1.ResponseFormat_KIND_JSON_SCHEMA, Name: "answer", SchemaJson: weather, Strict: new(true)}
	stop := request(turn(user, text("Count.")))
	stop.StopSequences = []string{"3", "four"}
	knobs := request(turn(user, text("Vary.")))
	knobs.Sampling = &genwayv1.Sampling{Temperature: new(0.5), TopP: new(0.9)}
	forced := withTools(request(turn(user, text("Rain?"))))
	forced.ToolChoice = &genwayv1.ToolChoice{Mode: genwayv1.ToolChoice_MODE_REQUIRED, Names: []string{"weather"}}
	anyTool := withTools(request(turn(user, text("Rain?"))))
	anyTool.ToolChoice = &genwayv1.ToolChoice{Mode: genwayv1.ToolChoice_MODE_REQUIRED}
	return map[string]*genwayv1.GenerateTextRequest{
		"text":   request(turn(user, text("Say hello."))),
		"system": request(turn(system, text("Be brief.")), turn(user, text("Say hello."))),
		"turns":  request(turn(user, text("One.")), turn(assistant, text("Two.")), turn(user, text("Three."))),
		"vision": request(turn(user, text("What is this?"), image())),
		"tools":  withTools(request(turn(user, text("Rain in Bern?")))),
		"tool loop": withTools(request(turn(user, text("Rain in Bern?")),
			turn(assistant, text("I will look."), call("call_1", `{"city":"Bern"}`)), turn(tool, result("call_1", text("It rains."))))),
		"parallel tools": withTools(request(turn(user, text("Rain in Bern and Rome?")),
			turn(assistant, call("call_1", `{"city":"Bern"}`), call("call_2", `{"city":"Rome","days":2}`)),
			turn(tool, result("call_1", text("Rain."))), turn(tool, result("call_2", text("Sun."))))),
		"structured output":  schema,
		"stop sequences":     stop,
		"sampling":           knobs,
		"named tool":         forced,
		"some tool":          anyTool,
		"thinking come back": request(turn(user, text("Think.")), turn(assistant, thinking("Hm."), text("Done.")), turn(user, text("Again."))),
	}
}

func answered(stop genwayv1.StopReason, parts ...*genwayv1.Part) *genwayv1.GenerateTextResponse {
	return &genwayv1.GenerateTextResponse{
		Id: "gen_1", Model: "m", CreateTime: &timestamppb.Timestamp{Seconds: 7},
		Candidates: []*genwayv1.Candidate{{Parts: parts, StopReason: stop}},
		Usage:      &genwayv1.Usage{InputTokens: 10, OutputTokens: 20, TotalTokens: 30, ThinkingTokens: proto.Int64(5), CacheReadInputTokens: proto.Int64(4)},
	}
}

// answers are the table's right half.
func answers() map[string]*genwayv1.GenerateTextResponse {
	return map[string]*genwayv1.GenerateTextResponse{
		"text":             answered(genwayv1.StopReason_STOP_REASON_END_TURN, text("Hello there.")),
		"truncated":        answered(genwayv1.StopReason_STOP_REASON_MAX_TOKENS, text("Hello th")),
		"thinking":         answered(genwayv1.StopReason_STOP_REASON_END_TURN, thinking("Let me see."), text("Four.")),
		"tool call":        answered(genwayv1.StopReason_STOP_REASON_TOOL_CALL, call("call_1", `{"city":"Bern"}`)),
		"text, then calls": answered(genwayv1.StopReason_STOP_REASON_TOOL_CALL, text("Looking."), call("call_1", `{"city":"Bern"}`), call("call_2", `{}`)),
	}
}
