package remote

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/member"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

// encryptedMember is the member of items of responses that only the account can read that made it: another
// answers invalid_encrypted_content, whose request the caller cannot mend.
const encryptedMember = "encrypted_content"

// Account identifies who can read the encrypted reasoning of the upstream's answers: a hash of its address and its
// credential. It is empty for a protocol whose encrypted values every account of the vendor can read.
func (u *Upstream) Account() string {
	if account := u.account.Load(); account != nil {
		return *account
	}
	return ""
}

// setAccount follows the key.
func (u *Upstream) setAccount(apiKey string) {
	if u.config.Protocol != genwayv1.Protocol_PROTOCOL_RESPONSES {
		return
	}
	h := sha256.New()
	_, _ = fmt.Fprintf(h, "%q %q %q %q %q %q", u.config.BaseURL, u.config.Path, u.config.Query, apiKey, u.config.Headers, u.config.Account)
	account := hex.EncodeToString(h.Sum(nil))[:codec.AccountLength]
	u.account.Store(&account)
}

// ownEncrypted returns a body with its encrypted values as the upstream made them. Items of another account are left
// out and named; a value that names no account goes as it is.
func (u *Upstream) ownEncrypted(body []byte, losses *codec.Losses) []byte {
	account := u.Account()
	if account == "" || !bytes.Contains(body, []byte(codec.AccountPrefix)) {
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
				losses.Add(fmt.Sprintf("input[%d].%s", n, encryptedMember), "another account made it, and only that one can read it")
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
	r.buffer = append(out, piece[copied:]...)
	r.rest = r.buffer
	return true
}
