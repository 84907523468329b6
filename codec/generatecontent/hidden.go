package generatecontent

import (
	"encoding/base64"
	"strings"

	"github.com/genway/genway/codec"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

// Encrypted reasoning of another protocol's upstream travels as the signature of
// an empty text, which clients send back even when they drop thoughts. That is
// also where a chat upstream's own thought signature stands when there is no text
// (case R2), so that its encrypted reasoning has a mark behind the seal.
const encryptedMark = ".encrypted"

// hidden spells encrypted reasoning; the inverse is textPart's.
func (e *writer) hidden(s *genwayv1.Seal, path string) string {
	text := e.seal(s, path)
	if text == "" || s.Origin != genwayv1.Protocol_PROTOCOL_CHAT_COMPLETIONS {
		return text
	}
	return base64.StdEncoding.EncodeToString([]byte(codec.SealText(s, protocol, false) + encryptedMark))
}

// hiddenSeal reads a marked seal; nil for any other signature.
func hiddenSeal(signature string) *genwayv1.Seal {
	raw, err := base64.StdEncoding.DecodeString(signature)
	if err != nil {
		return nil
	}
	text, ok := strings.CutSuffix(string(raw), encryptedMark)
	if !ok {
		return nil
	}
	if seal := codec.ParseSeal(text, protocol); foreign(seal) {
		return seal
	}
	return nil
}

// encrypts names the protocols whose seals of an empty text are encrypted
// reasoning without a mark.
func encrypts(origin genwayv1.Protocol) bool {
	return origin == genwayv1.Protocol_PROTOCOL_MESSAGES || origin == genwayv1.Protocol_PROTOCOL_RESPONSES
}
