package gateway

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strconv"
	"sync"

	"github.com/genway/genway/gateway/openapi"
)

// documentTag names the edition of the document to caches.
var documentTag = sync.OnceValue(func() string {
	sum := sha256.Sum256(openapi.Document())
	return `"` + hex.EncodeToString(sum[:16]) + `"`
})

// document answers with the OpenAPI document of the edge.
func document(_ *Edge, w *answerWriter, r *http.Request) {
	h := w.Header()
	h.Set("ETag", documentTag())
	h.Set("Cache-Control", "no-cache")
	if r.Header.Get("If-None-Match") == documentTag() {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	h.Set("Content-Type", "application/json")
	h.Set("Content-Length", strconv.Itoa(len(openapi.Document())))
	_, _ = w.Write(openapi.Document())
}
