// Package openapi has the OpenAPI 3.1 document of the edge: the paths of the five protocols with
// their bodies, answers, headers and errors. It is made of the contract's annotations, of the
// structs of the codecs and of document.yaml (make gen).
package openapi

import (
	_ "embed" // for the document
)

// Path is where the edge serves the document, without a key.
const Path = "/openapi.json"

// Document is the document, in JSON.
//
//go:embed openapi.json
var Document []byte
