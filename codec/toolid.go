package codec

import (
	"encoding/base64"
	"fmt"
	"hash/fnv"
	"strings"
	"unicode/utf8"
)

const (
	syntheticToolID = "call_gw"
	encodedToolID   = "gwid_"
)

// SyntheticToolID names a tool call whose upstream gave it no identifier, for
// protocols that require one: the same for the same answer and place, streamed
// or not.
func SyntheticToolID(responseID string, candidate, part int32) string {
	h := fnv.New64a()
	fmt.Fprintf(h, "%s/%d/%d", responseID, candidate, part)
	return fmt.Sprintf("%s%016x", syntheticToolID, h.Sum64())
}

// IsSyntheticToolID reports whether the identifier is one of ours, which no
// upstream has ever seen.
func IsSyntheticToolID(id string) bool {
	return strings.HasPrefix(id, syntheticToolID) && len(id) == len(syntheticToolID)+16
}

// EncodeToolID spells an identifier in [a-zA-Z0-9_-], the only characters the
// messages protocol takes (case T18). DecodeToolID gives back the original.
func EncodeToolID(id string) string {
	if plainToolID(id) && !strings.HasPrefix(id, encodedToolID) {
		return id
	}
	return encodedToolID + base64.RawURLEncoding.EncodeToString([]byte(id))
}

// DecodeToolID is the inverse of EncodeToolID. What that cannot have made is left as it is: bytes
// that are no UTF-8 could not be sent in a message of the contract.
func DecodeToolID(id string) string {
	rest, ok := strings.CutPrefix(id, encodedToolID)
	if !ok {
		return id
	}
	raw, err := base64.RawURLEncoding.DecodeString(rest)
	if err != nil || !utf8.Valid(raw) {
		return id
	}
	return string(raw)
}

func plainToolID(id string) bool {
	for _, c := range []byte(id) {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '_', c == '-':
		default:
			return false
		}
	}
	return id != ""
}
