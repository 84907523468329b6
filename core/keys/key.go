// Package keys is what Genway knows about its callers' keys: how one is written,
// which group it serves, who holds it, what it may do, and whether it is good right
// now.
//
// A key is shown once, when it is made. From then on only its SHA-256 is kept and
// only its id (key_…) is named: in lists, logs, errors and rows.
//
// The package is only the domain: it reaches its Store through an interface and
// must not import database/sql, a driver, grpc, net/http, codec or gateway.
package keys

import (
	"crypto/sha256"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"
)

const (
	// idPrefix begins every key's id.
	idPrefix = "key_"
	// idLength is how many base62 characters follow: 71 bits, so that ids made
	// apart do not meet.
	idLength = 12
)

// A Key is what is known of a key once it is made: everything but its raw form.
//
// All times are UTC in whole microseconds, which every store keeps exactly.
type Key struct {
	// ID names the key wherever it must be named: key_ and 12 base62 characters.
	ID string
	// Group is the only group of protocols the key serves. It never changes.
	Group Group
	// Settings are the operator's, who may change them.
	Settings
	// CreateTime is when the key was made.
	CreateTime time.Time
	// RevokeTime is when the key was revoked; nil is not.
	RevokeTime *time.Time
	// Secrets are one, and after a rotation the one before it as well: the newest
	// first, which has no end of its own. The other has one.
	Secrets []Secret
}

// A Secret is one way to show a key: what is kept of it.
type Secret struct {
	// Hash is the SHA-256 of the raw key, and all that is kept of it.
	Hash [sha256.Size]byte
	// CreateTime is when it was made.
	CreateTime time.Time
	// ExpireTime is the first moment at which it is refused; nil leaves that to the
	// key's.
	ExpireTime *time.Time
}

// Expired reports whether the key has ended by itself at that moment.
func (k Key) Expired(now time.Time) bool {
	return k.ExpireTime != nil && !now.Before(*k.ExpireTime)
}

// Clone returns a copy that shares nothing with the key.
func (k Key) Clone() Key {
	k.Settings = k.Settings.Clone()
	k.RevokeTime = cloned(k.RevokeTime)
	k.Secrets = slices.Clone(k.Secrets)
	for i := range k.Secrets {
		k.Secrets[i].ExpireTime = cloned(k.Secrets[i].ExpireTime)
	}
	return k
}

// Settings are what an operator decides of a key and may change as long as it is not
// revoked. Validate says what each may be.
type Settings struct {
	// Name is the operator's word for the key. It may be empty, and two keys may
	// share one.
	Name string
	// Owner is who the key was given to: a person, a team, a customer. It may be
	// empty. Limits and reports go by it.
	Owner string
	// Labels are the operator's own words for the key.
	Labels map[string]string
	// ExpireTime is the first moment at which the key is refused; nil is never.
	ExpireTime *time.Time
	// Policy is what the key may do.
	Policy Policy
}

// Clone returns a copy that shares nothing with the settings.
func (s Settings) Clone() Settings {
	s.Labels = maps.Clone(s.Labels)
	s.ExpireTime = cloned(s.ExpireTime)
	s.Policy.Models = slices.Clone(s.Policy.Models)
	s.Policy.Addresses = slices.Clone(s.Policy.Addresses)
	s.Policy.Certificates = slices.Clone(s.Policy.Certificates)
	s.Policy.Limits.Budgets = slices.Clone(s.Policy.Limits.Budgets)
	s.Policy.Capture = s.Policy.Capture.Clone()
	return s
}

// normal returns the settings in the one form in which they are stored and compared:
// what is empty is nil, times are as stores keep them.
func (s Settings) normal() Settings {
	s = s.Clone()
	if len(s.Labels) == 0 {
		s.Labels = nil
	}
	if len(s.Policy.Models) == 0 {
		s.Policy.Models = nil
	}
	if len(s.Policy.Addresses) == 0 {
		s.Policy.Addresses = nil
	}
	if len(s.Policy.Certificates) == 0 {
		s.Policy.Certificates = nil
	}
	if len(s.Policy.Limits.Budgets) == 0 {
		s.Policy.Limits.Budgets = nil
	}
	if s.ExpireTime != nil {
		*s.ExpireTime = stored(*s.ExpireTime)
	}
	if s.Policy.Capture != nil {
		s.Policy.Capture.Until = stored(s.Policy.Capture.Until)
	}
	return s
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

// stored is t as every store can keep it.
func stored(t time.Time) time.Time {
	return t.UTC().Truncate(time.Microsecond)
}

func cloned(t *time.Time) *time.Time {
	if t == nil {
		return nil
	}
	c := *t
	return &c
}
