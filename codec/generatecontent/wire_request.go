package generatecontent

import "github.com/go-json-experiment/json/jsontext"

// request is the body of generateContent and streamGenerateContent.
type request struct {
	// Model repeats the model of the path, which counts; only counting bodies
	// have it written.
	Model             string            `json:"model,omitzero"`
	Contents          list[content]     `json:"contents,omitempty"`
	SystemInstruction *content          `json:"systemInstruction,omitzero"`
	Tools             list[tool]        `json:"tools,omitempty"`
	ToolConfig        *toolConfig       `json:"toolConfig,omitzero"`
	GenerationConfig  *generationConfig `json:"generationConfig,omitzero"`
	ServiceTier       string            `json:"serviceTier,omitzero"`
	Store             *bool             `json:"store,omitzero"`
	Extra             jsontext.Value    `json:",embed"`
}

// tool holds function declarations, or in Extra the tools the vendor runs, each
// under its own name.
type tool struct {
	FunctionDeclarations list[functionDeclaration] `json:"functionDeclarations,omitempty"`
	Extra                jsontext.Value            `json:",embed"`
	raw                  jsontext.Value
}

type functionDeclaration struct {
	Name        string `json:"name"`
	Description string `json:"description,omitzero"`
	// Parameters is a schema of the OpenAPI dialect.
	Parameters           jsontext.Value `json:"parameters,omitzero"`
	ParametersJSONSchema jsontext.Value `json:"parametersJsonSchema,omitzero"`
	Extra                jsontext.Value `json:",embed"`
}

type toolConfig struct {
	FunctionCallingConfig *functionCallingConfig `json:"functionCallingConfig,omitzero"`
	Extra                 jsontext.Value         `json:",embed"`
}

type functionCallingConfig struct {
	Mode                 string         `json:"mode,omitzero"`
	AllowedFunctionNames list[string]   `json:"allowedFunctionNames,omitempty"`
	Extra                jsontext.Value `json:",embed"`
}

type generationConfig struct {
	Temperature      *float64     `json:"temperature,omitzero"`
	TopP             *float64     `json:"topP,omitzero"`
	TopK             *integer     `json:"topK,omitzero"`
	MaxOutputTokens  *integer     `json:"maxOutputTokens,omitzero"`
	CandidateCount   *integer     `json:"candidateCount,omitzero"`
	Seed             *integer     `json:"seed,omitzero"`
	StopSequences    list[string] `json:"stopSequences,omitempty"`
	PresencePenalty  *float64     `json:"presencePenalty,omitzero"`
	FrequencyPenalty *float64     `json:"frequencyPenalty,omitzero"`
	ResponseLogprobs *bool        `json:"responseLogprobs,omitzero"`
	Logprobs         *integer     `json:"logprobs,omitzero"`
	ResponseMIMEType string       `json:"responseMimeType,omitzero"`
	// ResponseSchema is a schema of the OpenAPI dialect.
	ResponseSchema     jsontext.Value  `json:"responseSchema,omitzero"`
	ResponseJSONSchema jsontext.Value  `json:"responseJsonSchema,omitzero"`
	ResponseModalities list[string]    `json:"responseModalities,omitempty"`
	SpeechConfig       *speechConfig   `json:"speechConfig,omitzero"`
	ThinkingConfig     *thinkingConfig `json:"thinkingConfig,omitzero"`
	Extra              jsontext.Value  `json:",embed"`
}

type speechConfig struct {
	VoiceConfig *voiceConfig   `json:"voiceConfig,omitzero"`
	Extra       jsontext.Value `json:",embed"`
}

type voiceConfig struct {
	PrebuiltVoiceConfig *prebuiltVoiceConfig `json:"prebuiltVoiceConfig,omitzero"`
	Extra               jsontext.Value       `json:",embed"`
}

type prebuiltVoiceConfig struct {
	VoiceName string         `json:"voiceName,omitzero"`
	Extra     jsontext.Value `json:",embed"`
}

type thinkingConfig struct {
	IncludeThoughts *bool          `json:"includeThoughts,omitzero"`
	ThinkingBudget  *integer       `json:"thinkingBudget,omitzero"`
	ThinkingLevel   string         `json:"thinkingLevel,omitzero"`
	Extra           jsontext.Value `json:",embed"`
}
