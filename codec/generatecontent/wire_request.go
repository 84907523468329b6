package generatecontent

import "github.com/go-json-experiment/json/jsontext"

// request is the body of generateContent and streamGenerateContent.
//
//wire:read,write,head
//settings:integer=integer,list=list[string]
type request struct {
	// Model repeats the model of the path, which counts; only counting bodies
	// have it written.
	Model             string            `json:"model"`
	Contents          list[content]     `json:"contents" wire:"main"`
	SystemInstruction *content          `json:"systemInstruction" wire:"heavy"`
	Tools             list[tool]        `json:"tools" wire:"heavy"`
	ToolConfig        *toolConfig       `json:"toolConfig"`
	GenerationConfig  *generationConfig `json:"generationConfig"`
	settings
	Extra jsontext.Value `json:",embed"`
}

// tool holds function declarations, or in Extra the tools the vendor runs, each
// under its own name.
type tool struct {
	FunctionDeclarations list[functionDeclaration] `json:"functionDeclarations"`
	Extra                jsontext.Value            `json:",embed"`
	raw                  jsontext.Value            `wire:"whole"`
}

type functionDeclaration struct {
	Name        string `json:"name" wire:"always"`
	Description string `json:"description"`
	// Parameters is a schema of the OpenAPI dialect.
	Parameters           jsontext.Value `json:"parameters"`
	ParametersJSONSchema jsontext.Value `json:"parametersJsonSchema"`
	Extra                jsontext.Value `json:",embed"`
}

type toolConfig struct {
	FunctionCallingConfig *functionCallingConfig `json:"functionCallingConfig"`
	Extra                 jsontext.Value         `json:",embed"`
}

type functionCallingConfig struct {
	Mode                 string         `json:"mode"`
	AllowedFunctionNames list[string]   `json:"allowedFunctionNames"`
	Extra                jsontext.Value `json:",embed"`
}

type generationConfig struct {
	generationConfigSettings
	ResponseMIMEType string `json:"responseMimeType"`
	// ResponseSchema is a schema of the OpenAPI dialect.
	ResponseSchema     jsontext.Value  `json:"responseSchema"`
	ResponseJSONSchema jsontext.Value  `json:"responseJsonSchema"`
	SpeechConfig       *speechConfig   `json:"speechConfig"`
	ThinkingConfig     *thinkingConfig `json:"thinkingConfig"`
	Extra              jsontext.Value  `json:",embed"`
}

type speechConfig struct {
	VoiceConfig *voiceConfig   `json:"voiceConfig"`
	Extra       jsontext.Value `json:",embed"`
}

type voiceConfig struct {
	PrebuiltVoiceConfig *prebuiltVoiceConfig `json:"prebuiltVoiceConfig"`
	Extra               jsontext.Value       `json:",embed"`
}

type prebuiltVoiceConfig struct {
	VoiceName string         `json:"voiceName"`
	Extra     jsontext.Value `json:",embed"`
}

type thinkingConfig struct {
	IncludeThoughts *bool          `json:"includeThoughts"`
	ThinkingBudget  *integer       `json:"thinkingBudget"`
	ThinkingLevel   string         `json:"thinkingLevel"`
	Extra           jsontext.Value `json:",embed"`
}
