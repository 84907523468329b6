package vault

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"

	"github.com/genway/genway/internal/smallfile"
)

// Ring is the keys of a key file. The first one encrypts, and all of them decrypt: a key is
// replaced by writing a new one before it, and is taken out when nothing is left of what it
// has encrypted.
type Ring struct{ keys []ringKey }

type ringKey struct {
	name string
	aead cipher.AEAD
}

const (
	maxKeys    = 32
	maxKeyFile = 16 << 10
	keyBytes   = 32 // AES-256
	maxKeyName = 64
)

// LoadRing reads a key file: a line for each key, its name and after a space 32 bytes in base64.
// Empty lines and lines that begin with # are none. Errors name the line and never its content.
func LoadRing(file string) (*Ring, error) {
	text, err := smallfile.Read(file, maxKeyFile)
	if err != nil {
		return nil, err //nolint:wrapcheck // it names the file
	}
	ring, err := ParseRing(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return ring, nil
}

// ParseRing is LoadRing of a text.
func ParseRing(text []byte) (*Ring, error) {
	if len(text) > maxKeyFile {
		return nil, fmt.Errorf("expected at most %d bytes", maxKeyFile)
	}
	ring, seen := &Ring{}, map[string]bool{}
	number := 0
	for line := range bytes.Lines(bytes.TrimPrefix(text, []byte("\xef\xbb\xbf"))) {
		number++
		fields := strings.Fields(string(line))
		if len(fields) == 0 || strings.HasPrefix(fields[0], "#") {
			continue
		}
		if len(fields) != 2 {
			return nil, fmt.Errorf("line %d: expected a name, a space and a key in base64", number)
		}
		name := fields[0]
		switch {
		case len(name) > maxKeyName || strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-") != "":
			return nil, fmt.Errorf("line %d: a name has up to %d letters, digits and . _ -", number, maxKeyName)
		case seen[name]:
			return nil, fmt.Errorf("line %d: its name stands there twice", number)
		case len(ring.keys) == maxKeys:
			return nil, fmt.Errorf("line %d: at most %d keys", number, maxKeys)
		}
		key, err := base64.StdEncoding.Strict().DecodeString(fields[1])
		if err != nil || len(key) != keyBytes {
			return nil, fmt.Errorf("line %d: a key is %d bytes in base64, as of `openssl rand -base64 %d`", number, keyBytes, keyBytes)
		}
		block, err := aes.NewCipher(key)
		if err != nil {
			return nil, fmt.Errorf("line %d: it is no key", number)
		}
		// A nonce is 96 random bits: a key is good for 2³² captures (NIST SP 800-38D, 8.3).
		aead, err := cipher.NewGCMWithRandomNonce(block)
		if err != nil {
			return nil, fmt.Errorf("line %d: it is no key", number)
		}
		seen[name] = true
		ring.keys = append(ring.keys, ringKey{name, aead})
	}
	if len(ring.keys) == 0 {
		return nil, errors.New("it has no key: a line is a name, a space and 32 bytes in base64")
	}
	return ring, nil
}

// MissingKeyError is a row whose key is not in the key file.
type MissingKeyError struct{ Name string }

// Error says which.
func (e *MissingKeyError) Error() string {
	return fmt.Sprintf("vault: the key %q is not in the key file", e.Name)
}

// ErrDamaged is a row that is not what was written.
var ErrDamaged = errors.New("vault: the captured bodies are damaged")

// seal encrypts a row's content by the first key. What names the row is authenticated with it, so
// that contents cannot be exchanged between rows. A nil ring leaves it in clear.
func (r *Ring) seal(row *Row) {
	if r == nil {
		return
	}
	first := r.keys[0]
	row.SealedBy = first.name
	row.Content = first.aead.Seal(nil, nil, row.Content, named(row)) //nolint:gosec // the cipher makes its own nonce, at random
}

// open returns a row's content in clear.
func (r *Ring) open(row *Row) ([]byte, error) {
	if row.SealedBy == "" {
		return row.Content, nil
	}
	if r != nil {
		for _, k := range r.keys {
			if k.name != row.SealedBy {
				continue
			}
			content, err := k.aead.Open(nil, nil, row.Content, named(row))
			if err != nil {
				return nil, ErrDamaged
			}
			return content, nil
		}
	}
	return nil, &MissingKeyError{row.SealedBy}
}

func named(row *Row) []byte {
	return fmt.Appendf(nil, "genway capture\x00%d\x00%d\x00%s", row.Process, row.Number, row.SealedBy)
}
