package responses

import "github.com/go-json-experiment/json/jsontext"

// wireRequest is the body of POST /v1/responses (SDK: ResponseNewParams). Its
// input is required unless another member brings the conversation.
//
//wire:read,head
//settings:pieces
type wireRequest struct {
	Model             string           `json:"model"`
	Input             textOrList       `json:"input" wire:"main"`
	Instructions      string           `json:"instructions" wire:"heavy"`
	ParallelToolCalls *bool            `json:"parallel_tool_calls"`
	Tools             []jsontext.Value `json:"tools" wire:"heavy"`
	ToolChoice        jsontext.Value   `json:"tool_choice"`
	Text              wireText         `json:"text"`
	Reasoning         wireReasoning    `json:"reasoning"`
	Include           []string         `json:"include"`
	Stream            bool             `json:"stream"`
	settings
	Extra jsontext.Value `json:",embed"`
}

// wireText is ResponseTextConfig.
type wireText struct {
	Format jsontext.Value `json:"format"`
	textSettings
	Extra jsontext.Value `json:",embed"`
}

// wireFormat is ResponseFormatTextConfigUnion.
//
//wire:read
type wireFormat struct {
	Type        string         `json:"type"`
	Name        string         `json:"name"`
	Description string         `json:"description"`
	Schema      jsontext.Value `json:"schema"`
	Strict      *bool          `json:"strict"`
	Extra       jsontext.Value `json:",embed"`
}

// wireReasoning is shared.Reasoning.
type wireReasoning struct {
	Effort  string         `json:"effort"`
	Summary string         `json:"summary"`
	Extra   jsontext.Value `json:",embed"`
}

// wireTool is FunctionToolParam or CustomToolParam.
//
//wire:read
type wireTool struct {
	Type        string         `json:"type"`
	Name        string         `json:"name"`
	Description string         `json:"description"`
	Parameters  jsontext.Value `json:"parameters"`
	Strict      *bool          `json:"strict"`
	Format      jsontext.Value `json:"format"`
	Extra       jsontext.Value `json:",embed"`
}

// wireNamespace is NamespaceToolParam.
//
//wire:read
type wireNamespace struct {
	Type  string           `json:"type"`
	Name  string           `json:"name"`
	Tools []jsontext.Value `json:"tools"`
	Extra jsontext.Value   `json:",embed"`
}

// wireToolChoice is any object form of tool_choice.
//
//wire:read
type wireToolChoice struct {
	Type      string           `json:"type"`
	Namespace string           `json:"namespace"`
	Name      string           `json:"name"`
	Mode      string           `json:"mode"`
	Tools     []jsontext.Value `json:"tools"`
	Extra     jsontext.Value   `json:",embed"`
}
