package generatecontent

import "github.com/go-json-experiment/json/jsontext"

// content is one turn.
type content struct {
	// Role is user or model; none means user.
	Role  string         `json:"role"`
	Parts list[part]     `json:"parts" wire:"array"`
	Extra jsontext.Value `json:",embed"`
}

// part is one piece of a turn: one of its data members, and notes about it.
type part struct {
	Text               *string           `json:"text"`
	Thought            bool              `json:"thought"`
	InlineData         *blob             `json:"inlineData"`
	FileData           *fileData         `json:"fileData"`
	FunctionCall       *functionCall     `json:"functionCall"`
	FunctionResponse   *functionResponse `json:"functionResponse"`
	AudioTranscription jsontext.Value    `json:"audioTranscription"`
	// ThoughtSignature is base64 in whatever spelling; it is not decoded.
	ThoughtSignature string         `json:"thoughtSignature"`
	Extra            jsontext.Value `json:",embed"`
	// raw, when set, is the whole part (an opaque one).
	raw jsontext.Value `wire:"whole"`
}

type blob struct {
	MIMEType    string         `json:"mimeType"`
	Data        base64Bytes    `json:"data"`
	DisplayName string         `json:"displayName"`
	Extra       jsontext.Value `json:",embed"`
}

type fileData struct {
	MIMEType    string         `json:"mimeType"`
	FileURI     string         `json:"fileUri" wire:"always"`
	DisplayName string         `json:"displayName"`
	Extra       jsontext.Value `json:",embed"`
}

type functionCall struct {
	ID   string         `json:"id"`
	Name string         `json:"name"`
	Args jsontext.Value `json:"args"`
	// ArgsText is Genway's own: earlier versions gave the text of arguments that are
	// no object there, and callers may give it back.
	ArgsText *string        `json:"argsText" wire:"read"`
	Extra    jsontext.Value `json:",embed"`
}

type functionResponse struct {
	ID       string         `json:"id"`
	Name     string         `json:"name"`
	Response jsontext.Value `json:"response"`
	// Parts are media beside the response.
	Parts list[part]     `json:"parts"`
	Extra jsontext.Value `json:",embed"`
}
