package generatecontent

import "github.com/go-json-experiment/json/jsontext"

// content is one turn.
type content struct {
	// Role is user or model; none means user.
	Role  string         `json:"role,omitzero"`
	Parts list[part]     `json:"parts"`
	Extra jsontext.Value `json:",embed"`
}

// part is one piece of a turn: one of its data members, and what is said about it.
type part struct {
	Text               *string           `json:"text,omitzero"`
	Thought            bool              `json:"thought,omitzero"`
	InlineData         *blob             `json:"inlineData,omitzero"`
	FileData           *fileData         `json:"fileData,omitzero"`
	FunctionCall       *functionCall     `json:"functionCall,omitzero"`
	FunctionResponse   *functionResponse `json:"functionResponse,omitzero"`
	AudioTranscription jsontext.Value    `json:"audioTranscription,omitzero"`
	// ThoughtSignature is base64 in whatever spelling; it is not decoded.
	ThoughtSignature string         `json:"thoughtSignature,omitzero"`
	Extra            jsontext.Value `json:",embed"`
	// raw, when set, is the whole part (an opaque one).
	raw jsontext.Value
}

type blob struct {
	MIMEType    string         `json:"mimeType,omitzero"`
	Data        base64Bytes    `json:"data"`
	DisplayName string         `json:"displayName,omitzero"`
	Extra       jsontext.Value `json:",embed"`
}

type fileData struct {
	MIMEType    string         `json:"mimeType,omitzero"`
	FileURI     string         `json:"fileUri"`
	DisplayName string         `json:"displayName,omitzero"`
	Extra       jsontext.Value `json:",embed"`
}

type functionCall struct {
	ID   string         `json:"id,omitzero"`
	Name string         `json:"name,omitzero"`
	Args jsontext.Value `json:"args,omitzero"`
	// ArgsText is ours: in an answer, the text of arguments that are no JSON
	// object (cut short by the token limit, case T12), beside empty args. Callers
	// that know nothing of it ignore it.
	ArgsText *string        `json:"argsText,omitzero"`
	Extra    jsontext.Value `json:",embed"`
}

type functionResponse struct {
	ID       string         `json:"id,omitzero"`
	Name     string         `json:"name,omitzero"`
	Response jsontext.Value `json:"response,omitzero"`
	// Parts are media beside the response.
	Parts list[part]     `json:"parts,omitempty"`
	Extra jsontext.Value `json:",embed"`
}
