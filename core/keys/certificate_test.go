package keys_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/genway/genway/core/keys"
)

func TestParseCertificate(t *testing.T) {
	digits := strings.Repeat("0f", 32)
	for text, want := range map[string]string{
		"dns:Billing.Example":              "dns:billing.example",
		"DNS:a":                            "dns:a",
		"uri:spiffe://example.org/ns/prod": "uri:spiffe://example.org/ns/prod",
		"uri:URN:a:b":                      "uri:urn:a:b",
		"email:Ada@Example.ORG":            "email:Ada@example.org",
		"sha256:" + digits:                 "sha256:" + digits,
		"SHA256:" + strings.Repeat("0F:", 31) + "0F": "sha256:" + digits,
	} {
		got, err := keys.ParseCertificate(text)
		if err != nil || got != want {
			t.Errorf("%s: got %s, %v", text, got, err)
		}
		if again, err := keys.ParseCertificate(got); err != nil || again != got {
			t.Errorf("%s: its plain form gives %s, %v", text, again, err)
		}
		if err := (keys.Settings{Policy: keys.Policy{Certificates: []string{got}}}).Validate(keys.GroupChat); err != nil {
			t.Error(err)
		}
	}
	raw := keys.Prefix + strings.Repeat("b", 36)
	for text, want := range map[string]string{
		"": "no name of a certificate", "billing.example": "write dns:NAME", "cn:billing": "write dns:NAME", "dns:": "visible ASCII",
		"dns:a b": "visible ASCII", "dns:*.example": "cannot have a *", "dns:\u00fc.example": "visible ASCII", "uri:billing": "with its scheme",
		"email:ada": "with an @", "email:@example.org": "with an @", "sha256:00": "64 hexadecimal digits", "sha256:" + strings.Repeat("z", 64): "64 hexadecimal digits",
		"dns:" + strings.Repeat("a", 513): "at most 512 bytes", raw: "no name of a certificate", "dns:" + raw: "no name of a certificate",
	} {
		if got, err := keys.ParseCertificate(text); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), raw[4:]) {
			t.Errorf("%q: got %q, %v", text, got, err)
		}
	}
	for field, list := range map[string][]string{"certificates[1]": {"dns:a", "dns:A"}, "certificates[0]": {"a"}, "certificates": slices.Repeat([]string{"dns:a"}, 257)} {
		if err := (keys.Settings{Policy: keys.Policy{Certificates: list}}).Validate(keys.GroupChat); err == nil || !strings.Contains(err.Error(), field) {
			t.Errorf("%s: %v", field, err)
		}
	}
}

func TestAllowsCertificate(t *testing.T) {
	p := &keys.Policy{Certificates: []string{"dns:a.example", "uri:spiffe://a/b"}}
	for _, c := range []struct {
		shown []string
		want  bool
	}{
		{nil, false}, {[]string{"sha256:00"}, false}, {[]string{"sha256:00", "dns:b.example", "uri:spiffe://a/b"}, true},
		{[]string{"dns:sub.a.example", "uri:spiffe://a/b/c", "email:dns:a.example"}, false},
	} {
		if got := p.AllowsCertificate(c.shown); got != c.want {
			t.Errorf("%v: got %t", c.shown, got)
		}
	}
	if !(&keys.Policy{}).AllowsCertificate(nil) || !(*keys.Policy)(nil).AllowsCertificate(nil) {
		t.Error("a certificate is asked for where none need be shown")
	}
}
