package member

import (
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// Text returns raw JSON for a string field of the contract, which must be UTF-8: invalid bytes, also
// those in names, become U+FFFD.
func Text(raw jsontext.Value) string { return strings.ToValidUTF8(string(raw), "\uFFFD") }
