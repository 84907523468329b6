package keys

import (
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/genway/genway/core/capture"
)

// What settings may be. Texts are printable UTF-8 of one line without spaces around
// it, lengths are in bytes. None can hold what keys begin with, since settings are
// printed and a key that is pasted in the wrong place must not be.
const (
	maxTextLength  = 100 // of names and owners
	maxLabels      = 32
	maxLabelLength = 63 // of a label's name: letters, digits and . _ - / in it
	maxValueLength = 255
	maxModels      = 256
	maxModelLength = 255
	maxAddresses   = 256

	maxCertificates = 256
)

// Validate reports all that is wrong with the settings of a key of that group, as an
// *InvalidError. That an expiry has passed is for Create and Update to find.
func (s Settings) Validate(group Group) error {
	var v violations
	checkText(&v, "name", s.Name, maxTextLength)
	// `revoke` and its like take either.
	if strings.HasPrefix(s.Name, idPrefix) {
		v.addf("name", "it cannot begin with %s: key ids do", idPrefix)
	}
	checkText(&v, "owner", s.Owner, maxTextLength)
	checkLabels(&v, s.Labels)
	s.Policy.check(&v)
	if group == GroupAdmin {
		s.Policy.checkAdmin(&v)
	} else {
		if s.Policy.ReadOnly {
			v.addf("read_only", "only a key of the group admin can be read-only")
		}
		if s.Policy.ReadCaptures {
			v.addf("read_captures", "only a key of the group admin can read captured bodies")
		}
	}
	return v.err()
}

func (p *Policy) check(v *violations) {
	if len(p.Models) > maxModels {
		v.addf("models", "at most %d, not %d", maxModels, len(p.Models))
	}
	for i, model := range p.Models {
		field := fmt.Sprintf("models[%d]", i)
		if model == "" {
			v.addf(field, "it is empty")
		}
		checkText(v, field, model, maxModelLength)
	}
	if len(p.Addresses) > maxAddresses {
		v.addf("addresses", "at most %d, not %d", maxAddresses, len(p.Addresses))
	}
	for i, prefix := range p.Addresses {
		if !prefix.IsValid() || prefix != prefix.Masked() || prefix.Addr().Is4In6() {
			v.addf(fmt.Sprintf("addresses[%d]", i), "%q is no address in its plain form", prefix)
		}
	}
	if len(p.Certificates) > maxCertificates {
		v.addf("certificates", "at most %d, not %d", maxCertificates, len(p.Certificates))
	}
	for i, text := range p.Certificates {
		if plain, err := ParseCertificate(text); err != nil {
			v.addf(fmt.Sprintf("certificates[%d]", i), "%v", err)
		} else if plain != text {
			v.addf(fmt.Sprintf("certificates[%d]", i), "%s is not in its plain form, %s", quote(text), quote(plain))
		}
	}
	p.Limits.Check(func(member, reason string) { v.addf("limits."+member, "%s", reason) })
	if p.Priority != "" && p.Priority != PriorityBatch {
		v.addf("priority", "%.40q is none; one of interactive, batch", p.Priority)
	}
	if p.Capture != nil {
		for _, m := range p.Capture.Check(p.Capture.Until) { // how far ahead that is, checkCapture knows
			v.addf("capture."+m.Member, "%s", m.Reason)
		}
	}
}

// checkAdmin refuses what could never matter, since an operator who sets it believes
// that it does.
func (p *Policy) checkAdmin(v *violations) {
	const reason = "a key of the group admin cannot generate, so it has none"
	if len(p.Models) > 0 {
		v.addf("models", reason)
	}
	if p.Limits.Any() {
		v.addf("limits", reason)
	}
	if p.Strict {
		v.addf("strict", reason)
	}
	if p.Priority != "" {
		v.addf("priority", reason)
	}
	if p.Capture != nil {
		v.addf("capture", reason)
	}
}

