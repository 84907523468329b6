//go:build unix

package shared_test

import (
	"context"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/genway/genway/core/limit"
	"github.com/genway/genway/core/limit/shared"
	"github.com/genway/genway/internal/certs/certtest"
	"github.com/genway/genway/test/servers"
)

// write puts a file where the server's user can read it.
func write(t *testing.T, dir, name string, text []byte) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, text, 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// Case X54: a server counts that demands TLS, a certificate of its clients and a user with only
// the commands and keys of docs/access.md. Where one of these is wrong, the server does not answer;
// no log has the password.
func TestX54ASecuredServer(t *testing.T) {
	dir, err := os.MkdirTemp("", "genway-tls-") // t.TempDir is for this user only
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	authority, other := certtest.New(t, "redis"), certtest.New(t, "another")
	_, cert, key := authority.Issue(t, certtest.Names{})
	ca, strange := write(t, dir, "ca.pem", authority.PEM()), write(t, dir, "other.pem", other.PEM())
	certFile, keyFile := write(t, dir, "cert.pem", cert), write(t, dir, "key.pem", key)
	const password = "hunter2 +&?@/"
	commands := strings.Fields("eval evalsha script|load multi exec pexpire get set hget hset hmget hexists hdel zadd zcard zrem zrangebyscore zremrangebyscore pttl time")
	acl := write(t, dir, "users.acl", []byte("user default off\nuser genway on >"+strings.ReplaceAll(password, " ", "")+" ~{"+t.Name()+"}:* +"+strings.Join(commands, " +")+"\n"))
	port := servers.SecuredRedis(t, "--tls-cert-file", certFile, "--tls-key-file", keyFile, "--tls-ca-cert-file", ca, "--aclfile", acl)
	at := func(user, password, query string) string {
		return "rediss://" + url.UserPassword(user, strings.ReplaceAll(password, " ", "")).String() + "@127.0.0.1:" + port + "?" + query
	}
	client := "&cert_file=" + certFile + "&key_file=" + keyFile
	for name, c := range map[string]struct {
		url         string
		unavailable bool
	}{
		"right":                    {at("genway", password, "ca_file="+ca+client), false},
		"a wrong password":         {at("genway", password+"x", "ca_file="+ca+client), true},
		"a wrong user":             {at("genwaz", password, "ca_file="+ca+client), true},
		"another authority":        {at("genway", password, "ca_file="+strange+client), true},
		"no certificate":           {at("genway", password, "ca_file="+ca), true},
		"the system's authorities": {at("genway", password, client[1:]), true},
		"cleartext":                {strings.Replace(strings.Split(at("genway", password, ""), "?")[0], "rediss", "redis", 1), true},
	} {
		t.Run(name, func(t *testing.T) {
			var log syncBuffer
			s, err := shared.Start(context.WithoutCancel(t.Context()), shared.Config{
				URL: c.url, Prefix: "TestX54ASecuredServer", Timeout: answerWithin, Logger: slog.New(slog.NewTextHandler(&log, nil)), Policy: shared.Policy{Local: true, Share: 1},
			})
			if err != nil {
				t.Fatal(err)
			}
			w := who(limit.Limits{RequestsPerMinute: 100, TokensPerMinute: 1000, Concurrent: 5, Budgets: []limit.Budget{{Amount: 100, Period: limit.Day}}})
			r, refusal := ask(t, limit.New(s, limit.Rules{}), w, limit.Amount{Tokens: 3, Cost: 3})
			if refusal != nil {
				t.Fatalf("%+v", refusal)
			}
			if gauges, err := limit.New(s, limit.Rules{}).Gauges(t.Context(), w); err != nil || len(gauges) != 4 || gauges[0].Known == c.unavailable {
				t.Errorf("%+v, %v", gauges, err)
			}
			r.Extend(limit.Amount{Tokens: 2, Cost: 2})
			r.Settle(limit.Amount{Tokens: 4, Cost: 4})
			if s.Unavailable() != c.unavailable {
				t.Errorf("unavailable: %t\n%s", s.Unavailable(), &log)
			}
			if c.unavailable {
				_ = s.Close() // the error names what was not sent
			} else {
				closed(t, s)
				if strings.Contains(log.String(), "does not answer") {
					t.Errorf("a command is refused: %s", &log)
				}
			}
			if strings.Contains(log.String(), "hunter2") {
				t.Errorf("the password is in the log: %s", &log)
			}
		})
	}
	if _, err := shared.Start(t.Context(), shared.Config{URL: "rediss://:hunter2@h?ca_file=" + filepath.Join(dir, "none.pem")}); err == nil || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("authorities that are not there: %v", err)
	}
	if _, err := shared.Start(t.Context(), shared.Config{URL: "rediss://:hunter2@h?ca_file=" + keyFile}); err == nil || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("authorities that are none: %v", err)
	}
	if _, err := shared.Start(t.Context(), shared.Config{URL: "rediss://:hunter2@h?cert_file=" + ca + "&key_file=" + keyFile}); err == nil || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("a certificate of another key: %v", err)
	}
}
