package generatecontent_test

import (
	"encoding/json"
	"strings"
	"time"

	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"google.golang.org/protobuf/types/known/timestamppb"
	"pgregory.net/rapid"
)

// The generators below draw canonical messages in this protocol's normal form:
// what decoding gives for some body.

func words(t *rapid.T, label string) string {
	return rapid.StringN(1, 12, -1).Draw(t, label)
}

func chance(t *rapid.T, label string) bool { return rapid.Bool().Draw(t, label) }

func maybe[T any](t *rapid.T, label string, g *rapid.Generator[T]) *T {
	if !chance(t, label+"?") {
		return nil
	}
	v := g.Draw(t, label)
	return &v
}

// jsonObject draws the text of an object that is not one of a plain result.
func jsonObject(t *rapid.T, label string) string {
	quoted, err := json.Marshal(words(t, label))
	if err != nil {
		t.Fatal(err)
	}
	return rapid.SampledFrom([]string{
		`{}`, `{"a":1.50,"b":[null,true]}`, `{"b":{"a":"\u00e9"},"a":1e400}`, `{"text":` + string(quoted) + `}`,
	}).Draw(t, label+" object")
}

func ownNatives(t *rapid.T, names ...string) []*genwayv1.NativeField {
	var fields []*genwayv1.NativeField
	for _, name := range names {
		if rapid.IntRange(0, 4).Draw(t, "native "+name) == 0 {
			fields = append(fields, &genwayv1.NativeField{Protocol: own, Name: name, Json: []byte(jsonObject(t, name))})
		}
	}
	return fields
}

func seal(t *rapid.T, origins ...genwayv1.Protocol) *genwayv1.Seal {
	origin := rapid.SampledFrom(origins).Draw(t, "origin")
	if origin == own {
		return &genwayv1.Seal{Origin: own, Value: []byte(rapid.StringMatching(`[A-Ya-z0-9+/_-]{4,12}`).Draw(t, "signature"))}
	}
	return &genwayv1.Seal{Origin: origin, Value: rapid.SliceOfN(rapid.Byte(), 1, 8).Draw(t, "sealed")}
}

func maybeSeal(t *rapid.T, origins ...genwayv1.Protocol) *genwayv1.Seal {
	if !chance(t, "sealed?") {
		return nil
	}
	return seal(t, origins...)
}

func textPart(text string) *genwayv1.Part {
	return &genwayv1.Part{Kind: &genwayv1.Part_Text{Text: &genwayv1.Text{Text: text}}}
}

func drawText(t *rapid.T) *genwayv1.Part {
	p := textPart(words(t, "text"))
	p.NativeFields = ownNatives(t, "partMetadata")
	p.ThoughtSignature = maybeSeal(t, own)
	if p.ThoughtSignature != nil && chance(t, "signature alone?") {
		p.GetText().Text = ""
	}
	return p
}

func drawMedia(t *rapid.T) *genwayv1.Part {
	kind := rapid.SampledFrom([]string{"image/png", "audio/wav", "video/mp4", "application/pdf", ""}).Draw(t, "type")
	m := &genwayv1.Media{MediaType: kind, Filename: rapid.SampledFrom([]string{"", "a.bin"}).Draw(t, "name")}
	p := &genwayv1.Part{}
	switch rapid.IntRange(0, 2).Draw(t, "source") {
	case 0:
		m.Source = &genwayv1.Media_Data{Data: rapid.SliceOfN(rapid.Byte(), 1, 9).Draw(t, "data")}
		p.NativeFields = ownNatives(t, "mediaResolution", "inlineData.xNew")
	case 1:
		m.Source = &genwayv1.Media_Url{Url: "https://a.example/" + words(t, "url")}
		p.NativeFields = ownNatives(t, "videoMetadata", "fileData.xNew")
	default:
		m.Source = &genwayv1.Media_FileId{FileId: "files/" + words(t, "file")}
	}
	switch kind {
	case "image/png":
		p.Kind = &genwayv1.Part_Image{Image: m}
	case "audio/wav":
		p.Kind = &genwayv1.Part_Audio{Audio: m}
	case "video/mp4":
		p.Kind = &genwayv1.Part_Video{Video: m}
	default:
		p.Kind = &genwayv1.Part_File{File: m}
	}
	return p
}

