package setting

// Reasons for which several settings are lost or refused.
const (
	noPlace         = "the target protocol has no place for it"
	noPlaceMessages = "the messages protocol has no place for it"
	noMemberChat    = "chat completions has no such member"
)

// at is a member that has the field's value.
func at(member string) Place { return Place{Member: member} }

// byHand is a member of another shape, or one that says what several fields say.
func byHand(member string) Place { return Place{Member: member, ByHand: true} }

func lost(reason string) Place { return Place{Lost: reason} }

// lostByHand is lost under conditions that the codec knows.
func lostByHand(reason string) Place { return Place{Lost: reason, ByHand: true} }

// refused is refused wherever an answer depends on it.
var refused = Place{Refused: "the upstream this model is routed to cannot do this"}

func (p Place) typed(goType string) Place                 { p.Type = goType; return p }
func (p Place) positive() Place                           { p.Min = 1; return p }
func (p Place) max(n float64, over string) Place          { p.Max, p.OverMax = n, over; return p }
func (p Place) bits32(over string) Place                  { p.Over32 = over; return p }
func (p Place) upper() Place                              { p.Upper = true; return p }
func (p Place) echo(fallback string) Place                { p.Echo = fallback; return p }
func (p Place) words(of map[string]string) Place          { p.Words = of; return p }
func (p Place) noWords(why string, words ...string) Place { p.NoWord, p.NoWords = why, words; return p }

func (p Place) written() Place { p.Written = true; return p }

func (p Place) implied(value, why string) Place { p.Implied, p.ImpliedBy = value, why; return p }

// openaiTiers are OpenAI's words for the default tier of the other vendors.
var openaiTiers = map[string]string{"standard_only": "default", "standard": "default", "unspecified": ""}

