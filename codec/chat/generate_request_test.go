package chat_test

import (
	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/member"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"
)

func drawTool(t *rapid.T, i int) *genwayv1.Tool {
	name := words.Draw(t, "tool") + string(rune('a'+i))
	out := &genwayv1.Tool{}
	switch rapid.IntRange(0, 4).Draw(t, "tool kind") {
	case 0:
		out.Kind = &genwayv1.Tool_Custom{Custom: &genwayv1.CustomTool{Name: name, Description: maybe(t, "description", texts), FormatJson: maybe(t, "format", schemas)}}
		out.NativeFields = drawNatives(t, "custom.x")
	case 1:
		return &genwayv1.Tool{Kind: &genwayv1.Tool_Hosted{Hosted: &genwayv1.HostedTool{Protocol: own, Type: "web_search", Json: []byte(`{"type": "web_search", "n":1.0}`)}}}
	default:
		out.Kind = &genwayv1.Tool_Function{Function: &genwayv1.FunctionTool{
			Name: name, Description: maybe(t, "description", texts), ParametersJson: maybe(t, "schema", schemas), Strict: drawn(t, "strict", rapid.Bool())}}
		out.NativeFields = drawNatives(t, "function.x", "defer_loading")
	}
	if cache := drawCache(t); cache != nil && cache.NativeFields[0].Name == "cache_control" {
		out.CacheControl = cache
	}
	return out
}

func drawChoice(t *rapid.T) *genwayv1.ToolChoice {
	choice := &genwayv1.ToolChoice{Parallel: drawn(t, "parallel", rapid.Bool())}
	switch rapid.IntRange(0, 5).Draw(t, "choice") {
	case 0:
		choice.Mode = rapid.SampledFrom([]genwayv1.ToolChoice_Mode{1, 2, 3}).Draw(t, "mode")
	case 1:
		choice.Mode, choice.Names = genwayv1.ToolChoice_MODE_REQUIRED, []string{words.Draw(t, "name")}
	case 2:
		choice.Mode, choice.AllowedList = rapid.SampledFrom([]genwayv1.ToolChoice_Mode{1, 3}).Draw(t, "mode"), true
		choice.Names = listOf(t, "names", 1, 3, func(int) string { return words.Draw(t, "name") })
	case 3:
		choice.NativeMode = "validated"
	case 4:
		choice.Native = &genwayv1.NativeField{Protocol: own, Name: "tool_choice", Json: []byte(`{"type":"mcp","x":1.0}`), Binding: true}
	default:
		if choice.Parallel == nil {
			return nil
		}
	}
	return choice
}

func drawFormat(t *rapid.T) *genwayv1.ResponseFormat {
	switch rapid.IntRange(0, 4).Draw(t, "format") {
	case 0:
		return &genwayv1.ResponseFormat{Kind: genwayv1.ResponseFormat_KIND_TEXT}
	case 1:
		return &genwayv1.ResponseFormat{Kind: genwayv1.ResponseFormat_KIND_JSON_OBJECT}
	case 2:
		return &genwayv1.ResponseFormat{Kind: genwayv1.ResponseFormat_KIND_JSON_SCHEMA, Name: words.Draw(t, "format name"),
			Description: maybe(t, "format description", texts), SchemaJson: maybe(t, "format schema", schemas), Strict: drawn(t, "strict", rapid.Bool())}
	case 3:
		return &genwayv1.ResponseFormat{Native: &genwayv1.NativeField{Protocol: own, Name: "response_format", Json: []byte(`{"type":"grammar", "grammar":"a"}`), Binding: true}}
	}
	return nil
}

func drawSampling(t *rapid.T) *genwayv1.Sampling {
	s := &genwayv1.Sampling{
		Temperature: drawn(t, "temperature", rapid.Float64Range(0, 2)), TopP: drawn(t, "top_p", rapid.Float64Range(0, 1)),
		Seed:             drawn(t, "seed", rapid.Int64()),
		FrequencyPenalty: drawn(t, "frequency", rapid.Float64Range(-2, 2)), PresencePenalty: drawn(t, "presence", rapid.Float64Range(-2, 2)),
		CandidateCount: drawn(t, "n", rapid.Int32Range(1, 9)), Logprobs: drawn(t, "logprobs", rapid.Bool()),
		TopLogprobs: drawn(t, "top_logprobs", rapid.Int32Range(0, 20)),
	}
	if proto.Size(s) == 0 {
		return nil
	}
	return s
}

func drawRequest(t *rapid.T) *codec.Request {
	req := &genwayv1.GenerateTextRequest{
		Model: words.Draw(t, "model"), Messages: drawTurns(t),
		Tools:          listOf(t, "tools", 0, 3, func(i int) *genwayv1.Tool { return drawTool(t, i) }),
		ToolChoice:     drawChoice(t),
		ResponseFormat: drawFormat(t),
		Sampling:       drawSampling(t),
		StopSequences:  listOf(t, "stop", 0, 2, func(int) string { return texts.Draw(t, "stop") }),
		ServiceTier:    maybe(t, "tier", words), User: maybe(t, "user", words), Verbosity: maybe(t, "verbosity", words),
		Modalities: listOf(t, "modalities", 0, 2, func(int) string { return words.Draw(t, "modality") }),
		Store:      drawn(t, "store", rapid.Bool()), PromptCacheKey: maybe(t, "cache key", words), SafetyIdentifier: maybe(t, "safety", words),
	}
	if effort := maybe(t, "effort", words); effort != "" {
		req.Thinking = &genwayv1.ThinkingConfig{Effort: effort}
	}
	if rapid.Bool().Draw(t, "metadata") {
		req.Metadata = map[string]string{"a": texts.Draw(t, "metadata"), "b": ""}
	}
	if rapid.Bool().Draw(t, "speech") {
		req.AudioOutput = &genwayv1.AudioOutput{Voice: words.Draw(t, "voice"), Format: words.Draw(t, "audio format"), NativeFields: drawNatives(t, "speed")}
	}
	if req.MaxOutputTokens = drawn(t, "most", rapid.Int64Range(1, 1<<30)); req.MaxOutputTokens != nil {
		name := rapid.SampledFrom([]string{"max_tokens", "max_completion_tokens"}).Draw(t, "most name")
		req.NativeFields = append(req.NativeFields, member.Mark(own, name))
	}
	if req.ResponseFormat.GetKind() == genwayv1.ResponseFormat_KIND_JSON_SCHEMA {
		req.NativeFields = append(req.NativeFields, drawNatives(t, "response_format.json_schema.x", "response_format.y")...)
	}
	req.NativeFields = append(req.NativeFields, drawNatives(t, "stream_options.include_obfuscation", "top_k", "provider")...)
	if rapid.Bool().Draw(t, "bias") {
		req.NativeFields = append(req.NativeFields, &genwayv1.NativeField{Protocol: own, Name: "logit_bias", Json: []byte(`{"50256":-100}`), Binding: true})
	}
	stream := rapid.Bool().Draw(t, "stream")
	return &codec.Request{GenerateTextRequest: req, Stream: stream, IncludeUsage: stream && rapid.Bool().Draw(t, "include usage")}
}
