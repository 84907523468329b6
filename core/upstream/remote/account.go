package remote

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/codec/member"
	"github.com/genway/genway/core/call"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

// encryptedMember is the member of items of responses that only the account can read that made it: another
// answers invalid_encrypted_content, whose request the caller cannot mend.
const encryptedMember = "encrypted_content"

// Account identifies who can read the signatures and the encrypted reasoning of the upstream's answers: by its name,
// and by 8 bits of a hash of its address and credential, so that a new key is another account. Callers see it, and
// more bits would confirm a guess at a weak key. It is empty for a protocol that binds them to no account.
func (u *Upstream) Account() string {
	if account := u.account.Load(); account != nil {
		return *account
	}
	return ""
}

// setAccount follows the key.
func (u *Upstream) setAccount(apiKey string) {
	if !u.protocol.Upstream.BindsSeals {
		return
	}
	name := sha256.Sum256([]byte(u.config.Name))
	credential := sha256.Sum256(fmt.Appendf(nil, "%q %q %q %q %q %q", u.config.Name, u.config.BaseURL, u.config.Path, u.config.Query, apiKey, u.config.Headers))
	account := hex.EncodeToString(append(name[:4], credential[0]))
	u.account.Store(&account)
}

// named puts the account in front of the values of a part's seals which the upstream has made.
func (u *Upstream) named(p *genwayv1.Part) {
	u.name(p.GetThoughtSignature())
	u.name(p.GetThinking().GetSignature())
	u.name(p.GetThinking().GetEncryptedContent())
}

func (u *Upstream) name(s *genwayv1.Seal) {
	if len(s.GetValue()) > 0 && s.GetProtocol() == u.config.Protocol {
		s.Value = append([]byte(codec.AccountPrefix+u.Account()+"."), s.Value...)
	}
}

// namesAccount reports whether the seals of an answer that is translated are to name their account. Those of responses
// do already, where the bytes are read: see accountReader.
func (u *Upstream) namesAccount(record *call.Record) bool {
	return record.SeveralAccounts && u.Account() != "" && !u.protocol.Upstream.NamesAccounts
}

// noteTransformations notes what an answer, or an event of one, says of the reasoning of the request that the vendor has
// not read: BetaInputTransformationUnion of messages, Response.InputTransformation of responses. Other entries may follow.
// The last event that says so counts.
func noteTransformations(record *call.Record, answer []byte) {
	if !bytes.Contains(answer, transformations) {
		return
	}
	name := string(transformations[1 : len(transformations)-1])
	list := member.Value(answer, name)
	for _, inner := range []string{"message", "response"} {
		if list == nil {
			list = member.Value(member.Value(answer, inner), name)
		}
	}
	if len(list) == 0 || list[0] != '[' {
		return
	}
	maps.DeleteFunc(record.Mismatches, func(reason string, _ int64) bool { return reason != mismatchedAccount })
	member.Edit(list, func(depth int, _, entry []byte) member.Change {
		if depth > 1 || len(entry) == 0 || entry[0] != '{' {
			return member.Change{}
		}
		reason := strings.TrimSuffix(member.Raw(member.Value(entry, "reason")).String(), "_mismatch")
		switch reason = strings.TrimSuffix(reason, "_binding"); {
		case member.Raw(member.Value(entry, "type")).String() == "thinking_mismatch_allowed":
			reason = "allowed"
		case !slices.Contains([]string{"organization", "end_user", "model", "prefix", "turn_boundary"}, reason):
			reason = "other"
		}
		record.Mismatched(reason)
		return member.Change{}
	})
}

var transformations = []byte(`"input_transformations"`)

// mismatchedAccount is the reason of what is left out for another account.
const mismatchedAccount = "account"

// noteLeftOut notes what ownSeals and ownEncrypted have left out.
func noteLeftOut(record *call.Record, losses []*genwayv1.Loss) {
	for _, loss := range losses {
		if loss.GetReason() == otherAccount {
			record.Mismatched(mismatchedAccount)
		}
	}
}

// noteRefusal notes a failure for reasoning that the upstream cannot read, by the words of OpenAI, Anthropic ("Invalid
// `signature` in `thinking` block") and Google ("Thought signature is not valid", "Corrupted thought signature").
func noteRefusal(record *call.Record, f *fault.Error) {
	text := strings.ToLower(f.Message)
	if f.NativeCode == "invalid_encrypted_content" || strings.Contains(text, "thought signature") ||
		strings.Contains(text, "`signature`") && strings.Contains(text, "`thinking`") {
		record.Mismatched("refused")
	}
}

