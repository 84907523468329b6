package setting

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"

	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

// Native is a member of a request that the contract has no field for. Its own protocol gets it as it is;
// to another protocol a neutral value says nothing, and any other is refused if it binds and else named as lost.
// A value that is empty (null, "", {}, []) is neutral, but for a member with Present. Members that are in no table
// are lost with any value.
type Native struct {
	// Name is its path from the request, through fields of the contract and without indices: tools.defer_loading.
	Name string
	// Neutral is the vendor's documented default, as JSON text. A list is neutral if all its elements are
	// in the neutral list.
	Neutral string
	// Binds reports that the member bears on the answer: it brings conversation from elsewhere, or
	// changes how the answer is given.
	Binds bool
	// With restricts Binds to values that have this text somewhere. Empty is any value.
	With string
	// Present reports that an empty value means something, too: web_search_options {} searches.
	Present bool
	// Shared is a protocol whose vendor takes the same member; 0 for none.
	Shared genwayv1.Protocol
}

// blocks is the mode of a policy of moderation that withholds answers; the other one reports scores beside them
// (ChatCompletionNewParamsModerationPolicyOutput).
const blocks = "block"

// chatNatives are OpenAI's members of chat completions that no other protocol has
// (ChatCompletionNewParams), and the members of vLLM (ChatCompletionRequest, SamplingParams), OpenRouter, Mistral,
// xAI that constrain the output or bring content into it.
var chatNatives = []Native{
	{Name: "logit_bias", Binds: true},
	{Name: "moderation", Binds: true, With: blocks, Shared: genwayv1.Protocol_PROTOCOL_RESPONSES},
	{Name: "previous_response_id", Binds: true},
	{Name: "conversation", Binds: true},
	{Name: "prompt", Binds: true},
	{Name: "plugins", Binds: true},
	{Name: "structured_outputs", Binds: true},
	{Name: "guided_json", Binds: true},
	{Name: "guided_regex", Binds: true},
	{Name: "guided_choice", Binds: true},
	{Name: "guided_grammar", Binds: true},
	{Name: "continue_final_message", Binds: true, Neutral: "false"},
	{Name: "bad_words", Binds: true},
	{Name: "allowed_token_ids", Binds: true},
	{Name: "documents", Binds: true},
	{Name: "chat_template", Binds: true},
	{Name: "search_parameters", Binds: true, Present: true},
	{Name: "truncate_prompt_tokens", Binds: true},
	{Name: "web_search_options", Present: true}, // a tool that is merely offered, like hosted tools
	{Name: "prediction"},
	{Name: "prompt_cache_retention"}, // which not each model takes
	{Name: "prompt_cache_options", Shared: genwayv1.Protocol_PROTOCOL_RESPONSES},
	{Name: "stream_options.include_obfuscation", Neutral: "true"},
	{Name: "chat_template_kwargs"},
	{Name: "mm_processor_kwargs"},
	{Name: "stop_token_ids"},
	{Name: "logits_processors"},
	{Name: "repetition_penalty", Neutral: "1"},
	{Name: "length_penalty", Neutral: "1"},
	{Name: "min_p", Neutral: "0"},
	{Name: "min_tokens", Neutral: "0"},
	{Name: "ignore_eos", Neutral: "false"},
	{Name: "echo", Neutral: "false"},
	{Name: "use_beam_search", Neutral: "false"},
	{Name: "add_generation_prompt", Neutral: "true"},
	{Name: "add_special_tokens", Neutral: "false"},
	{Name: "skip_special_tokens", Neutral: "true"},
	{Name: "spaces_between_special_tokens", Neutral: "true"},
	{Name: "include_stop_str_in_output", Neutral: "false"},
	{Name: "return_token_ids", Neutral: "false"},
	{Name: "transforms"},
	{Name: "models"},
	{Name: "provider"},
	{Name: "safe_prompt", Neutral: "false"},
	{Name: "messages.prefix", Neutral: "false"},
}

