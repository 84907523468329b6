package codec

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

// SummaryBreak separates the summaries and the text of one thinking part in protocols that
// show both in one text.
const SummaryBreak = "\n\n"

// ThinkingText returns the summaries of a thinking part and its text as one text.
func ThinkingText(t *genwayv1.Thinking) string {
	if len(t.GetSummary()) == 0 {
		return t.GetText()
	}
	pieces := make([]string, 0, len(t.Summary)+1)
	for _, s := range slices.Concat(t.Summary, []string{t.Text}) {
		if s != "" {
			pieces = append(pieces, s)
		}
	}
	return strings.Join(pieces, SummaryBreak)
}

// efforts pairs the words for how much to think with the token budget that
// stands for the same, ascending. The budgets are those the vendor of
// generateContent publishes for its OpenAI-compatible endpoint (1,024, 8,192,
// 24,576), extended at both ends.
var efforts = []struct {
	effort string
	budget int32
}{
	{"none", 0},
	{"minimal", 512},
	{"low", 1024},
	{"medium", 8192},
	{"high", 24576},
	{"xhigh", 32768},
	{"max", 65536},
}

// Efforts returns the words for how much to think, ascending, without the one for not at all.
func Efforts() []string {
	words := make([]string, 0, len(efforts)-1)
	for _, e := range efforts[1:] {
		words = append(words, e.effort)
	}
	return words
}

// Budget returns a token budget for a thinking configuration that has perhaps only
// an effort; ok is false when neither is known.
func Budget(t *genwayv1.ThinkingConfig) (tokens int32, ok bool) {
	if t.GetBudgetTokens() != 0 || t != nil && t.BudgetTokens != nil {
		return t.GetBudgetTokens(), true
	}
	for _, e := range efforts {
		if e.effort == t.GetEffort() {
			return e.budget, true
		}
	}
	if t.GetMode() == genwayv1.ThinkingConfig_MODE_DISABLED {
		return 0, true
	}
	return 0, false
}

// Effort returns an effort for a thinking configuration that has perhaps only a
// budget; ok is false when neither is known, or the model is to decide.
func Effort(t *genwayv1.ThinkingConfig) (effort string, ok bool) {
	if t.GetEffort() != "" {
		return t.GetEffort(), true
	}
	if t != nil && t.BudgetTokens != nil {
		budget := t.GetBudgetTokens()
		if budget < 0 {
			return "", false
		}
		word := "none"
		for _, e := range efforts[1:] {
			if budget > 0 && (word == "none" || budget >= e.budget) {
				word = e.effort
			}
		}
		return word, true
	}
	if t.GetMode() == genwayv1.ThinkingConfig_MODE_DISABLED {
		return "none", true
	}
	return "", false
}

// A seal is a signature or encrypted reasoning, of which only the upstream that made it can
// read the value. Callers of another protocol must carry it from one turn to the next. In a
// member of another protocol it is therefore written as a signature envelope: a prefix that
// names the protocol of its origin, and the value. The prefix names the upstream that may get the
// value back, byte for byte. In a member of its own protocol a seal has no envelope, unless its value is not UTF-8,
// as from a core whose vendor has bytes.
const sealPrefix = "genway."

// sealNames are the names of origins in prefixes, which callers keep and bring back: they
// never change. The origin of any other protocol is its number in the contract.
var sealNames = map[genwayv1.Protocol]string{
	genwayv1.Protocol_PROTOCOL_CHAT_COMPLETIONS: "chat",
	genwayv1.Protocol_PROTOCOL_RESPONSES:        "responses",
	genwayv1.Protocol_PROTOCOL_MESSAGES:         "messages",
	genwayv1.Protocol_PROTOCOL_GENERATE_CONTENT: "generatecontent",
	genwayv1.Protocol_PROTOCOL_INTERACTIONS:     "interactions",
}

