package keys_test

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/genway/genway/core/keys"
	"github.com/genway/genway/core/limit"
)

// wrong are settings that cannot be taken, by the member at fault.
func wrong(pasted string, now time.Time) map[string]struct {
	field    string
	settings keys.Settings
} {
	policy := func(p keys.Policy) keys.Settings { return keys.Settings{Policy: p} }
	many := func(n int) map[string]string {
		labels := map[string]string{}
		for i := range n {
			labels[fmt.Sprint("l", i)] = ""
		}
		return labels
	}
	return map[string]struct {
		field    string
		settings keys.Settings
	}{
		"key as name":       {"name", keys.Settings{Name: pasted}},
		"key in name":       {"name", keys.Settings{Name: "mine: " + pasted}},
		"id as name":        {"name", keys.Settings{Name: "key_0"}},
		"long name":         {"name", keys.Settings{Name: strings.Repeat("n", 101)}},
		"two lines":         {"name", keys.Settings{Name: "one\ntwo"}},
		"terminal name":     {"name", keys.Settings{Name: "\x1b[2J"}},
		"not utf-8":         {"name", keys.Settings{Name: "\xff"}},
		"spaces around":     {"name", keys.Settings{Name: " n"}},
		"key as owner":      {"owner", keys.Settings{Owner: pasted}},
		"long owner":        {"owner", keys.Settings{Owner: strings.Repeat("n", 101)}},
		"no label's name":   {"labels", keys.Settings{Labels: map[string]string{"": "v"}}},
		"label's name":      {"labels", keys.Settings{Labels: map[string]string{"a b": "v"}}},
		"label begins":      {"labels", keys.Settings{Labels: map[string]string{".a": "v"}}},
		"key as label":      {"labels", keys.Settings{Labels: map[string]string{pasted: "v"}}},
		"key as value":      {"labels.a", keys.Settings{Labels: map[string]string{"a": pasted}}},
		"long value":        {"labels.a", keys.Settings{Labels: map[string]string{"a": strings.Repeat("v", 256)}}},
		"many labels":       {"labels", keys.Settings{Labels: many(33)}},
		"expired":           {"expire_time", keys.Settings{ExpireTime: &now}},
		"empty model":       {"models[1]", policy(keys.Policy{Models: []string{"m", ""}})},
		"model with spaces": {"models[0]", policy(keys.Policy{Models: []string{"m "}})},
		"key as model":      {"models[0]", policy(keys.Policy{Models: []string{pasted}})},
		"many models":       {"models", policy(keys.Policy{Models: slices.Repeat([]string{"m"}, 257)})},
		"no address":        {"addresses[0]", policy(keys.Policy{Addresses: []netip.Prefix{{}}})},
		"not masked":        {"addresses[0]", policy(keys.Policy{Addresses: []netip.Prefix{netip.MustParsePrefix("10.0.0.1/8")}})},
		"mapped":            {"addresses[0]", policy(keys.Policy{Addresses: []netip.Prefix{netip.MustParsePrefix("::ffff:10.0.0.1/128")}})},
		"many addresses":    {"addresses", policy(keys.Policy{Addresses: slices.Repeat([]netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}, 257)})},
		"negative requests": {"limits.requests_per_minute", policy(keys.Policy{Limits: limit.Limits{RequestsPerMinute: -1}})},
		"negative tokens":   {"limits.tokens_per_minute", policy(keys.Policy{Limits: limit.Limits{TokensPerMinute: -1}})},
		"large concurrency": {"limits.concurrent", policy(keys.Policy{Limits: limit.Limits{Concurrent: 1 << 40}})},
		"budget of nothing": {"limits.budgets", policy(keys.Policy{Limits: limit.Limits{Budgets: []limit.Budget{{Period: limit.Day}}}})},
		"budget of no time": {"limits.budgets", policy(keys.Policy{Limits: limit.Limits{Budgets: []limit.Budget{{Amount: 1}}}})},
		"two budgets a day": {"limits.budgets", policy(keys.Policy{Limits: limit.Limits{Budgets: []limit.Budget{{Amount: 1, Period: limit.Day}, {Amount: 2, Period: limit.Day}}}})},
	}
}

func TestCreateRefuses(t *testing.T) {
	s, m, c := fixture(t)
	pasted, _ := create(t, s, keys.CreateParams{Group: keys.GroupChat})
	for name, c := range wrong(pasted, c.at()) {
		t.Run(name, func(t *testing.T) {
			raw, key, err := s.Create(t.Context(), keys.CreateParams{Group: keys.GroupChat, Settings: c.settings})
			invalid, ok := errors.AsType[*keys.InvalidError](err)
			if !ok || raw != "" || key.ID != "" {
				t.Fatalf("got %q, %v, %v", raw, key, err)
			}
			if len(invalid.Fields) != 1 || invalid.Fields[0].Field != c.field {
				t.Errorf("got %v, want %s to be named", err, c.field)
			}
			if strings.Contains(err.Error(), pasted[4:]) {
				t.Errorf("%q shows the key", err)
			}
		})
	}
	for _, group := range []keys.Group{"", "responses"} {
		if _, _, err := s.Create(t.Context(), keys.CreateParams{Group: group}); err == nil || !strings.Contains(err.Error(), "group: unknown group") {
			t.Errorf("group %q: %v", group, err)
		}
	}
	if len(m.keys) != 1 || len(m.entries) != 1 {
		t.Errorf("stored %d keys and %d entries", len(m.keys)-1, len(m.entries)-1)
	}
	for _, name := range []string{"", "n", strings.Repeat("n", 100), "Zoë's laptop", "鍵"} {
		create(t, s, keys.CreateParams{Group: keys.GroupChat, Settings: keys.Settings{Name: name}})
	}
}

