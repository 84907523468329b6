package codec

import (
	"bytes"
	"encoding/base64"
	"strconv"
	"strings"

	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

// A seal is a signature or encrypted reasoning, of which only the upstream that made it can
// read the value. Callers of another protocol must carry it from one turn to the next. In a
// member of another protocol it is therefore written as a signature envelope: a prefix that
// names the protocol of its origin, and the value. The prefix names the upstream that may get the
// value back, byte for byte. In a member of its own protocol a seal has no envelope.
const sealPrefix = "genway."

// sealNames are the names of origins in prefixes, which callers keep and bring back: they
// never change. The origin of any other protocol is its number in the contract.
var sealNames = map[genwayv1.Protocol]string{
	genwayv1.Protocol_PROTOCOL_CHAT_COMPLETIONS: "chat",
	genwayv1.Protocol_PROTOCOL_RESPONSES:        "responses",
	genwayv1.Protocol_PROTOCOL_MESSAGES:         "messages",
	genwayv1.Protocol_PROTOCOL_GENERATE_CONTENT: "generatecontent",
}

// SealText writes a seal for a member of the given protocol. The envelope of a foreign seal
// is URL-safe base64 without padding behind its prefix. Where standard is true, because the
// member takes standard base64 only (generateContent's thoughtSignature), the whole envelope is
// encoded once more.
func SealText(s *genwayv1.Seal, protocol genwayv1.Protocol, standard bool) string {
	if s == nil {
		return ""
	}
	if s.Origin == protocol || s.Origin == genwayv1.Protocol_PROTOCOL_UNSPECIFIED {
		return string(s.Value)
	}
	name, ok := sealNames[s.Origin]
	if !ok {
		name = strconv.Itoa(int(s.Origin))
	}
	text := sealPrefix + name + "." + base64.RawURLEncoding.EncodeToString(s.Value)
	if standard {
		return base64.StdEncoding.EncodeToString([]byte(text))
	}
	return text
}

// ParseSeal reads a seal from a member of the given protocol, in an envelope or without. It
// gives nil for "".
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

// MaySeal reports whether a string may be a signature envelope, by its first bytes. False is
// certain.
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
	if number, err := strconv.ParseInt(name, 10, 32); err == nil && number > 0 && strconv.FormatInt(number, 10) == name && sealNames[genwayv1.Protocol(number)] == "" {
		return &genwayv1.Seal{Origin: genwayv1.Protocol(number), Value: raw}
	}
	return nil
}

// AccountPrefix begins the text of a responses upstream's encrypted value that names the account which made it: the
// account's identifier of AccountLength follows, then a dot and the vendor's text. It is within a seal, so it goes
// with it into the envelope of any protocol.
const (
	AccountPrefix = "genway@"
	AccountLength = 16
)

// CutAccount returns the account that a text begins with, and the text without it; "" and the text itself for none.
func CutAccount(text []byte) (account string, rest []byte) {
	const end = len(AccountPrefix) + AccountLength
	if len(text) <= end || string(text[:len(AccountPrefix)]) != AccountPrefix || text[end] != '.' {
		return "", text
	}
	return string(text[len(AccountPrefix):end]), text[end+1:]
}

// accountForms are how a value with an account is spelled in a body: as it is; in the envelope; and in that of
// members that take standard base64 only, see SealText. encoded is how much of the text has to be decoded.
var accountForms = []struct {
	begins   string
	keeps    bool // begins belongs to what is decoded
	encoded  int
	encoding *base64.Encoding
}{
	{begins: AccountPrefix, keeps: true},
	{begins: sealPrefix + "responses.", encoded: 32, encoding: base64.RawURLEncoding},
	{begins: base64.StdEncoding.EncodeToString([]byte(sealPrefix + "response")), keeps: true, encoded: 68, encoding: base64.StdEncoding},
}

// LastAccount returns the account of the last encrypted value in a body of any protocol, which need not be decoded;
// "" for none.
func LastAccount(body []byte) (account string) {
	for _, form := range accountForms {
		begins := []byte(form.begins)
		for rest := body; ; {
			i := bytes.Index(rest, begins)
			if i < 0 {
				break
			}
			text := rest[i:]
			rest = text[len(begins):]
			if !form.keeps {
				text = rest
			}
			found := ""
			switch {
			case form.encoding == nil:
				found, _ = CutAccount(text)
			case len(text) >= form.encoded:
				if raw, err := form.encoding.AppendDecode(nil, text[:form.encoded]); err == nil && form.keeps {
					found = LastAccount(raw)
				} else if err == nil {
					found, _ = CutAccount(append(raw, ' '))
				}
			}
			if found != "" {
				account = found
			}
		}
		if account != "" {
			break
		}
	}
	return account
}