// texts are the settings of texts, in the order in which their members are written. The authorities are
// the types of the vendors' SDKs: ChatCompletionNewParams and ResponseNewParams of openai-go,
// MessageCreateParams of @anthropic-ai/sdk, GenerateContentConfig of genai.
var texts = []Setting{
	{
		Field: "model",
		Chat:  byHand("model"), Responses: byHand("model"), Messages: byHand("model"), GenerateContent: byHand("model"),
		Interactions: byHand("model"),
	},
	{
		Field: "messages",
		Chat:  byHand("messages"), Responses: byHand("input"), Messages: byHand("messages"), GenerateContent: byHand("contents"),
		Interactions: byHand("input"),
	},
	{
		Field: "tools",
		Chat:  byHand("tools|functions"), Responses: byHand("tools"), Messages: byHand("tools"), GenerateContent: byHand("tools"),
		Interactions: byHand("tools"),
	},
	{
		Field: "max_output_tokens", May: Drop | Set, Min: new(1.0),
		Chat:            byHand("max_completion_tokens|max_tokens"), // two names for one number
		Responses:       at("max_output_tokens").positive().echo("null"),
		Messages:        byHand("max_tokens"), // required
		GenerateContent: at("generationConfig.maxOutputTokens").positive(),
		Interactions:    at("generation_config.max_output_tokens").positive(),
	},
	{
		Field: "sampling.temperature", May: Drop | Set | Refuse, Min: new(0.0), Max: new(2.0),
		Chat: at("temperature"), Responses: at("temperature").echo("1"),
		Messages:        at("temperature").max(1, "temperatures end at 1 in the messages protocol"),
		GenerateContent: at("generationConfig.temperature"),
		Interactions:    at("generation_config.temperature"),
	},
	{
		Field: "sampling.top_p", May: Drop | Set | Refuse, Min: new(0.0), Max: new(1.0),
		Chat: at("top_p"), Responses: at("top_p").echo("1"), Messages: at("top_p"), GenerateContent: at("generationConfig.topP"),
		Interactions: at("generation_config.top_p"),
	},
	{
		Field: "sampling.top_k", May: Drop | Set | Refuse, Min: new(0.0),
		Chat: lost(noMemberChat), Responses: lost(noPlace), Messages: at("top_k"), GenerateContent: at("generationConfig.topK"),
		Interactions: lost(noPlace),
	},
	{
		Field: "sampling.seed", May: Drop | Set | Refuse | Unbound,
		Chat: at("seed"), Responses: lost(noPlace), Messages: lost(noPlaceMessages),
		GenerateContent: at("generationConfig.seed").bits32("the target protocol takes seeds of 32 bits"),
		Interactions:    at("generation_config.seed").bits32("the target protocol takes seeds of 32 bits"),
	},
	{
		Field: "sampling.frequency_penalty", May: Drop | Set | Refuse, Neutral: "0", Min: new(-2.0), Max: new(2.0),
		Chat: at("frequency_penalty"), Responses: lost(noPlace).echo("0"), Messages: lost(noPlaceMessages), GenerateContent: at("generationConfig.frequencyPenalty"),
		Interactions: lost(noPlace),
	},
	{
		Field: "sampling.presence_penalty", May: Drop | Set | Refuse, Neutral: "0", Min: new(-2.0), Max: new(2.0),
		Chat: at("presence_penalty"), Responses: lost(noPlace).echo("0"), Messages: lost(noPlaceMessages), GenerateContent: at("generationConfig.presencePenalty"),
		Interactions: lost(noPlace),
	},
	{
		Field: "sampling.candidate_count", May: Drop | Set | Refuse, Min: new(1.0), Neutral: "1",
		Chat: at("n").positive(), Responses: refused, Messages: refused, GenerateContent: at("generationConfig.candidateCount").positive(),
		Interactions: refused,
	},
	{
		Field: "sampling.logprobs", May: Drop | Refuse, Neutral: "false",
		Chat: at("logprobs"), Responses: byHand("include"), Messages: refused, GenerateContent: at("generationConfig.responseLogprobs"),
		Interactions: refused,
	},
	{
		Field: "sampling.top_logprobs", May: Drop | Refuse, Neutral: "0",
		Chat: at("top_logprobs"), Responses: at("top_logprobs").echo("0"), Messages: lost(noPlaceMessages), GenerateContent: at("generationConfig.logprobs"),
		Interactions: lost(noPlace),
	},
	{
		Field: "stop_sequences", May: Drop | Set | Refuse, Neutral: `[""]`,
		Chat:      at("stop").typed("stopList"), // one, or a list
		Responses: refused, Messages: at("stop_sequences"), GenerateContent: at("generationConfig.stopSequences"),
		Interactions: at("generation_config.stop_sequences"),
	},
	{
		Field: "tool_choice.parallel", Neutral: "true",
		Chat: byHand("parallel_tool_calls"), Responses: byHand("parallel_tool_calls"), Messages: byHand("tool_choice.disable_parallel_tool_use"),
		GenerateContent: lost("the target protocol lets the model call several tools at once"),
		Interactions:    lost("the target protocol lets the model call several tools at once"),
	},
	{
		Field: "tool_choice", // auto has a word in each protocol, and is carried (case T13)
		Chat:  byHand("tool_choice|function_call"), Responses: byHand("tool_choice"), Messages: byHand("tool_choice"),
		GenerateContent: byHand("toolConfig.functionCallingConfig"),
		Interactions:    byHand("generation_config.tool_choice"),
	},
	{Field: "tool_choice.mode", Messages: byHand("tool_choice.type"), GenerateContent: byHand("toolConfig.functionCallingConfig.mode"), Interactions: byHand("generation_config.tool_choice|generation_config.tool_choice.allowed_tools.mode")},
	{Field: "tool_choice.native_mode", GenerateContent: byHand("toolConfig.functionCallingConfig.mode"), Interactions: byHand("generation_config.tool_choice|generation_config.tool_choice.allowed_tools.mode")},
	{Field: "tool_choice.names", Messages: byHand("tool_choice.name"), GenerateContent: byHand("toolConfig.functionCallingConfig.allowedFunctionNames"), Interactions: byHand("generation_config.tool_choice.allowed_tools.tools")},
	{
		Field: "response_format", May: Drop, Neutral: `{"kind":"KIND_TEXT"}`,
		Chat: byHand("response_format"), Responses: byHand("text.format"), Messages: byHand("output_config.format|output_format"),
		GenerateContent: byHand("generationConfig.responseSchema|generationConfig.responseJsonSchema|generationConfig.responseMimeType"),
		Interactions:    byHand("response_format|response_mime_type"),
	},
	{
		Field: "response_format.kind",
		Chat:  byHand("response_format.type"), Responses: byHand("text.format.type"), Messages: byHand("output_config.format.type|output_format.type"),
		Interactions: byHand("response_format.schema|response_format.mime_type|response_mime_type"),
	},
	{
		Field: "response_format.name",
		Chat:  byHand("response_format.json_schema.name"), Responses: byHand("text.format.name"),
		Messages: lost("schemas have no name in the messages protocol"), GenerateContent: lost("the target protocol does not name schemas"),
		Interactions: lost("the target protocol does not name schemas"),
	},
	{
		Field: "response_format.description",
		Chat:  byHand("response_format.json_schema.description"), Responses: byHand("text.format.description"),
		Messages:        lost("schemas have no description beside them in the messages protocol"),
		GenerateContent: lost("the target protocol does not describe schemas"),
		Interactions:    lost("the target protocol does not describe schemas"),
	},
	{
		Field: "response_format.schema_json",
		Chat:  byHand("response_format.json_schema.schema"), Responses: byHand("text.format.schema"), Messages: byHand("output_config.format.schema|output_format.schema"),
		GenerateContent: byHand("generationConfig.responseSchema|generationConfig.responseJsonSchema"),
		Interactions:    byHand("response_format.schema|response_format"),
	},
	{
		Field: "response_format.strict",
		Chat:  byHand("response_format.json_schema.strict"), Responses: byHand("text.format.strict"),
		Messages:        lost("the messages protocol holds every answer to the schema").implied("true", "every answer is held to the schema"),
		GenerateContent: Place{}.implied("true", "every answer is held to the schema"),
		Interactions:    Place{}.implied("true", "every answer is held to the schema"),
	},
	{
		Field: "thinking", May: Drop,
		Chat: byHand("reasoning_effort"), Responses: byHand("reasoning"), Messages: byHand("thinking"), GenerateContent: byHand("generationConfig.thinkingConfig"),
		Interactions: byHand("generation_config.thinking_level"),
	},
	{Field: "thinking.mode", Responses: byHand("reasoning.effort"), Messages: byHand("thinking.type")},
	{
		Field: "thinking.effort", May: Drop | Set, Doc: "How much to think: none, minimal, low, medium, high, ...",
		Chat: byHand("reasoning_effort"), Responses: byHand("reasoning.effort"), Messages: byHand("output_config.effort"),
		GenerateContent: byHand("generationConfig.thinkingConfig.thinkingLevel"),
		Interactions:    byHand("generation_config.thinking_level"),
	},
	{
		Field: "thinking.budget_tokens", May: Drop | Set, Min: new(-1.0), Doc: "Tokens to think with; 0 is none, -1 lets the model decide.",
		Chat: lostByHand("chat completions has an effort in its place"), Responses: lost("the target protocol has efforts instead of budgets"),
		Messages: byHand("thinking.budget_tokens"), GenerateContent: byHand("generationConfig.thinkingConfig.thinkingBudget"),
		Interactions: lostByHand("the target protocol has efforts instead of budgets"),
	},
	{
		Field: "thinking.include_thoughts", May: Drop,
		Chat:      lost("chat completions cannot ask for thoughts to be left out").implied("true", "thoughts are in the answer wherever the upstream sends them"),
		Responses: byHand("reasoning.summary"), Messages: byHand("thinking.display"), GenerateContent: byHand("generationConfig.thinkingConfig.includeThoughts"),
		Interactions: byHand("generation_config.thinking_summaries"),
	},
	{
		Field:     "thinking.summary",
		Chat:      lost("chat completions cannot ask for a summary"),
		Responses: byHand("reasoning.summary"), Messages: byHand("thinking.display"), GenerateContent: byHand("generationConfig.thinkingConfig.includeThoughts"),
		Interactions: byHand("generation_config.thinking_summaries"),
	},
	{
		Field: "verbosity", May: Drop | Set | Refuse, Neutral: `"medium"`,
		Chat: at("verbosity"), Responses: at("text.verbosity"), Messages: lost(noPlaceMessages), GenerateContent: lost(noPlace),
		Interactions: lost(noPlace),
	},
	{
		Field: "modalities", May: Drop, Neutral: `["text"]`,
		Chat: at("modalities"), Responses: refused, Messages: refused, GenerateContent: at("generationConfig.responseModalities").upper().written(), // models that draw do so without it
		Interactions: at("response_modalities").written(),
	},
	{
		Field: "audio_output",
		Chat:  byHand("audio"), Responses: lost(noPlace), Messages: lost(noPlaceMessages), GenerateContent: byHand("generationConfig.speechConfig"),
		Interactions: lost(noPlace),
	},
	{Field: "audio_output.voice", Chat: byHand("audio.voice"), GenerateContent: byHand("generationConfig.speechConfig.voiceConfig.prebuiltVoiceConfig.voiceName")},
	{Field: "audio_output.format", Chat: byHand("audio.format"), GenerateContent: lost("the target protocol has one format of speech")},
	{
		Field: "service_tier", May: Drop | Set | Refuse, Neutral: `"auto"`,
		Chat: at("service_tier").words(openaiTiers), Responses: at("service_tier").words(openaiTiers),
		Messages: at("service_tier").words(map[string]string{"default": "standard_only", "standard": "standard_only", "unspecified": ""}).
			noWords("the messages protocol has no such tier to ask for", "flex", "scale", "priority", "fast", "ultrafast"),
		// auto is what the vendor does without a tier.
		GenerateContent: at("serviceTier").words(map[string]string{"auto": "", "default": "standard", "standard_only": "standard"}).
			noWords("the target protocol has no such tier", "scale"),
		Interactions: at("service_tier").words(map[string]string{"auto": "", "unspecified": "", "default": "standard", "standard_only": "standard"}).
			noWords("the target protocol has no such tier", "scale"),
	},
	{
		Field: "store", May: Drop | Set | Refuse, Neutral: "false", Doc: "Whether the upstream keeps the answer.",
		// Responses are stored without it, and chat completions and contents by the account's own setting.
		Chat: at("store").written(), Responses: at("store").written(), Messages: lost(noPlaceMessages), GenerateContent: at("store").written(),
		Interactions: at("store").written(),
	},
	{
		Field: "metadata", May: Drop | Refuse,
		Chat: at("metadata"), Responses: at("metadata").echo("{}"), Messages: lost(noPlaceMessages), GenerateContent: lost(noPlace),
		Interactions: lost(noPlace),
	},
	{
		Field: "user", May: Drop | Set | Refuse,
		Chat: at("user"), Responses: at("user").echo("null"), Messages: byHand("metadata.user_id"), GenerateContent: lost(noPlace),
		Interactions: lost(noPlace),
	},
	{
		Field: "safety_identifier", May: Drop | Set | Refuse,
		Chat: at("safety_identifier"), Responses: at("safety_identifier").echo("null"), Messages: lost(noPlaceMessages), GenerateContent: lost(noPlace),
		Interactions: lost(noPlace),
	},
	{
		Field: "prompt_cache_key", May: Drop | Set | Refuse,
		Chat: at("prompt_cache_key"), Responses: at("prompt_cache_key").echo("null"), Messages: lost(noPlaceMessages), GenerateContent: lost(noPlace),
		Interactions: lost(noPlace),
	},
	{
		Field: "cache_control", May: Drop,
		Chat: lost("chat completions has no common form for cache breakpoints"), Responses: lost(noPlace), Messages: byHand("cache_control"), GenerateContent: lost(noPlace),
		Interactions: lost(noPlace),
	},
	{Field: "cache_control.ttl", Messages: byHand("cache_control.ttl")},
	{Field: "compact", Responses: byHand("input")},
	{Field: "native_fields"},
	{Field: "extra_json"},
}

