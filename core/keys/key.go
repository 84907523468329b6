// Package keys is what Genway knows about its callers' keys: how one is written,
// which group it serves, who holds it, and whether it is good right now.
//
// A key is shown once, when it is made. From then on only its SHA-256 is kept and
// only its id (key_…) is named: in lists, logs, errors and rows.
//
// The package is the domain alone: it reaches its Store through an interface and
// must not import database/sql, a driver, grpc, net/http, codec or gateway.
package keys

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

const (
	// idPrefix begins every key's id.
	idPrefix = "key_"
	// idLength is how many base62 characters follow: 71 bits, so that ids made
	// apart do not meet.
	idLength = 12
	// maxNameLength bounds a name, in bytes.
	maxNameLength = 100
)

// A Key is what is known of a key once it is made: everything but its secret.
//
// All times are UTC in whole microseconds, which every store keeps exactly.
type Key struct {
	// ID names the key wherever it must be named: key_ and 12 base62 characters.
	ID string
	// Group is the only group of protocols the key serves.
	Group Group
	// Name is the operator's word for the key, by checkName's rules. It may be
	// empty, and two keys may share one.
	Name string
	// Owner is who the key was given to: a person, a team, a customer; by
	// checkName's rules, and possibly empty. Limits and reports go by it.
	Owner string
	// Labels are the operator's own words for the key.
	Labels map[string]string
	// Policy is what the key may do.
	Policy Policy
	// CreateTime is when the key was made.
	CreateTime time.Time
	// ExpireTime is the first moment at which the key is refused; nil is never.
	ExpireTime *time.Time
	// RevokeTime is when the key was revoked; nil is not.
	RevokeTime *time.Time
}

// A Secret is one way to show a key: what is kept of it. A key has one, and a second
// for a while after its rotation.
type Secret struct {
	// Hash is the SHA-256 of the raw key, and all that is kept of it.
	Hash [sha256.Size]byte
	// CreateTime is when it was made.
	CreateTime time.Time
	// ExpireTime is the first moment at which it is refused; nil is never.
	ExpireTime *time.Time
}

// A Principal is an authenticated caller. It is cheap to copy.
type Principal struct {
	// KeyID is the id of the key that was shown.
	KeyID string
	// Group is the group the key serves.
	Group Group
	// Name is the key's name, possibly empty.
	Name string
	// Owner is the key's owner, possibly empty.
	Owner string
	// Policy is the key's: shared and never written to; Authenticate never gives nil.
	Policy *Policy
}

// newID makes an id from random.
func newID(random io.Reader) (string, error) {
	id, err := appendRandom([]byte(idPrefix), random, idLength)
	if err != nil {
		return "", fmt.Errorf("make a key id: %w", err)
	}
	return string(id), nil
}

// checkName holds names to one printable line of at most 100 bytes without spaces
// around it. A name cannot look like an id, since `revoke` takes either, nor like a
// key, since names are printed and a key pasted in the wrong place must not be.
func checkName(name string) error {
	switch {
	case strings.HasPrefix(name, Prefix):
		return errors.New("a name cannot begin with " + Prefix + ": keys do")
	case strings.HasPrefix(name, idPrefix):
		return errors.New("a name cannot begin with " + idPrefix + ": key ids do")
	case len(name) > maxNameLength:
		return fmt.Errorf("a name has at most %d bytes, this one %d", maxNameLength, len(name))
	case !utf8.ValidString(name):
		return errors.New("a name is UTF-8")
	case strings.TrimSpace(name) != name:
		return errors.New("a name has no spaces around it")
	}
	for _, r := range name {
		if !unicode.IsPrint(r) {
			return fmt.Errorf("a name is printable, %+q is not", r)
		}
	}
	return nil
}
