package keys

import (
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
)

// maxCertificateLength bounds the name of one certificate, in bytes.
const maxCertificateLength = 512

// ParseCertificate reads what identifies a client certificate, and returns it in its canonical
// form: a name of its subjectAltName as dns:NAME, uri:URI or email:ADDRESS, or its
// fingerprint as sha256: and 64 hexadecimal digits, with colons between them or without.
// Names are whole: a * stands for itself in none, so it is refused.
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
// names, as ParseCertificate gives them; none were shown without a certificate.
func (p *Policy) AllowsCertificate(names []string) bool {
	return p == nil || len(p.Certificates) == 0 ||
		slices.ContainsFunc(names, func(name string) bool { return slices.Contains(p.Certificates, name) })
}
