//go:build unix

package store_test

import (
	"context"
	"net"
	"net/url"
	"strings"
	"testing"

	"github.com/genway/genway/core/store"
	"github.com/genway/genway/test/servers"
)

// asUser is a database's URL for another user.
func asUser(t testing.TB, location, user, password string) string {
	t.Helper()
	u, err := url.Parse(location)
	if err != nil {
		t.Fatal(err)
	}
	u.User = url.UserPassword(user, password)
	return u.String()
}

// Errors say where and why, in one line without the password.
func TestPostgresOpenErrors(t *testing.T) {
	const secret = "canary-password"
	location := servers.PostgresDatabase(t)
	none, err := url.Parse(location)
	if err != nil {
		t.Fatal(err)
	}
	none.Path = "/none"
	tests := map[string]struct{ location, want string }{
		"wrong password":  {asUser(t, location, "genway", secret), `: password authentication failed for user "genway" (SQLSTATE 28P01)`},
		"no such user":    {asUser(t, location, "nobody", secret), `: password authentication failed for user "nobody" (SQLSTATE 28P01)`},
		"no database":     {none.String(), `: database "none" does not exist (SQLSTATE 3D000)`},
		"no server":       {"postgres://u:" + secret + "@127.0.0.1:1/genway?sslmode=disable", "open store postgres://u@127.0.0.1:1/genway: dial tcp 127.0.0.1:1: connect: connection refused"},
		"no socket":       {"postgres://u:" + secret + "@/genway?host=/none", "open store postgres://u@/genway?host=/none: dial unix /none/.s.PGSQL.5432: connect: no such file or directory"},
		"no servers":      {"postgres://u:" + secret + "@127.0.0.1:1,[::1]:2/genway", "open store postgres://u@127.0.0.1:1,[::1]:2/genway: dial tcp "},
		"bad escape":      {"postgres://u:" + secret + "%zz@host/genway", "open store: the PostgreSQL URL is malformed; "},
		"bad port":        {"postgres://u:" + secret + "/x@host:5432/genway", "open store: the PostgreSQL URL is malformed; "},
		"bad parameter":   {"postgres://u:" + secret + "@host/genway?sslmode=perhaps", "open store: the PostgreSQL URL is not valid: sslmode is invalid"},
		"bad timeout":     {"postgres://u@host/genway?password=" + secret + "&connect_timeout=" + secret, "open store: the PostgreSQL URL is not valid: a parameter is not valid"},
		"unknown setting": {strings.Replace(location, "?", "?colour=blue&", 1), `: unrecognized configuration parameter "colour" (SQLSTATE 42704)`},
		"another kind":    {"mysql://u:" + secret + "@host/genway", "open store: mysql:// is no kind of store: "},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			s, err := store.Open(t.Context(), store.Config{Location: test.location})
			if err == nil {
				s.Close()
				t.Fatal("it opened")
			}
			if !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("got %q, want one line with %q", err, test.want)
			}
			if strings.Contains(err.Error(), "canary") {
				t.Errorf("%q has the password", err)
			}
		})
	}
}

// A server that takes connections and says nothing is given up.
func TestPostgresConnectTimeout(t *testing.T) {
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	_, err = store.Open(t.Context(), store.Config{Location: "postgres://u@" + listener.Addr().String() + "/genway?sslmode=disable&connect_timeout=1"})
	if err == nil || !strings.HasSuffix(err.Error(), "/genway: no answer within 1s") {
		t.Errorf("got %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := store.Open(ctx, store.Config{Location: "postgres://u@" + listener.Addr().String() + "/genway"}); err == nil {
		t.Error("it opened when its context had ended")
	}
}

// The server ends what a core that is cut off has left, unless the URL says otherwise.
func TestPostgresSettings(t *testing.T) {
	location := servers.PostgresDatabase(t)
	for name, test := range map[string]struct {
		add     string
		relaxed bool
		want    map[string]string
	}{
		"default": {"", false, map[string]string{"application_name": "genway", "statement_timeout": "1min", "lock_timeout": "5s", "idle_in_transaction_session_timeout": "1min", "synchronous_commit": "on"}},
		"own":     {"&statement_timeout=3s&application_name=mine", true, map[string]string{"application_name": "mine", "statement_timeout": "3s", "lock_timeout": "5s", "synchronous_commit": "on"}},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := store.Open(t.Context(), store.Config{Location: location + test.add, RelaxLedger: test.relaxed})
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			for setting, want := range test.want {
				if got := s.Setting(t, setting, false); got != want {
					t.Errorf("%s is %s, want %s", setting, got, want)
				}
			}
			want := map[bool]string{false: "on", true: "off"}[test.relaxed]
			if got := s.Setting(t, "synchronous_commit", true); got != want {
				t.Errorf("the ledger's synchronous_commit is %s, want %s", got, want)
			}
		})
	}
}
