// Package openapi has the OpenAPI 3.1 document of the edge: the paths of the six protocols with
// their bodies, answers, headers and errors. It is made of the contract's annotations, of the
// structs of the codecs and of document.yaml (make gen).
package openapi

import (
	"bytes"
	"compress/gzip"
	_ "embed" // for the document
	"io"
	"sync"
)

// Path is where the edge serves the document, without a key.
const Path = "/openapi.json"

// packed is openapi.json, which is 0.1 MB larger.
//
//go:embed openapi.json.gz
var packed []byte

// Document returns the document, in JSON. It is unpacked by the first call; nothing may change it.
var Document = sync.OnceValue(func() []byte {
	text, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		panic(err)
	}
	document, err := io.ReadAll(text)
	if err != nil {
		panic(err)
	}
	return document
})