func drawCall(t *rapid.T) *genwayv1.Part {
	return &genwayv1.Part{
		Kind: &genwayv1.Part_ToolCall{ToolCall: &genwayv1.ToolCall{
			Id: rapid.SampledFrom([]string{"", "c1", "toolu_2"}).Draw(t, "id"), Name: words(t, "function"), ArgumentsJson: jsonObject(t, "args"),
		}},
		ThoughtSignature: maybeSeal(t, own),
		NativeFields:     ownNatives(t, "partMetadata", "functionCall.xNew"),
	}
}

func drawOpaque(t *rapid.T) *genwayv1.Part {
	kind := rapid.SampledFrom([]string{"executableCode", "toolResponse", "hologram"}).Draw(t, "kind")
	return &genwayv1.Part{Kind: &genwayv1.Part_Opaque{Opaque: &genwayv1.OpaquePart{
		Protocol: own, Type: kind, Json: []byte(`{"thoughtSignature":"c2ln","` + kind + `":` + jsonObject(t, kind) + `}`),
	}}}
}

func drawThinking(t *rapid.T, origins ...genwayv1.Protocol) *genwayv1.Part {
	think := &genwayv1.Thinking{Text: words(t, "thought"), Signature: maybeSeal(t, origins...)}
	return &genwayv1.Part{Kind: &genwayv1.Part_Thinking{Thinking: think}}
}

func drawResult(t *rapid.T) *genwayv1.Part {
	r := &genwayv1.ToolResult{ToolCallId: rapid.SampledFrom([]string{"", "c1"}).Draw(t, "id"), Name: words(t, "function")}
	if chance(t, "structured") {
		whole := jsonObject(t, "response")
		r.ResultJson = &whole
	} else {
		r.IsError = chance(t, "error")
		for range rapid.IntRange(1, 3).Draw(t, "texts") {
			r.Parts = append(r.Parts, textPart(rapid.String().Draw(t, "output")))
		}
	}
	if chance(t, "media?") {
		r.Parts = append(r.Parts, drawMedia(t))
	}
	return &genwayv1.Part{Kind: &genwayv1.Part_ToolResult{ToolResult: r}, NativeFields: ownNatives(t, "partMetadata", "functionResponse.scheduling")}
}

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
		req.Messages = append(req.Messages, drawTurn(t))
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

// drawResponse draws an answer. One that is to stream has no neighbours that would
// stream as one part.
func drawResponse(t *rapid.T, streamed bool) *genwayv1.GenerateTextResponse {
	resp := &genwayv1.GenerateTextResponse{
		Id: words(t, "id"), Model: words(t, "model"), NativeFields: ownNatives(t, "modelStatus"),
	}
	if chance(t, "created") {
		resp.CreateTime = timestamppb.New(time.Unix(rapid.Int64Range(0, 4e9).Draw(t, "second"), rapid.Int64Range(0, 999999999).Draw(t, "nano")))
	}
	if chance(t, "usage") {
		resp.Usage, resp.ServiceTier = drawUsage(t), rapid.SampledFrom([]string{"", "standard", "flex"}).Draw(t, "tier")
	}
	if rapid.IntRange(0, 9).Draw(t, "blocked") == 0 {
		resp.PromptFeedback = &genwayv1.PromptFeedback{BlockReason: "SAFETY", Message: rapid.String().Draw(t, "why"), NativeFields: ownNatives(t, "safetyRatings")}
		return resp
	}
	for i := range rapid.IntRange(1, 2).Draw(t, "candidates") {
		resp.Candidates = append(resp.Candidates, drawCandidate(t, int32(i), streamed))
	}
	return resp
}

