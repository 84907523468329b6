package endpoint_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/genway/genway/core/limit/shared/endpoint"
)

func TestParse(t *testing.T) {
	const many = "h1,h2,h3,h4,h5,h6,h7,h8,"
	for text, want := range map[string]string{
		"redis://":                     " tcp [localhost:6379]",
		"redis://host":                 " tcp [host:6379]",
		"redis://host:1/":              " tcp [host:1]",
		"redis://user:secret@host:1/2": " tcp [host:1] user secret db=2",
		"redis://:p%40ss@host":         " tcp [host:6379]  p@ss",
		"rediss://[::1]:1":             " tcp [[::1]:1] tls",
		"REDISS://host":                " tcp [host:6379] tls",
		"rediss://h?ca_file=/a&cert_file=/b&key_file=/c": " tcp [h:6379] tls /a /b /c",
		"unix:///a/b":              " unix [/a/b]",
		"unix://:secret@/a/b?db=2": " unix [/a/b]  secret db=2",
		"redis+sentinel://a,b:1/m": "sentinel tcp [a:26379 b:1] m",
		"redis+sentinel://u:secret@a/m/3?sentinel_username=s&sentinel_password=t": "sentinel tcp [a:26379] m u secret s t db=3",
		"rediss+sentinel://[::1],a/m?ca_file=/a":                                  "sentinel tcp [[::1]:26379 a:26379] m tls /a",
		"redis+cluster://:secret@a:1,b:2,c":                                       "cluster tcp [a:1 b:2 c:6379]  secret",
		"redis+cluster://a/0":                                                     "cluster tcp [a:6379]",
		"rediss+cluster://a":                                                      "cluster tcp [a:6379] tls",

		"":                              "it has no scheme; write redis://host:6379/0",
		"localhost":                     "it has no scheme; write redis://host:6379/0",
		"unix://secret":                 "unix:///PATH has a host",
		"unix://":                       "unix:///PATH has no path",
		"unix:///a?db=1&db=2":           `its parameter "db" is there twice`,
		"unix:///a/b?db=secret":         "its database is no number; write redis://host:6379/0",
		"redis://:secret@host/-1":       "its database is no number; write redis://host:6379/0",
		"redis://h/9223372036854775808": "its database is no number; write redis://host:6379/0",
		"redis://:secret@host?pool=1":   `its parameter "pool" is not known`,
		"redis://h?ca_file=/a":          `its parameter "ca_file" is not known`,
		"redis://h?sentinel_password=a": `its parameter "sentinel_password" is not known`,
		"rediss://h?cert_file=/a":       "cert_file and key_file belong together",
		"redis://h#secret":              "it has a fragment; write # as %23",
		"http://:secret@host":           "its scheme is none of redis, rediss, redis+sentinel, rediss+sentinel, redis+cluster, rediss+cluster and unix",
		"redis+other://h":               "its scheme is none of redis, rediss, redis+sentinel, rediss+sentinel, redis+cluster, rediss+cluster and unix",
		"unix+cluster:///a":             "its scheme is none of redis, rediss, redis+sentinel, rediss+sentinel, redis+cluster, rediss+cluster and unix",
		"redis://:secret@host:port":     `invalid port ":port" after host; write redis://host:6379/0`,
		"redis://host:0":                "it has a port that is not 1 to 65535",
		"redis://host:65536":            "it has a port that is not 1 to 65535",
		"redis://a,b":                   "it names several hosts; write redis+sentinel:// or redis+cluster://",
		"redis+cluster://":              "it has an empty host; write HOST:PORT between commas",
		"redis+cluster://a,,b":          "it has an empty host; write HOST:PORT between commas",
		"redis+cluster://a,:1":          "it has an empty host; write HOST:PORT between commas",
		"redis+cluster://a,a:6379":      "it names a host twice",
		"redis+cluster://a/1":           "a cluster has only the database 0",
		"redis+sentinel://a":            "it does not name the servers; write redis+sentinel://host:26379/MASTER/0",
		"redis+sentinel://a/m/x":        "its database is no number; write redis://host:6379/0",
		"redis+cluster://" + strings.Repeat(many, 8) + "z": "it names more than 64 hosts",
		"redis://:sec ret%zz@h":                            "it cannot be read; write redis://host:6379/0",
	} {
		e, err := endpoint.Parse(text)
		got := fmt.Sprint(err)
		if err == nil {
			got = fmt.Sprintf("%s %s %s", e.Kind, e.Network, e.Addresses)
			if e.Master != "" {
				got += " " + e.Master
			}
			if e.Password != "" {
				got += " " + e.Username + " " + e.Password
			}
			if e.SentinelPassword != "" {
				got += " " + e.SentinelUsername + " " + e.SentinelPassword
			}
			if e.Database != 0 {
				got += fmt.Sprint(" db=", e.Database)
			}
			if e.TLS {
				got = strings.TrimRight(strings.Join([]string{got, "tls", e.CAFile, e.CertFile, e.KeyFile}, " "), " ")
			}
		}
		if got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}