func checkLabels(v *violations, labels map[string]string) {
	if len(labels) > maxLabels {
		v.addf("labels", "at most %d, not %d", maxLabels, len(labels))
	}
	for _, name := range slices.Sorted(maps.Keys(labels)) {
		if !labelName(name) {
			v.addf("labels", "%s is no name of a label: want 1 to %d letters, digits and . _ - / behind a letter or digit", quote(name), maxLabelLength)
			continue
		}
		checkText(v, "labels."+name, labels[name], maxValueLength)
	}
}

func labelName(name string) bool {
	for i, r := range name {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9':
		case i > 0 && strings.ContainsRune("._-/", r):
		default:
			return false
		}
	}
	return name != "" && len(name) <= maxLabelLength && !strings.Contains(name, Prefix)
}

// checkText holds a text to one printable line of at most limit bytes.
func checkText(v *violations, field, text string, limit int) {
	switch {
	case strings.Contains(text, Prefix):
		v.addf(field, "it cannot contain %s: keys do", Prefix)
		return
	case len(text) > limit:
		v.addf(field, "at most %d bytes, not %d", limit, len(text))
		return
	case !utf8.ValidString(text):
		v.addf(field, "it is not UTF-8")
		return
	case strings.TrimSpace(text) != text:
		v.addf(field, "it has spaces around it")
		return
	}
	for _, r := range text {
		if !unicode.IsPrint(r) {
			v.addf(field, "%+q is not printable", r)
			return
		}
	}
}

// checkCapture refuses an end of capturing that has passed, or is too far ahead.
func checkCapture(v *violations, rule *capture.Rule, now time.Time) {
	switch {
	case rule == nil || rule.Until.IsZero():
	case !rule.Until.After(now):
		v.addf("capture.until", "%s is in the past", rule.Until.Format(time.RFC3339))
	case rule.Until.Sub(now) > capture.MaxAhead:
		v.addf("capture.until", "expected at most 7 days from now, got %s", rule.Until.Format(time.RFC3339))
	}
}

// checkExpiry refuses an end that has passed, and one that no timestamp of RFC 3339 can say.
func checkExpiry(v *violations, expire *time.Time, now time.Time) {
	switch {
	case expire == nil:
	case !expire.After(now):
		v.addf("expire_time", "%s is in the past", expire.Format(time.RFC3339))
	case expire.UTC().Year() > 9999:
		v.addf("expire_time", "expected a time up to the end of the year 9999, in UTC")
	}
}

// ParseAddress reads an address a key may be used from: an IP address or a CIDR
// block without bits after its length. IPv4 in its IPv6 form becomes IPv4.
func ParseAddress(text string) (netip.Prefix, error) {
	addr, err := netip.ParseAddr(text)
	if err == nil {
		if addr.Zone() != "" {
			return netip.Prefix{}, fmt.Errorf("%s: an address has no zone here", quote(text))
		}
		return netip.PrefixFrom(addr.Unmap(), addr.Unmap().BitLen()), nil
	}
	prefix, err := netip.ParsePrefix(text)
	switch {
	case err != nil:
		return netip.Prefix{}, fmt.Errorf("%s is no address; write one as 192.0.2.7 or 2001:db8::1, or a block as 10.0.0.0/8", quote(text))
	case prefix != prefix.Masked():
		return netip.Prefix{}, fmt.Errorf("%s has bits behind its length; is %s meant, or the one address %s?", quote(text), prefix.Masked(), prefix.Addr())
	case !prefix.Addr().Is4In6():
		return prefix, nil
	case prefix.Bits() < 96:
		return netip.Prefix{}, fmt.Errorf("%s is neither a block of IPv4 nor of IPv6", quote(text))
	}
	return netip.PrefixFrom(prefix.Addr().Unmap(), prefix.Bits()-96), nil
}

// quote shows a text of the operator's in an error, unless a key may be in it.
func quote(text string) string {
	if strings.Contains(text, Prefix) {
		return Redact(Prefix)
	}
	return fmt.Sprintf("%.80q", text)
}

