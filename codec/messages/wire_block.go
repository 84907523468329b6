package messages

import "github.com/go-json-experiment/json/jsontext"

// The blocks with canonical parts; requests and answers share them. A block of any
// other type is opaque.

//wire:read
type textBlock struct {
	Type         string           `json:"type"`
	Text         string           `json:"text"`
	Citations    []jsontext.Value `json:"citations"`
	CacheControl *cacheControl    `json:"cache_control"`
	Extra        jsontext.Value   `json:",embed"`
}

// mediaBlock is an image or a document.
//
//wire:read
type mediaBlock struct {
	Type         string         `json:"type"`
	Source       *mediaSource   `json:"source"`
	Title        string         `json:"title"`
	CacheControl *cacheControl  `json:"cache_control"`
	Extra        jsontext.Value `json:",embed"`
}

// mediaSource is any of Base64ImageSource, Base64PDFSource, PlainTextSource,
// URLImageSource, URLPDFSource, FileImageSource and FileDocumentSource.
type mediaSource struct {
	Type      string         `json:"type"`
	MediaType string         `json:"media_type"`
	Data      string         `json:"data"`
	URL       string         `json:"url"`
	FileID    string         `json:"file_id"`
	Extra     jsontext.Value `json:",embed"`
}

//wire:read
type thinkingBlock struct {
	Type      string         `json:"type"`
	Thinking  string         `json:"thinking"`
	Signature string         `json:"signature"`
	Extra     jsontext.Value `json:",embed"`
}

//wire:read
type redactedBlock struct {
	Type  string         `json:"type"`
	Data  string         `json:"data"`
	Extra jsontext.Value `json:",embed"`
}

//wire:read
type toolUseBlock struct {
	Type         string         `json:"type"`
	ID           string         `json:"id"`
	Name         string         `json:"name"`
	Input        jsontext.Value `json:"input"`
	Caller       jsontext.Value `json:"caller"`
	CacheControl *cacheControl  `json:"cache_control"`
	// PartialJSON is Genway's own: earlier versions gave the text of arguments that are
	// no object there, and callers may give it back.
	PartialJSON string         `json:"partial_json"`
	Extra       jsontext.Value `json:",embed"`
}

//wire:read
type toolResultBlock struct {
	Type         string         `json:"type"`
	ToolUseID    string         `json:"tool_use_id"`
	Content      content        `json:"content"`
	IsError      bool           `json:"is_error"`
	CacheControl *cacheControl  `json:"cache_control"`
	Extra        jsontext.Value `json:",embed"`
}

// citation is any TextCitationUnion, as far as canonical citations go.
//
//wire:read
type citation struct {
	Type          string `json:"type"`
	CitedText     string `json:"cited_text"`
	Title         string `json:"title"`
	DocumentTitle string `json:"document_title"`
	URL           string `json:"url"`
	Source        string `json:"source"`
	FileID        string `json:"file_id"`
	DocumentIndex *int32 `json:"document_index"`
}