// SealText writes a seal for a member of the given protocol. A seal without a protocol is that protocol's. The envelope of a
// foreign seal, and of one whose value is not UTF-8, is URL-safe base64 without padding after its prefix. Where standard is true, because the
// member takes standard base64 only (generateContent's thoughtSignature), the whole envelope is
// encoded once more.
func SealText(s *genwayv1.Seal, protocol genwayv1.Protocol, standard bool) string {
	if s == nil {
		return ""
	}
	origin := cmp.Or(s.Protocol, protocol)
	if origin == protocol && utf8.Valid(s.Value) {
		return string(s.Value)
	}
	name, ok := sealNames[origin]
	if !ok {
		name = strconv.Itoa(int(origin))
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
	return &genwayv1.Seal{Protocol: protocol, Value: []byte(text)}
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
			return &genwayv1.Seal{Protocol: origin, Value: raw}
		}
	}
	if number, err := strconv.ParseInt(name, 10, 32); err == nil && number > 0 && strconv.FormatInt(number, 10) == name && sealNames[genwayv1.Protocol(number)] == "" {
		return &genwayv1.Seal{Protocol: genwayv1.Protocol(number), Value: raw}
	}
	return nil
}

// AccountPrefix begins the value of a seal that names the account which made it: the account's identifier
// follows, then a dot and the vendor's text. It is within a seal, so it goes with it into the envelope of any
// protocol.
const AccountPrefix = "genway@"

// maxAccount bounds the identifier of an account, in bytes.
const maxAccount = 16

// CutAccount returns the account that a value begins with, and the value without it; "" and the value itself for none.
func CutAccount(value []byte) (account string, rest []byte) {
	if len(value) <= len(AccountPrefix) || string(value[:len(AccountPrefix)]) != AccountPrefix {
		return "", value
	}
	named := value[len(AccountPrefix):]
	end := bytes.IndexByte(named[:min(len(named), maxAccount+1)], '.')
	if end <= 0 || end+1 == len(named) {
		return "", value
	}
	return string(named[:end]), named[end+1:]
}

// LastAccount returns the account of a seal in a body of any protocol, which need not be decoded: of the last one
// in the spelling that the body has; "" for none. The spellings are the value itself, an envelope, and an envelope
// in standard base64, see SealText. Only the second may have a word before it in its string.
func LastAccount(body []byte) (account string) {
	const (
		value    = len(AccountPrefix) + maxAccount + 2
		envelope = len(sealPrefix) + len("generatecontent.") + (value+2)/3*4
	)
	for _, spelling := range []struct {
		begins  string
		account func(text []byte) string
	}{
		{AccountPrefix, func(text []byte) string {
			account, _ := CutAccount(text)
			return account
		}},
		{sealPrefix, func(text []byte) string {
			_, text, _ = bytes.Cut(text[len(sealPrefix):], []byte("."))
			account, _ := CutAccount(decoded(text, value, base64.RawURLEncoding))
			return account
		}},
		{base64SealPrefix, func(text []byte) string { return LastAccount(decoded(text, envelope, base64.RawStdEncoding)) }},
	} {
		begins := []byte(spelling.begins)
		for at := 0; ; at += len(begins) {
			i := bytes.Index(body[at:], begins)
			if i < 0 {
				break
			}
			at += i
			if spelling.begins != sealPrefix && at > 0 && (body[at-1] != '"' || at > 1 && body[at-2] == '\\') {
				continue // it is within a text
			}
			if found := spelling.account(body[at:min(len(body), at+4*envelope)]); found != "" {
				account = found
			}
		}
		if account != "" {
			break
		}
	}
	return account
}

// decoded returns what a text in base64 begins with, about size bytes. The text ends where its alphabet does.
func decoded(text []byte, size int, encoding *base64.Encoding) []byte {
	end := bytes.IndexFunc(text, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '-' && r != '_' && r != '+' && r != '/'
	})
	if end < 0 {
		end = len(text)
	}
	raw, _ := encoding.AppendDecode(nil, text[:min(end, (size+2)/3*4)])
	return raw
}
