package config

import (
	"maps"
	"slices"
	"strings"

	"github.com/genway/genway/core/config/strict"
	"github.com/genway/genway/protocol"
)

// Leave is the policy of not asking a stream for its usage.
const Leave = "leave"

// Drain is the policy of a detached call: the answer is read on after its caller has left.
const Drain = "drain"

// checkSettings demands that each setting is one the kind has, and within its
// bounds: what would be ignored is not what its writer wants.
func (u Upstream) checkSettings(all *checks, at string) {
	p := protocol.ByKind(u.Kind)
	remote := p != nil
	for _, s := range []struct {
		key       string
		given, ok bool
	}{
		{"base_url", u.BaseURL != "", remote},
		{"provider", u.Provider != "", remote},
		{"endpoint", u.Endpoint != "", remote},
		{"resource", u.Resource != "", remote},
		{"project", u.Project != "", remote},
		{"region", u.Region != "", remote},
		{"path", u.Path != "", remote},
		{"query", len(u.Query) > 0, remote},
		{"tls", u.TLS, u.Kind == "generation"},
		{"api_key", u.APIKey != "", u.Kind != Sandbox},
		{"api_key_file", u.APIKeyFile != "", u.Kind != Sandbox},
		{"auth", u.Auth != nil, remote},
		{"proxy", u.Proxy != "", remote},
		{"ca_file", u.CAFile != "", u.Kind != Sandbox},
		{"cert_file", u.CertFile != "", u.Kind != Sandbox},
		{"key_file", u.KeyFile != "", u.Kind != Sandbox},
		{"headers", len(u.Headers) > 0, remote},
		{"first_byte", u.FirstByte != 0, u.Kind != Sandbox},
		{"idle", u.Idle != 0, u.Kind != Sandbox},
		{"deadline", u.Deadline != 0, u.Kind != Sandbox},
		{"models", u.Models.Discover, u.Kind != Sandbox}, // which lists its own anyway
		{"takes", u.Takes != "", remote && u.hasDialects()},
		{"api_version", u.APIVersion != "", remote && len(p.Version.Known) > 0},
		{"stream_usage", u.StreamUsage != "", remote && p.Upstream.AsksForUsage},
		{"on_cancel", u.OnCancel != "", u.Kind != Sandbox},
		{"drain_for", u.DrainFor != 0, u.Kind != Sandbox},
		{"max_concurrent", u.MaxConcurrent != 0, u.Kind != Sandbox},
		{"max_answer_bytes", u.MaxAnswerBytes != 0, u.Kind != Sandbox},
		{"concurrency", u.Concurrency != Concurrency{}, u.Kind != Sandbox},
		{"trace", u.Trace != nil, u.Kind != Sandbox},
		{"retries", u.Retries != 0, u.Kind != Sandbox},
		{"break_after", u.BreakAfter != 0, u.Kind != Sandbox},
		{"break_for", u.BreakFor != 0, u.Kind != Sandbox},
	} {
		if s.given && !s.ok {
			all.wrongf(at+"."+s.key, "an upstream of kind %s has none", u.Kind)
		}
	}
	u.checkCheck(all, at)
	if !sendable(u.APIKey) {
		all.wrongf(at+".api_key", "it holds more than one line, or characters that no header can hold")
	}
	if u.APIKey != "" && u.APIKeyFile != "" {
		all.wrongf(at+".api_key_file", "api_key and api_key_file exclude each other")
	}
	for _, s := range []struct {
		key           string
		given, lowest int
	}{
		{"max_concurrent", u.MaxConcurrent, 0}, {"retries", u.Retries, -1}, {"break_after", u.BreakAfter, -1},
	} {
		if s.given < s.lowest {
			all.wrongf(at+"."+s.key, "expected at least %d, got %d", s.lowest, s.given)
		}
	}
	if u.MaxAnswerBytes != 0 && (u.MaxAnswerBytes < 64<<10 || u.MaxAnswerBytes > 120<<20) {
		all.wrongf(at+".max_answer_bytes", "expected 65536 to 125829120 bytes, got %d", u.MaxAnswerBytes)
	}
	for _, s := range []struct {
		key   string
		given Duration
	}{
		{"first_byte", u.FirstByte}, {"idle", u.Idle}, {"deadline", u.Deadline}, {"drain_for", u.DrainFor}, {"break_for", u.BreakFor},
	} {
		if s.given < 0 {
			all.wrongf(at+"."+s.key, "expected a time above 0")
		}
	}
	if u.Takes != "" && u.Takes != "documented" && u.Takes != Everything {
		all.wrongf(at+".takes", "%q is no set of members; one of documented, everything%s", u.Takes, strict.Meant(u.Takes, []string{"documented", Everything}))
	}
	u.checkVersion(all, at)
	if u.StreamUsage != "" && u.StreamUsage != "ask" && u.StreamUsage != Leave {
		all.wrongf(at+".stream_usage", "%q is no policy; one of ask, leave%s", u.StreamUsage, strict.Meant(u.StreamUsage, []string{"ask", Leave}))
	}
	if u.OnCancel != "" && u.OnCancel != "cancel" && u.OnCancel != Drain {
		all.wrongf(at+".on_cancel", "%q is no policy; one of cancel, drain%s", u.OnCancel, strict.Meant(u.OnCancel, []string{"cancel", Drain}))
	}
	if u.DrainFor != 0 && u.OnCancel != Drain {
		all.wrongf(at+".drain_for", "it takes effect with on_cancel: drain only")
	}
	u.Models.check(all, at+".models")
	u.checkAuth(all, at)
	u.checkTransport(all, at)
	for _, name := range slices.Sorted(maps.Keys(u.Headers)) {
		if strings.Trim(strings.ToLower(name), tokenCharacters) != "" || name == "" || !sendable(u.Headers[name]) {
			all.wrongf(at+".headers", "%q cannot be sent as a header", name)
		}
	}
}

// Adapts reports whether a model gets fewer calls at once for a while when the upstream
// refuses many of them.
func (c Concurrency) Adapts() bool { return c.Adaptive == nil || *c.Adaptive }

// tokenCharacters are those of a header's name, by RFC 9110, in lower case.
const tokenCharacters = "abcdefghijklmnopqrstuvwxyz0123456789!#$%&'*+-.^_`|~"
