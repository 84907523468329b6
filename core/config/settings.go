package config

import (
	"maps"
	"slices"
	"strings"
)

// checkSettings demands that each setting is one the kind has, and within its
// bounds: what would be ignored is not what its writer wants.
func (u Upstream) checkSettings(at string) error {
	remote := u.Kind != "generation" && u.Kind != Sandbox
	for _, s := range []struct {
		key       string
		given, ok bool
	}{
		{"base_url", u.BaseURL != "", remote},
		{"tls", u.TLS, u.Kind == "generation"},
		{"api_key", u.APIKey != "", u.Kind != Sandbox},
		{"api_key_file", u.APIKeyFile != "", u.Kind != Sandbox},
		{"headers", len(u.Headers) > 0, remote},
		{"first_byte", u.FirstByte != 0, u.Kind != Sandbox},
		{"idle", u.Idle != 0, u.Kind != Sandbox},
	} {
		if s.given && !s.ok {
			return wrong(at+"."+s.key, "an upstream of kind %s has none", u.Kind)
		}
	}
	if u.APIKey != "" && u.APIKeyFile != "" {
		return wrong(at+".api_key_file", "api_key and api_key_file exclude each other")
	}
	for _, s := range []struct {
		key           string
		given, lowest int
	}{
		{"max_concurrent", u.MaxConcurrent, 0}, {"retries", u.Retries, -1}, {"break_after", u.BreakAfter, -1},
	} {
		if s.given < s.lowest {
			return wrong(at+"."+s.key, "expected at least %d, got %d", s.lowest, s.given)
		}
	}
	for _, s := range []struct {
		key   string
		given Duration
	}{
		{"first_byte", u.FirstByte}, {"idle", u.Idle}, {"break_for", u.BreakFor},
	} {
		if s.given < 0 {
			return wrong(at+"."+s.key, "expected a time above 0")
		}
	}
	for _, name := range slices.Sorted(maps.Keys(u.Headers)) {
		if strings.Trim(strings.ToLower(name), tokenCharacters) != "" || name == "" || strings.ContainsAny(u.Headers[name], "\r\n\x00") {
			return wrong(at+".headers", "%q cannot be sent as a header", name)
		}
	}
	return nil
}

// tokenCharacters are those of a header's name, by RFC 9110, in lower case.
const tokenCharacters = "abcdefghijklmnopqrstuvwxyz0123456789!#$%&'*+-.^_`|~"
