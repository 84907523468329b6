package consoleproc_test

import (
	"testing"

	"github.com/genway/genway/cmd/internal/consoleproc"
	"github.com/genway/genway/console"
	"github.com/genway/genway/core/config"
)

// A reload keeps what is known of an identity provider unless its own section changes.
func TestSignInFollowsTheConfiguration(t *testing.T) {
	section := &config.OIDC{Issuer: "https://a.example", AdminGroups: []string{"a"}}
	s := consoleproc.NewSignIn(func() *config.OIDC { return section })
	first := s.Provider()
	section = &config.OIDC{Issuer: "https://a.example", AdminGroups: []string{"a"}}
	if s.Provider() != first || first.Issuer() != "https://a.example" {
		t.Error("the same section makes another provider")
	}
	section = &config.OIDC{Issuer: "https://a.example", AdminGroups: []string{"b"}}
	if second := s.Provider(); second == nil || second == first || s.Provider() != second {
		t.Error("another section makes no other provider, once")
	}
	if section = nil; s.Provider() != nil {
		t.Error("a section that was removed still signs in")
	}
}

// What the configuration demands of redirect URLs is what the console serves.
func TestCallbackPath(t *testing.T) {
	if config.CallbackPath != console.CallbackPath {
		t.Errorf("%s, %s", config.CallbackPath, console.CallbackPath)
	}
}

func TestFlags(t *testing.T) {
	for given, want := range map[string]string{"": "", "https://api.example.com/": "https://api.example.com", "http://10.0.0.1:8080/genway": "http://10.0.0.1:8080/genway"} {
		if f := (consoleproc.Flags{ConsoleAPI: given}); f.Validate() != nil || f.ConsoleAPI != want {
			t.Errorf("%q is %q", given, f.ConsoleAPI)
		}
	}
	for _, given := range []string{"api.example.com", "ftp://a", "https://", "https://user:secret@a", "https://a?b", "https://a#b", "http://a:b", "\x00"} {
		if f := (consoleproc.Flags{ConsoleAPI: given}); f.Validate() == nil {
			t.Errorf("%q is an address", given)
		}
	}
}
