package codec

import (
	"encoding/base64"
	"strings"

	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

// Signatures and encrypted reasoning mean something only to the upstream that
// made them, yet a caller of another protocol must carry them from one turn to
// the next. A seal that leaves in a foreign protocol's signature member therefore
// gets a prefix that names its origin; when it comes back the prefix tells which
// upstream may have it, and the value is again what the upstream wrote, byte for
// byte. In its own protocol a seal has no prefix.
const sealPrefix = "genway."

var sealNames = map[genwayv1.Protocol]string{
	genwayv1.Protocol_PROTOCOL_CHAT_COMPLETIONS: "chat",
	genwayv1.Protocol_PROTOCOL_RESPONSES:        "responses",
	genwayv1.Protocol_PROTOCOL_MESSAGES:         "messages",
	genwayv1.Protocol_PROTOCOL_GENERATE_CONTENT: "generatecontent",
}

// SealText spells a seal for a member of the given protocol. A foreign seal
// becomes URL-safe text without padding behind its prefix; standard reports that
// the member takes standard base64 only (generateContent's thoughtSignature), in
// which case the prefixed text is encoded once more.
func SealText(s *genwayv1.Seal, protocol genwayv1.Protocol, standard bool) string {
	if s == nil {
		return ""
	}
	name, ok := sealNames[s.Origin]
	if s.Origin == protocol || !ok {
		return string(s.Value)
	}
	text := sealPrefix + name + "." + base64.RawURLEncoding.EncodeToString(s.Value)
	if standard {
		return base64.StdEncoding.EncodeToString([]byte(text))
	}
	return text
}

// ParseSeal reads a seal from a member of the given protocol; nil for "".
func ParseSeal(text string, protocol genwayv1.Protocol) *genwayv1.Seal {
	if text == "" {
		return nil
	}
	if s := foreignSeal(text); s != nil {
		return s
	}
	if strings.HasPrefix(text, base64SealPrefix) {
		if raw, err := base64.StdEncoding.DecodeString(text); err == nil {
			if s := foreignSeal(string(raw)); s != nil {
				return s
			}
		}
	}
	return &genwayv1.Seal{Origin: protocol, Value: []byte(text)}
}

// base64SealPrefix is how base64 of sealPrefix begins, up to the last whole
// group of three bytes.
var base64SealPrefix = base64.StdEncoding.EncodeToString([]byte(sealPrefix[:6]))

// MaySeal reports whether a string may be a seal that has a prefix, by how it begins.
// One that does not is none.
func MaySeal(text []byte) bool {
	const first = len(sealPrefix)
	if len(text) <= first {
		return false
	}
	begins := string(text[:first])
	return begins == sealPrefix || begins == base64SealPrefix[:first]
}

func foreignSeal(text string) *genwayv1.Seal {
	rest, ok := strings.CutPrefix(text, sealPrefix)
	if !ok {
		return nil
	}
	name, value, ok := strings.Cut(rest, ".")
	if !ok {
		return nil
	}
	raw, err := base64.RawURLEncoding.DecodeString(value)
	if err != nil {
		return nil
	}
	for origin, n := range sealNames {
		if n == name {
			return &genwayv1.Seal{Origin: origin, Value: raw}
		}
	}
	return nil
}
