package generatecontent_test

import (
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"pgregory.net/rapid"
)

// drawRequest draws a request.
func drawRequest(t *rapid.T) *genwayv1.GenerateTextRequest {
	req := &genwayv1.GenerateTextRequest{
		Store:         maybe(t, "store", rapid.Bool()),
		ServiceTier:   rapid.SampledFrom([]string{"", "flex", "standard", "batch"}).Draw(t, "tier"),
		StopSequences: rapid.SliceOfN(rapid.String(), 0, 2).Draw(t, "stop"),
		Modalities:    rapid.SliceOfN(rapid.SampledFrom([]string{"text", "image", "audio"}), 0, 2).Draw(t, "modalities"),
	}
	req.MaxOutputTokens = maybe(t, "max", rapid.Int64Range(1, 1<<40))
	req.NativeFields = ownNatives(t, "safetySettings", "xNew", "toolConfig.retrievalConfig", "toolConfig.functionCallingConfig.xNew", "generationConfig.xNew")
	if chance(t, "system") {
		req.Messages = append(req.Messages, &genwayv1.Message{Role: genwayv1.Role_ROLE_SYSTEM, Parts: []*genwayv1.Part{textPart(words(t, "system text"))}})
	}
	for range rapid.IntRange(1, 3).Draw(t, "turns") {
		m := drawTurn(t)
		if n := len(req.Messages); n > 0 && bareTurn(m) && bareTurn(req.Messages[n-1]) {
			m.NativeFields = []*genwayv1.NativeField{{Protocol: own, Name: "xNew", Json: []byte("1")}} // else they were one turn
		}
		req.Messages = append(req.Messages, m)
	}
	for range rapid.IntRange(0, 3).Draw(t, "tools") {
		req.Tools = append(req.Tools, drawTool(t))
	}
	req.ToolChoice = rapid.SampledFrom([]*genwayv1.ToolChoice{
		nil,
		{Mode: genwayv1.ToolChoice_MODE_NONE},
		{Mode: genwayv1.ToolChoice_MODE_AUTO},
		{Mode: genwayv1.ToolChoice_MODE_AUTO, NativeMode: "VALIDATED", Names: []string{"f"}, AllowedList: true},
		{Mode: genwayv1.ToolChoice_MODE_REQUIRED, Names: []string{"f"}},
		{Mode: genwayv1.ToolChoice_MODE_REQUIRED, Names: []string{"f", "g"}, AllowedList: true},
		{NativeMode: "NEW_MODE"},
	}).Draw(t, "choice")
	req.ResponseFormat = rapid.SampledFrom([]*genwayv1.ResponseFormat{
		nil,
		{Kind: genwayv1.ResponseFormat_KIND_TEXT},
		{Kind: genwayv1.ResponseFormat_KIND_JSON_OBJECT},
		{Kind: genwayv1.ResponseFormat_KIND_JSON_SCHEMA, SchemaJson: `{"type":"object","properties":{"b":{"type":"integer"},"a":{}}}`},
		{Kind: genwayv1.ResponseFormat_KIND_ENUM, SchemaJson: `{"type":"string","enum":["a","b"]}`},
	}).Draw(t, "format")
	req.Thinking = rapid.SampledFrom([]*genwayv1.ThinkingConfig{
		nil, {}, {Effort: "low", IncludeThoughts: new(bool)}, {BudgetTokens: new(int32)},
		{Effort: "novel", NativeFields: ownNatives(t, "xNew")},
	}).Draw(t, "thinking")
	req.AudioOutput = rapid.SampledFrom([]*genwayv1.AudioOutput{nil, {Voice: "Kore", NativeFields: ownNatives(t, "languageCode")}}).Draw(t, "speech")
	if chance(t, "sampling") {
		unit := rapid.Float64Range(0, 2)
		req.Sampling = &genwayv1.Sampling{
			Temperature: maybe(t, "temperature", unit), TopP: maybe(t, "topP", unit), TopK: maybe(t, "topK", rapid.Int32()),
			Seed:             maybe(t, "seed", rapid.Int64Range(-1<<31, 1<<31-1)),
			FrequencyPenalty: maybe(t, "frequency", unit), PresencePenalty: maybe(t, "presence", unit),
			CandidateCount: maybe(t, "count", rapid.Int32Range(1, 8)), Logprobs: maybe(t, "logprobs", rapid.Bool()),
		}
		top := rapid.Int32Range(0, 20).Draw(t, "top")
		req.Sampling.TopLogprobs = &top
	}
	return req
}

func drawTurn(t *rapid.T) *genwayv1.Message {
	m := &genwayv1.Message{Role: genwayv1.Role_ROLE_USER, NativeFields: ownNatives(t, "xNew")}
	kinds := []func(*rapid.T) *genwayv1.Part{drawText, drawMedia, drawOpaque, drawResult}
	if chance(t, "model") {
		m.Role = genwayv1.Role_ROLE_ASSISTANT
		thought := func(t *rapid.T) *genwayv1.Part { return drawThinking(t, own) }
		kinds = []func(*rapid.T) *genwayv1.Part{drawText, drawCall, drawOpaque, thought}
	}
	for range rapid.IntRange(1, 4).Draw(t, "parts") {
		m.Parts = append(m.Parts, rapid.SampledFrom(kinds).Draw(t, "part kind")(t))
	}
	return m
}

func bareTurn(m *genwayv1.Message) bool {
	return m.Role == genwayv1.Role_ROLE_ASSISTANT && len(m.NativeFields) == 0
}

func drawTool(t *rapid.T) *genwayv1.Tool {
	if chance(t, "hosted") {
		kind := rapid.SampledFrom([]string{"googleSearch", "xNew"}).Draw(t, "hosted tool")
		return &genwayv1.Tool{Kind: &genwayv1.Tool_Hosted{Hosted: &genwayv1.HostedTool{
			Protocol: own, Type: kind, Json: []byte(`{"` + kind + `":` + jsonObject(t, kind) + `}`)}}}
	}
	f := &genwayv1.FunctionTool{Name: words(t, "function"), Description: rapid.String().Draw(t, "description")}
	if chance(t, "parameters") {
		f.ParametersJson = jsonObject(t, "schema")
	}
	return &genwayv1.Tool{Kind: &genwayv1.Tool_Function{Function: f}, NativeFields: ownNatives(t, "behavior")}
}
