package sandbox

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"fmt"

	"github.com/genway/genway/codec/fault"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

// A seal of the sandbox is 40 characters of standard base64: a mark, a digest of what
// it was put on, and a checksum of both. It keeps no secret and proves no origin; it
// shows that a client sends back what it received, byte for byte.
const (
	sealMark   = "gwsbx1" // six bytes: eight characters of base64, whatever follows
	digestSize = 16
	checkSize  = 8
)

var sealBegins = base64.StdEncoding.EncodeToString([]byte(sealMark))

// seal makes the seal of a content. Its origin is the protocol the caller speaks, or
// generateContent for a direct caller: the sandbox has no protocol of its own, and
// accepts its seals under any origin.
func seal(req *genwayv1.GenerateTextRequest, content string) *genwayv1.Seal {
	origin := req.GetWire().GetProtocol()
	if origin == genwayv1.Protocol_PROTOCOL_UNSPECIFIED {
		origin = genwayv1.Protocol_PROTOCOL_GENERATE_CONTENT
	}
	digest := sha256.Sum256([]byte(content))
	raw := append([]byte(sealMark), digest[:digestSize]...)
	return &genwayv1.Seal{Protocol: origin, Value: []byte(base64.StdEncoding.EncodeToString(append(raw, checksum(raw)...)))}
}

func checksum(raw []byte) []byte {
	sum := sha256.Sum256(raw)
	return sum[:checkSize]
}

// seals counts the seals that a conversation sends back.
type seals struct{ own, foreign int }

// check verifies every seal. One that begins like a seal of the sandbox but is not
// whole is refused, as the vendors refuse theirs.
func (s *seals) check(messages []*genwayv1.Message) error {
	for i, m := range messages {
		for j, p := range m.GetParts() {
			where := fmt.Sprintf("messages[%d].parts[%d].", i, j)
			for _, x := range []struct {
				seal   *genwayv1.Seal
				member string
			}{
				{p.GetThoughtSignature(), "thought_signature"},
				{p.GetThinking().GetSignature(), "thinking.signature"},
				{p.GetThinking().GetEncryptedContent(), "thinking.encrypted_content"},
			} {
				if err := s.one(x.seal, where+x.member); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func (s *seals) one(seal *genwayv1.Seal, param string) error {
	if seal == nil {
		return nil
	}
	value := string(seal.GetValue())
	if len(value) < len(sealBegins) || value[:len(sealBegins)] != sealBegins {
		s.foreign++
		return nil
	}
	raw, err := base64.StdEncoding.DecodeString(value)
	body := len(sealMark) + digestSize
	if err != nil || len(raw) != body+checkSize || !bytes.Equal(raw[body:], checksum(raw[:body])) {
		return fault.Invalid(param, "the signature is damaged: give it back exactly as it was received")
	}
	s.own++
	return nil
}
