package certs

import (
	"crypto/x509"
	"time"
)

// First returns when the first of certificates ends; false for none.
func First(leaves map[string]*x509.Certificate) (time.Time, bool) {
	var first time.Time
	for _, leaf := range leaves {
		if leaf != nil && (first.IsZero() || leaf.NotAfter.Before(first)) {
			first = leaf.NotAfter
		}
	}
	return first, !first.IsZero()
}

// First returns when the first of the files' certificates ends; false for none and for a nil
// Source.
func (s *Source) First() (time.Time, bool) {
	if s == nil {
		return time.Time{}, false
	}
	return First(s.leaves())
}