// responsesNatives are members of ResponseNewParams.
var responsesNatives = []Native{
	{Name: "previous_response_id", Binds: true},
	{Name: "conversation", Binds: true},
	{Name: "prompt", Binds: true},
	{Name: "background", Neutral: "false"},
	{Name: "truncation", Neutral: `"disabled"`},
	// Thoughts come sealed from vendors that seal them, however an upstream is asked for that.
	{Name: "include", Neutral: `["reasoning.encrypted_content"]`},
	{Name: "moderation", Binds: true, With: blocks},
	{Name: "prompt_cache_retention"},
	{Name: "prompt_cache_options"},
	{Name: "context_management"},
	{Name: "access_programs"},
	{Name: "image"},
	{Name: "stream_options", Neutral: `{"include_obfuscation":true}`},
	{Name: "thinking.context", Neutral: `"auto"`},
	{Name: "thinking.generate_summary"},
	{Name: "tools.defer_loading", Neutral: "false"},
	{Name: "tools.allowed_callers", Neutral: `["direct"]`},
	{Name: "tools.output_schema"},
	{Name: "tools.async", Neutral: "false"},
	{Name: "max_tool_calls"},
	{Name: "thinking.mode"},
	{Name: "messages.parts.async", Neutral: "false"},
	{Name: "messages.parts.caller", Neutral: `{"type":"direct"}`},
	{Name: "messages.parts.cache_control.mode", Neutral: `"explicit"`}, // a breakpoint of the contract is one
}

// messagesNatives are members of BetaMessageNewParams and BetaToolParam. mcp_servers are where hosted tools
// come from, which are merely offered.
var messagesNatives = []Native{
	{Name: "container", Binds: true},
	{Name: "inference_geo", Binds: true},
	{Name: "speed", Neutral: `"standard"`},
	{Name: "mcp_servers"},
	{Name: "fallbacks"},
	{Name: "context_management", Neutral: `{"edits":[]}`},
	{Name: "diagnostics"},
	{Name: "tools.defer_loading", Neutral: "false"},
	{Name: "tools.eager_input_streaming", Neutral: "false"},
	{Name: "tools.allowed_callers", Neutral: `["direct"]`},
	{Name: "tools.input_examples"},
	{Name: "fallback_credit_token"},
	{Name: "messages.clear_at"},
	{Name: "messages.parts.caller"},
	{Name: "messages.parts.transformations"},
	{Name: "messages.parts.context"},
	{Name: "messages.parts.citations", Neutral: `{"enabled":false}`},
}

// generateContentNatives are members of GenerateContentConfig and of what it holds: continued or cached
// conversations, screening, and kinds of answers that no other protocol has bind.
var generateContentNatives = []Native{
	{Name: "cachedContent", Binds: true},
	{Name: "continuationToken", Binds: true},
	{Name: "modelArmorConfig", Binds: true},
	{Name: "generationConfig.responseFormat", Binds: true},
	{Name: "generationConfig.responseMimeType", Binds: true, Neutral: `"text/plain"`},
	{Name: "generationConfig.imageConfig", Binds: true},
	{Name: "generationConfig.translationConfig", Binds: true, Present: true},
	{Name: "generationConfig.audioTranscriptionConfig", Binds: true, Present: true},
	{Name: "generationConfig.generationOutputConfig", Binds: true},
	{Name: "generationConfig.routingConfig"},
	{Name: "generationConfig.modelSelectionConfig"},
	{Name: "generationConfig.mediaResolution", Neutral: `"MEDIA_RESOLUTION_UNSPECIFIED"`},
	{Name: "generationConfig.audioTimestamp", Neutral: "false"},
	{Name: "generationConfig.enableEnhancedCivicAnswers", Neutral: "false"},
	{Name: "generationConfig.enableAffectiveDialog", Neutral: "false"},
	{Name: "safetySettings"},
	{Name: "labels"},
	{Name: "toolConfig.retrievalConfig"},
	{Name: "toolConfig.includeServerSideToolInvocations", Neutral: "false"},
	{Name: "toolConfig.functionCallingConfig.streamFunctionCallArguments", Neutral: "false"},
	{Name: "tools.response"},
	{Name: "tools.responseJsonSchema"},
	{Name: "tools.behavior", Neutral: `"UNSPECIFIED"`},
	{Name: "messages.parts.functionCall.willContinue", Neutral: "false"},
	{Name: "messages.parts.functionCall.partialArgs"},
	{Name: "messages.parts.functionResponse.willContinue"},
	{Name: "messages.parts.functionResponse.scheduling", Neutral: `"WHEN_IDLE"`},
	{Name: "messages.parts.audioTranscription"},
	{Name: "messages.parts.speechMetadata"},
	{Name: "messages.parts.mediaProcessing"},
	{Name: "messages.parts.partMetadata"},
	{Name: "messages.parts.videoMetadata"},
	{Name: "messages.parts.mediaResolution"},
}