// ownSeals returns the messages with seals as the upstream has made them. One of another account is left out and
// named, and one that names no account goes as it is. For responses see ownEncrypted.
func (u *Upstream) ownSeals(messages []*genwayv1.Message, losses *codec.Losses) []*genwayv1.Message {
	if u.Account() == "" || u.protocol.Upstream.NamesAccounts {
		return messages
	}
	messages, _ = codec.RewrittenParts(messages, func(message, i int, p *genwayv1.Part) *genwayv1.Part {
		path := member.Within(member.Index("messages", message), ".parts", i)
		own, changed := codec.Shared(p), false
		t := p.GetThinking()
		if t != nil {
			t = codec.Shared(t)
			changed = u.ownSeal(&t.Signature, path+".thinking.signature", losses)
			changed = u.ownSeal(&t.EncryptedContent, path+".thinking.encrypted_content", losses) || changed
			own.Kind = &genwayv1.Part_Thinking{Thinking: t}
		}
		if u.ownSeal(&own.ThoughtSignature, path+".thought_signature", losses) {
			changed = true
			// Of any model: fit.Signed, which comes after, knows only the models that surely demand one (case R10).
			if own.ThoughtSignature == nil && p.GetToolCall() != nil {
				own.ThoughtSignature = u.protocol.Upstream.Fit.Signatures.Unsigned()
			}
		}
		if !changed {
			return nil
		}
		return own
	})
	return messages
}

func (u *Upstream) ownSeal(s **genwayv1.Seal, path string, losses *codec.Losses) (changed bool) {
	made, value := codec.CutAccount((*s).GetValue())
	switch {
	case made == "" || (*s).GetProtocol() != u.config.Protocol:
		return false
	case made == u.Account():
		*s = &genwayv1.Seal{Protocol: u.config.Protocol, Value: value}
	default:
		losses.Add(path, otherAccount)
		*s = nil
	}
	return true
}

const otherAccount = "another account made it, and only that one can read it"

// ownEncrypted returns a body with its encrypted values as the upstream made them. Items of another account are left
// out and named; a value that names no account goes as it is.
func (u *Upstream) ownEncrypted(body []byte, losses *codec.Losses) []byte {
	account := u.Account()
	if account == "" || !u.protocol.Upstream.NamesAccounts || !bytes.Contains(body, []byte(codec.AccountPrefix)) {
		return body
	}
	return member.Edit(body, func(depth int, name, value []byte) member.Change {
		if depth > 1 || string(name) != "input" {
			return member.Change{With: value}
		}
		n := -1
		return member.Change{With: member.Edit(value, func(depth int, _, value []byte) member.Change {
			if depth > 1 {
				return member.Change{With: value}
			}
			n++
			foreign := false
			own := member.Edit(value, func(_ int, name, value []byte) member.Change {
				if string(name) != encryptedMember || len(value) == 0 || value[0] != '"' {
					return member.Change{}
				}
				made, text := codec.CutAccount(value[1:])
				if made == "" {
					return member.Change{With: value}
				}
				foreign = foreign || made != account
				return member.Change{With: append([]byte{'"'}, text...)}
			})
			if foreign {
				losses.Add(fmt.Sprintf("input[%d].%s", n, encryptedMember), otherAccount)
			}
			return member.Change{With: own, Drop: foreign}
		})}
	})
}

// encryptedOpening is what comes before the text of an encrypted value, but for white space.
const encryptedOpening = `"` + encryptedMember + `":"`

// accountReader reads an answer, whose encrypted values get the name of the account in front. The text before one
// cannot be anything else in JSON than the name of the member.
type accountReader struct {
	below   io.Reader
	mark    []byte
	matched int    // how much of encryptedOpening has come; all of it is waiting for the first byte of the text
	escaped bool   // the byte before is a backslash
	rest    []byte // read and not yet taken
	buffer  []byte
	err     error
}

func (r *accountReader) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	for len(r.rest) == 0 {
		if r.err != nil {
			return 0, r.err
		}
		var n int
		n, r.err = r.below.Read(p)
		if !r.finds(p[:n]) {
			if n > 0 || r.err != nil {
				return n, r.err
			}
			continue
		}
	}
	n := copy(p, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}

// finds copies a piece with its marks to rest; it reports false for a piece without any.
func (r *accountReader) finds(piece []byte) bool {
	copied := 0
	r.rest = r.rest[:0]
	out := r.buffer[:0]
	for i, b := range piece {
		if r.matched == 0 && b != '"' {
			r.escaped = b == '\\'
			continue
		}
		switch {
		case r.matched == len(encryptedOpening):
			r.matched = 0
			if b != '"' {
				out = append(append(out, piece[copied:i]...), r.mark...)
				copied = i
			}
		case b == encryptedOpening[r.matched] && (r.matched > 0 || !r.escaped):
			r.matched++
		case r.matched > len(encryptedMember)+1 && (b == ' ' || b == '\t' || b == '\n' || b == '\r'):
		case b == '"' && !r.escaped:
			r.matched = 1
		default:
			r.matched = 0
		}
		r.escaped = b == '\\'
	}
	if copied == 0 && len(out) == 0 {
		return false
	}
	out = append(out, piece[copied:]...)
	r.buffer, r.rest = out, out
	return true
}