// A FieldError is a member of a key, or of what is asked of one, that cannot be
// taken.
type FieldError struct {
	// Field is the member as the contract spells it: "name", "models[1]",
	// "limits.requests_per_minute".
	Field string
	// Reason says what is wrong with it, in words for the operator. It never holds
	// a key.
	Reason string
}

func (e FieldError) Error() string { return e.Field + ": " + e.Reason }

// An InvalidError is all that is wrong with what an operator asked for.
type InvalidError struct {
	// Index is which of several keys it is, from 0; 0 where there is one.
	Index int
	// Fields are its wrong members, at least one.
	Fields []FieldError
}

func (e *InvalidError) Error() string {
	texts := make([]string, len(e.Fields))
	for i, field := range e.Fields {
		texts[i] = field.Error()
	}
	return strings.Join(texts, "; ")
}

// violations collects what is wrong.
type violations []FieldError

func (v *violations) addf(field, format string, args ...any) {
	*v = append(*v, FieldError{Field: field, Reason: fmt.Sprintf(format, args...)})
}

func (v *violations) err() error {
	if len(*v) == 0 {
		return nil
	}
	return &InvalidError{Fields: *v}
}

// maxCertificateLength bounds the name of one certificate, in bytes.
const maxCertificateLength = 512

// ParseCertificate reads what identifies a client certificate, and returns it in its canonical
// form: a name of its subjectAltName as dns:NAME, uri:URI or email:ADDRESS, or its
// fingerprint as sha256: and 64 hexadecimal digits, with colons between them or without.
// Names are whole: no name contains a *, so it is refused.
func ParseCertificate(text string) (string, error) {
	kind, name, ok := strings.Cut(text, ":")
	kind = strings.ToLower(kind)
	switch {
	case strings.Contains(text, Prefix):
		return "", fmt.Errorf("%s is no name of a certificate", quote(text))
	case !ok || !slices.Contains([]string{"dns", "uri", "email", "sha256"}, kind):
		return "", fmt.Errorf("%s is no name of a certificate; write dns:NAME, uri:URI (as spiffe://…), email:ADDRESS or sha256:FINGERPRINT", quote(text))
	case len(name) > maxCertificateLength:
		return "", fmt.Errorf("%s: at most %d bytes, not %d", quote(text), maxCertificateLength, len(name))
	case name == "" || strings.ContainsFunc(name, func(r rune) bool { return r <= ' ' || r > '~' }):
		return "", fmt.Errorf("%s: expected visible ASCII characters behind %q", quote(text), kind)
	case strings.Contains(name, "*"):
		return "", fmt.Errorf("%s: a name is compared as a whole, so it cannot have a *", quote(text))
	}
	name, err := plainName(kind, name)
	if err != nil {
		return "", fmt.Errorf("%s: %w", quote(text), err)
	}
	return kind + ":" + name, nil
}

// plainName returns a name in its canonical form.
func plainName(kind, name string) (string, error) {
	switch kind {
	case "dns":
		return strings.ToLower(name), nil
	case "email":
		at := strings.LastIndexByte(name, '@')
		if at <= 0 || at == len(name)-1 {
			return "", errors.New("expected an address with an @")
		}
		return name[:at] + strings.ToLower(name[at:]), nil
	case "uri":
		uri, err := url.Parse(name)
		if err != nil || uri.Scheme == "" {
			return "", errors.New("expected a URI with its scheme, as in spiffe://example.org/billing")
		}
		return uri.String(), nil
	}
	digits := strings.ToLower(strings.ReplaceAll(name, ":", ""))
	if raw, err := hex.DecodeString(digits); err != nil || len(raw) != 32 {
		return "", errors.New("expected the 64 hexadecimal digits of a SHA-256, as openssl x509 -fingerprint -sha256 prints them")
	}
	return digits, nil
}

// AllowsCertificate reports whether a caller may call that has shown a certificate of those
// names, as ParseCertificate returns them; none were shown without a certificate.
func (p *Policy) AllowsCertificate(names []string) bool {
	return p == nil || len(p.Certificates) == 0 ||
		slices.ContainsFunc(names, func(name string) bool { return slices.Contains(p.Certificates, name) })
}