// interactionsNatives are members of CreateModelInteraction, GenerationConfig, Content and steps of @google/genai.
var interactionsNatives = []Native{
	{Name: "previous_interaction_id", Binds: true},
	{Name: "continuation_token", Binds: true},
	{Name: "cached_content", Binds: true},
	{Name: "environment", Binds: true, Present: true},
	{Name: "response_format", Binds: true, Present: true},
	{Name: "response_mime_type", Binds: true, Neutral: `"text/plain"`},
	{Name: "generation_config.image_config", Binds: true},
	{Name: "generation_config.video_config", Binds: true},
	{Name: "generation_config.transcription_config", Binds: true, Present: true},
	{Name: "generation_config.speech_config"},
	{Name: "safety_settings"},
	{Name: "labels"},
	{Name: "webhook_config"},
	{Name: "messages.parts.sample_rate"},
	{Name: "messages.parts.channels"},
	{Name: "messages.parts.processing"},
}

// imagesNatives change what is drawn, but for the last.
var imagesNatives = []Native{
	{Name: "frame_count", Binds: true},
	{Name: "frame_duration_ms", Binds: true},
	{Name: "svg", Binds: true},
	{Name: "complexity", Binds: true},
	{Name: "markup", Binds: true},
	{Name: "safety_identifier"},
}

// nativesByName are the members of each protocol.
var nativesByName = func() map[genwayv1.Protocol]map[string]*Native {
	all := map[genwayv1.Protocol]map[string]*Native{}
	for _, c := range columns {
		all[c.Protocol] = map[string]*Native{}
		for i := range c.Natives {
			all[c.Protocol][c.Natives[i].Name] = &c.Natives[i]
		}
	}
	return all
}()

// Binds reports whether a member of a request bears on the answer with a value.
func Binds(protocol genwayv1.Protocol, name string, value []byte) bool {
	n := nativesByName[protocol][name]
	if n == nil || !n.Binds || n.With == "" {
		return n != nil && n.Binds
	}
	var has any
	return json.Unmarshal(value, &has) != nil || hasText(has, n.With)
}

func hasText(v any, text string) bool {
	switch v := v.(type) {
	case string:
		return v == text
	case []any:
		return slices.ContainsFunc(v, func(v any) bool { return hasText(v, text) })
	case map[string]any:
		for _, v := range v {
			if hasText(v, text) {
				return true
			}
		}
	}
	return false
}

// Shares reports whether a protocol has the same member of a request as another one, and the value says something.
func Shares(of, to genwayv1.Protocol, name string, value []byte) bool {
	n := nativesByName[of][name]
	return n != nil && n.Shared != 0 && n.Shared == to && Says(of, "", name, value)
}

// Says reports whether a member, which is a native field of the object at a path of the contract, says
// more than is so without it.
func Says(protocol genwayv1.Protocol, path, name string, value []byte) bool {
	n := nativesByName[protocol][within(path, name)]
	if n == nil {
		return true
	}
	var has, neutral any
	if json.Unmarshal(value, &has) != nil {
		return true
	}
	if !n.Present && isEmpty(has) {
		return false
	}
	return n.Neutral == "" || json.Unmarshal([]byte(n.Neutral), &neutral) != nil || !same(has, neutral)
}

// within joins a member to a path without the path's indices. Parts of a tool's result are parts.
func within(path, name string) string {
	for {
		before, rest, indexed := strings.Cut(path, "[")
		if !indexed {
			break
		}
		_, rest, _ = strings.Cut(rest, "]")
		path = before + rest
	}
	if path == "" {
		return name
	}
	return strings.Replace(path, "messages.parts.tool_result.parts", "messages.parts", 1) + "." + name
}

func isEmpty(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case string:
		return v == ""
	case []any:
		return len(v) == 0
	case map[string]any:
		return len(v) == 0
	}
	return false
}

// same reports whether a value is the neutral one.
func same(has, neutral any) bool {
	list, isList := has.([]any)
	words, wanted := neutral.([]any)
	if !isList || !wanted {
		return reflect.DeepEqual(has, neutral)
	}
	return !slices.ContainsFunc(list, func(v any) bool {
		return !slices.ContainsFunc(words, func(w any) bool { return reflect.DeepEqual(v, w) })
	})
}
