package keys_test

import (
	"net/netip"
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/genway/genway/core/keys"
)

func TestAllowsModel(t *testing.T) {
	for _, c := range []struct {
		models string
		name   string
		want   bool
	}{
		{"", "any", true},
		{"gpt-5", "gpt-5", true},
		{"gpt-5", "gpt-5-mini", false},
		{"gpt-5", "GPT-5", false},
		{"gpt-*", "gpt-", true},
		{"gpt-*", "gpt-5-mini", true},
		{"gpt-*", "claude", false},
		{"*-mini", "gpt-5-mini", true},
		{"*-mini", "gpt-5-minimal", false},
		{"g*5*i", "gpt-5-mini", true},
		{"a b*", "claude-4", false},
		{"a claude-*", "claude-4", true},
		{"*", "", true},
		{"publishers/*/x", "publishers/a/b/x", true},
		{"gpt-?", "gpt-5", false},
		{"gpt-[5]", "gpt-5", false},
	} {
		p := &keys.Policy{Models: strings.Fields(c.models)}
		if got := p.AllowsModel(c.name); got != c.want {
			t.Errorf("%q allows %q: got %t", c.models, c.name, got)
		}
	}
	if !(*keys.Policy)(nil).AllowsModel("any") {
		t.Error("no policy refuses a model")
	}
}

// A glob means what the regular expression with .* for each * means.
func TestAllowsModelAsExpression(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pattern := rapid.StringMatching(`[ab*]{0,12}`).Draw(t, "pattern")
		name := rapid.StringMatching(`[ab]{0,16}`).Draw(t, "name")
		want := regexp.MustCompile("^" + strings.ReplaceAll(pattern, "*", ".*") + "$").MatchString(name)
		if got := (&keys.Policy{Models: []string{pattern}}).AllowsModel(name); got != want {
			t.Fatalf("%q allows %q: got %t, want %t", pattern, name, got, want)
		}
	})
}

func TestAllowsAddress(t *testing.T) {
	p := &keys.Policy{Addresses: []netip.Prefix{
		netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("192.0.2.7/32"), netip.MustParsePrefix("2001:db8::/32"), netip.MustParsePrefix("fe80::/10"),
	}}
	for address, want := range map[string]bool{
		"10.1.2.3":        true,
		"::ffff:10.1.2.3": true,
		"11.0.0.1":        false,
		"192.0.2.7":       true,
		"192.0.2.8":       false,
		"2001:db8::1":     true,
		"2001:db9::1":     false,
		"fe80::1%eth0":    true,
	} {
		if got := p.AllowsAddress(netip.MustParseAddr(address)); got != want {
			t.Errorf("%s: got %t", address, got)
		}
	}
	if p.AllowsAddress(netip.Addr{}) {
		t.Error("an unknown address is allowed")
	}
	if !(&keys.Policy{}).AllowsAddress(netip.Addr{}) || !(*keys.Policy)(nil).AllowsAddress(netip.Addr{}) {
		t.Error("an unknown address is refused where every one is allowed")
	}
}
