package certs

import (
	"crypto/x509"
	"log/slog"
	"maps"
	"slices"
	"time"
)

const (
	// soon is how long before its end a certificate is warned of: shorter than the time in
	// which those of ACME are renewed, so that a warning says that renewal has failed.
	soon = 14 * 24 * time.Hour
	// warnEvery is how often a warning is repeated.
	warnEvery = 24 * time.Hour
)

// Expiry warns of certificates that end. The zero value has warned of none.
type Expiry struct{ warned time.Time }

// Warn logs the certificates that are no longer good, not yet, or not for long, by the
// files that they are in; what it has logged, it logs again after a day.
func (e *Expiry) Warn(log *slog.Logger, leaves map[string]*x509.Certificate, now time.Time) {
	if !e.warned.IsZero() && now.Sub(e.warned) < warnEvery {
		return
	}
	e.warned = now
	for _, file := range slices.Sorted(maps.Keys(leaves)) {
		leaf := leaves[file]
		attributes := []any{"file", file, "certificate", Subject(leaf), "not_before", leaf.NotBefore.UTC(), "not_after", leaf.NotAfter.UTC()}
		switch {
		case now.After(leaf.NotAfter):
			log.Warn("a certificate has expired", attributes...)
		case now.Before(leaf.NotBefore):
			log.Warn("a certificate is not valid yet", attributes...)
		case leaf.NotAfter.Sub(now) < soon:
			log.Warn("a certificate expires soon", attributes...)
		default:
			log.Debug("a certificate is good", attributes...)
		}
	}
}