// All that is wrong is reported at once.
func TestAllThatIsWrongIsTold(t *testing.T) {
	s, _, c := fixture(t)
	now := c.at()
	_, _, err := s.Create(t.Context(), keys.CreateParams{Group: "nobody", Settings: keys.Settings{
		Name: "key_1", ExpireTime: &now, Policy: keys.Policy{Models: []string{""}, Limits: limit.Limits{Concurrent: -1}},
	}})
	const want = `create key: group: unknown group "nobody": want one of chat, messages, generatecontent, internal, admin; ` +
		`name: it cannot begin with key_: key ids do; models[0]: it is empty; ` +
		`limits.concurrent: expected 0 to 1000000000, got -1; expire_time: 2026-03-01T11:00:00Z is in the past`
	if err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
}

// An admin key takes nothing that could never matter.
func TestAdminKeysHaveNoLimits(t *testing.T) {
	s, _, _ := fixture(t)
	_, _, err := s.Create(t.Context(), keys.CreateParams{Group: keys.GroupAdmin, Settings: keys.Settings{
		Policy: keys.Policy{Models: []string{"m"}, Limits: limit.Limits{Concurrent: 1}, Strict: true},
	}})
	for _, field := range []string{"models: ", "limits: ", "strict: "} {
		if err == nil || !strings.Contains(err.Error(), field) {
			t.Errorf("%s is not named: %v", field, err)
		}
	}
	create(t, s, keys.CreateParams{Group: keys.GroupAdmin, Settings: keys.Settings{
		Owner: "ops", Policy: keys.Policy{Addresses: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}},
	}})
}

func TestParseAddress(t *testing.T) {
	for text, want := range map[string]string{
		"192.0.2.7":              "192.0.2.7/32",
		"10.0.0.0/8":             "10.0.0.0/8",
		"0.0.0.0/0":              "0.0.0.0/0",
		"2001:db8::1":            "2001:db8::1/128",
		"2001:db8::/32":          "2001:db8::/32",
		"::/0":                   "::/0",
		"::ffff:192.0.2.7":       "192.0.2.7/32",
		"::ffff:10.0.0.0/104":    "10.0.0.0/8",
		"::ffff:192.0.2.128/128": "192.0.2.128/32",
	} {
		got, err := keys.ParseAddress(text)
		if err != nil || got.String() != want {
			t.Errorf("%s: got %s, %v", text, got, err)
		}
	}
	for text, want := range map[string]string{
		"":                    "write one as",
		"localhost":           `"localhost" is no address`,
		"10.0.0.1/8":          "is 10.0.0.0/8 meant, or the one address 10.0.0.1?",
		"10.0.0.0/33":         "write one as",
		"fe80::1%eth0":        "no zone",
		"fe80::%eth0/64":      "no zone",
		"::ffff:0.0.0.0/90":   "",
		"10.0.0.0 - 10.0.0.9": "write one as",
	} {
		if got, err := keys.ParseAddress(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %s, %v", text, got, err)
		}
	}
	raw := unknown(t)
	if _, err := keys.ParseAddress(raw); err == nil || strings.Contains(err.Error(), raw[4:]) {
		t.Errorf("a pasted key: %v", err)
	}
}

// Whatever is parsed can be stored, and is what it was when it is parsed again.
func TestParseAddressGivesThePlainForm(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var addr netip.Addr
		if rapid.Bool().Draw(t, "IPv6") {
			addr = netip.AddrFrom16([16]byte(rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "address")))
		} else {
			addr = netip.AddrFrom4([4]byte(rapid.SliceOfN(rapid.Byte(), 4, 4).Draw(t, "address")))
		}
		masked := netip.PrefixFrom(addr, rapid.IntRange(0, addr.BitLen()).Draw(t, "bits")).Masked()
		got, err := keys.ParseAddress(masked.String())
		if err != nil {
			return // a block that is neither of IPv4 nor of IPv6
		}
		if again, err := keys.ParseAddress(got.String()); err != nil || again != got {
			t.Fatalf("%s: got %s, then %s, %v", masked, got, again, err)
		}
		if err := (keys.Settings{Policy: keys.Policy{Addresses: []netip.Prefix{got}}}).Validate(keys.GroupChat); err != nil {
			t.Fatal(err)
		}
		if p := (&keys.Policy{Addresses: []netip.Prefix{got}}); !p.AllowsAddress(masked.Addr()) {
			t.Fatalf("%s does not allow %s", got, masked.Addr())
		}
	})
}

// A policy is stored as JSON and read back as it was.
func TestSettingsAreNormal(t *testing.T) {
	s, _, _ := fixture(t)
	_, key := create(t, s, keys.CreateParams{Group: keys.GroupChat, Settings: keys.Settings{
		Labels: map[string]string{}, Policy: keys.Policy{Models: []string{}, Addresses: []netip.Prefix{}, Limits: limit.Limits{Budgets: []limit.Budget{}}},
	}})
	if diff := cmp.Diff(keys.Settings{}, key.Settings); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
