package gateway

import "net/http"

// The metadata with the identifier that a caller gave its request, and that in which the
// core reports whose key a call had.
const (
	clientIDKey = "genway-client-request-id"
	keyKey      = "genway-key"
)

// mostClientID bounds that identifier, in bytes.
const mostClientID = 128

// clientIDHeaders are where callers put it: the first is OpenAI's and Codex's.
var clientIDHeaders = []string{"X-Client-Request-Id", "X-Request-Id"}

// clientID gives what the caller calls its request. It stands in logs and in a header, so
// one that is longer, or not of printable ASCII, is none.
func clientID(h http.Header) string {
	id := firstHeader(h, clientIDHeaders)
	if len(id) > mostClientID || !printable(id) {
		return ""
	}
	return id
}