func drawCandidate(t *rapid.T, index int32, streamed bool) *genwayv1.Candidate {
	word := rapid.SampledFrom([]string{"STOP", "MAX_TOKENS", "SAFETY", "MALFORMED_FUNCTION_CALL", "OTHER", "NEW_REASON", "CONTINUATION"}).Draw(t, "reason")
	c := &genwayv1.Candidate{
		Index: index, NativeStopReason: word, StopMessage: rapid.SampledFrom([]string{"", "because"}).Draw(t, "message"),
		NativeFields: ownNatives(t, "safetyRatings", "avgLogprobs", "content.xNew", "logprobsResult.logProbabilitySum"),
	}
	seals := []genwayv1.Protocol{own, genwayv1.Protocol_PROTOCOL_MESSAGES}
	hidden := func(t *rapid.T) *genwayv1.Part {
		return &genwayv1.Part{Kind: &genwayv1.Part_Thinking{Thinking: &genwayv1.Thinking{
			EncryptedContent: seal(t, genwayv1.Protocol_PROTOCOL_MESSAGES, genwayv1.Protocol_PROTOCOL_RESPONSES)}}}
	}
	thought := func(t *rapid.T) *genwayv1.Part { return drawThinking(t, seals...) }
	kinds := []func(*rapid.T) *genwayv1.Part{drawText, drawMedia, drawCall, drawOpaque, thought, hidden}
	texts, called := 0, false
	for range rapid.IntRange(0, 5).Draw(t, "parts") {
		p := rapid.SampledFrom(kinds).Draw(t, "part kind")(t)
		if p.GetAudio() != nil && chance(t, "spoken") {
			p.GetAudio().Transcript = words(t, "transcript")
		}
		if streamed && len(c.Parts) > 0 {
			signSame(c.Parts[len(c.Parts)-1], p)
		}
		if p.GetText() != nil {
			texts++
		}
		called = called || p.GetToolCall() != nil
		c.Parts = append(c.Parts, p)
	}
	if texts == 1 {
		for _, p := range c.Parts {
			if p.GetText() != nil && p.GetText().Text != "" && len(p.NativeFields) == 0 {
				p.GetText().Logprobs = drawLogprobs(t)
			}
		}
	}
	c.StopReason = map[string]genwayv1.StopReason{
		"STOP": genwayv1.StopReason_STOP_REASON_END_TURN, "MAX_TOKENS": genwayv1.StopReason_STOP_REASON_MAX_TOKENS,
		"SAFETY": genwayv1.StopReason_STOP_REASON_CONTENT_FILTER, "MALFORMED_FUNCTION_CALL": genwayv1.StopReason_STOP_REASON_ERROR,
		"OTHER": genwayv1.StopReason_STOP_REASON_OTHER, "NEW_REASON": genwayv1.StopReason_STOP_REASON_OTHER,
		"CONTINUATION": genwayv1.StopReason_STOP_REASON_PAUSE,
	}[word]
	if called && word == "STOP" {
		c.StopReason = genwayv1.StopReason_STOP_REASON_TOOL_CALL
	}
	return c
}

// signSame signs a text or thought that is followed by one of its kind: without a
// signature they would stream as one.
func signSame(before, p *genwayv1.Part) {
	signature := &genwayv1.Seal{Origin: own, Value: []byte("c2ln")}
	switch {
	case before.GetText() != nil && p.GetText() != nil:
		before.ThoughtSignature = signature
	case before.GetThinking() != nil && before.GetThinking().EncryptedContent == nil && p.GetThinking() != nil:
		before.GetThinking().Signature = signature
	}
}

func drawLogprobs(t *rapid.T) []*genwayv1.TokenLogprob {
	var tokens []*genwayv1.TokenLogprob
	for range rapid.IntRange(0, 3).Draw(t, "tokens") {
		one := &genwayv1.TokenLogprob{Token: rapid.String().Draw(t, "token"), Logprob: rapid.Float64Range(-20, 0).Draw(t, "p"), TokenId: maybe(t, "id", rapid.Int32())}
		if chance(t, "top") {
			one.Top = []*genwayv1.TokenLogprob{{Token: strings.ToUpper(one.Token), Logprob: -1}}
		}
		tokens = append(tokens, one)
	}
	return tokens
}

func drawUsage(t *rapid.T) *genwayv1.Usage {
	count := rapid.Int64Range(0, 1000)
	u := &genwayv1.Usage{
		InputTokens: count.Draw(t, "input"), CacheReadInputTokens: maybe(t, "cached", count),
		ThinkingTokens: maybe(t, "thoughts", count), ToolUseInputTokens: maybe(t, "tool use", count),
		InputTextTokens: maybe(t, "text in", count), InputImageTokens: maybe(t, "image in", count), InputAudioTokens: maybe(t, "audio in", count),
		OutputTextTokens: maybe(t, "text out", count), OutputImageTokens: maybe(t, "image out", count), OutputAudioTokens: maybe(t, "audio out", count),
		NativeFields: ownNatives(t, "trafficType"),
	}
	u.OutputTokens = u.GetThinkingTokens() + count.Draw(t, "output")
	u.TotalTokens = u.InputTokens + u.OutputTokens + u.GetToolUseInputTokens()
	return u
}