// images are the settings of images (ImageGenerateParams and ImageEditParams of openai-go). Chat, Responses and GenerateContent say what those
// protocols have for them where a model draws in an answer of text: nothing in OpenRouter's form of chat completions, the tool
// image_generation (ToolImageGeneration of openai-go) and ImageConfig of genai, as the Gemini API takes it.
var images = []Setting{
	{Field: "model", Images: byHand("model"), Chat: byHand("model"), Responses: byHand("model")},
	{Field: "prompt", Images: byHand("prompt"), Chat: byHand("messages"), Responses: byHand("input"), GenerateContent: byHand("contents")},
	{Field: "images", Images: byHand("images|image"), Chat: byHand("messages"), Responses: byHand("input"), GenerateContent: byHand("contents")},
	{
		Field: "mask", Images: byHand("mask"), Responses: byHand("tools[0].input_image_mask"),
		Chat: noMasks, GenerateContent: noMasks,
	},
	{
		Field: "input_fidelity", May: Drop | Set, Doc: "Of edits: high, low.", Neutral: `"low"`,
		Images: at("input_fidelity"), Chat: lost(noPlace), Responses: at("tools[0].input_fidelity"), GenerateContent: lost(noPlace),
	},
	{Field: "count", May: Drop | Set, Min: new(1.0), Doc: "Of images.", Images: at("n").positive()},
	{
		Field: "size", May: Drop | Set, Doc: "Of images: 1024x1024.", Neutral: `"auto"`,
		Images: at("size"), Chat: lost(noPlace), Responses: at("tools[0].size"),
		GenerateContent: byHand("generationConfig.imageConfig.aspectRatio|generationConfig.imageConfig.imageSize"),
	},
	{Field: "quality", May: Drop | Set, Neutral: `"auto"`, Images: at("quality"), Chat: lost(noPlace), Responses: at("tools[0].quality"), GenerateContent: lost(noPlace)},
	{
		Field: "output_format", May: Drop | Set, Doc: "Of images: png, jpeg, webp.", Neutral: `"png"`,
		Images: at("output_format"), Chat: lost(ownFormat), Responses: at("tools[0].output_format"), GenerateContent: lost(ownFormat),
	},
	{
		Field: "background", May: Drop | Set, Neutral: `"auto"`,
		Images: at("background"), Chat: lost(noPlace), Responses: at("tools[0].background"), GenerateContent: lost(noPlace).implied(`"opaque"`, "its images are opaque"),
	},
	{
		Field: "output_compression", May: Drop | Set, Min: new(0.0), Max: new(100.0), Neutral: "100",
		Images: at("output_compression"), Chat: lost(noPlace), Responses: at("tools[0].output_compression"), GenerateContent: lost(noPlace),
	},
	{Field: "moderation", May: Drop | Set, Neutral: `"auto"`, Images: at("moderation"), Chat: lost(noPlace), Responses: at("tools[0].moderation"), GenerateContent: lost(noPlace)},
	{Field: "style", May: Drop | Set, Images: at("style"), Chat: lost(noPlace), Responses: lost(noPlace), GenerateContent: lost(noPlace)},
	{
		Field: "partial_images", Neutral: "0",
		Images: byHand("partial_images"), Chat: lost(noPreviews), Responses: byHand("tools[0].partial_images"), GenerateContent: lost(noPreviews),
	},
	{Field: "user", May: Drop | Set, Images: at("user"), Chat: byHand("user"), Responses: byHand("user"), GenerateContent: lostByHand(noPlace)},
	{
		Field: "response_format", May: Drop | Set, Doc: "Of images: b64_json or url.", Neutral: `"b64_json"`,
		Images: at("response_format"), Chat: asBytes, Responses: asBytes, GenerateContent: asBytes,
	},
	{Field: "native_fields"},
	{Field: "extra_json"},
}

// noMasks is the place of a mask where upstreams have none.
var noMasks = Place{Refused: "the upstream of this model has no masks; say in the prompt what to change"}

// Reasons for which settings of images are lost.
const (
	ownFormat  = "the model chooses the format of its images"
	noPreviews = "the upstream of this model has no previews"
)

// asBytes is the place of a wish for the address of an image where upstreams answer with the image itself.
var asBytes = Place{Refused: "the upstream of this model returns images, not addresses"}
