package config_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/genway/genway/core/config"
)

// An address that would not be what its writer has in mind is refused by name.
func TestAddressesOfUpstreams(t *testing.T) {
	for _, c := range []struct{ upstream, fails string }{
		{`kind: chat, base_url: "https://h"`, ""},
		{`kind: chat, base_url: "https://h/v1beta/openai?a=1"`, ""},
		{`kind: chat, base_url: "https://h/v1/chat/completions", path: /`, ""},
		{`kind: chat, base_url: "https://h/v1", path: "a%2Fb", query: {api-version: "7", empty: ""}`, ""},
		{`kind: messages, base_url: "https://h/anthropic"`, ""},
		{`kind: chat, base_url: "https://h/v1/chat/completions"`, "base_url: chat/completions is called behind base_url"},
		{`kind: chat, base_url: "https://h/v1/chat/completions/?a=1"`, "base_url: chat/completions is called behind base_url"},
		{`kind: responses, base_url: "https://h/v1/responses"`, "base_url: responses is called"},
		{`kind: messages, base_url: "https://h/v1/messages"`, "base_url: messages is called"},
		{`kind: images, base_url: "https://h/v1/images/generations"`, "base_url: images/generations is called"},
		{`kind: generatecontent, base_url: "https://h/v1beta/models/m:generateContent"`, "base_url: :generateContent is called"},
		{`kind: generatecontent, base_url: "https://h/v1beta/models"`, "base_url: models is called"},
		{`kind: chat, base_url: "https://h:65535/v1"`, ""},
		{`kind: chat, base_url: "https://[::1]:1/v1"`, ""},
		{`kind: chat, base_url: "https://h:0/v1"`, "base_url: expected a port from 1 to 65535, got 0"},
		{`kind: chat, base_url: "https://h:65536/v1"`, "base_url: expected a port from 1 to 65535, got 65536"},
		{`kind: chat, base_url: "https://h/v1#top"`, "base_url: a fragment"},
		{`kind: chat, base_url: "https://h/v1#"`, "base_url: a fragment"},
		{`kind: chat, base_url: "https://h/v1?a=%zz"`, "base_url: its query is malformed"},
		{`kind: chat, base_url: "ftp://u:secret-1@h"`, "base_url: expected http(s)://host[/path]"},
		{`kind: chat, base_url: "h/v1"`, `base_url: "h/v1" is no http(s) URL`},
		{`kind: chat, base_url: "https://h", path: "a?b=1"`, "path: expected a path"},
		{`kind: chat, base_url: "https://h", path: "a#b"`, "path: expected a path"},
		{`kind: chat, base_url: "https://h", path: "a b"`, "path: expected a path"},
		{`kind: chat, base_url: "https://h", path: "%zz"`, "path: expected a path"},
		{`kind: chat, base_url: "https://h", path: "https://h/v1"`, "path: expected a path"},
		{`kind: chat, base_url: "https://h", query: {"": x}`, "query: a member without a name"},
		{`kind: chat, base_url: "https://h?a=1", query: {a: "2"}`, `query: "a" is in the query of base_url, too`},
		{`kind: generation, target: "h:1", path: /x`, "path: an upstream of kind generation has none"},
		{`kind: sandbox, query: {a: b}`, "query: an upstream of kind sandbox has none"},
	} {
		_, err := config.Parse("f", fmt.Appendf(nil, "upstreams: {u: {%s}}\nroutes: [{model: m, targets: [{upstream: u}]}]\n", c.upstream), getenv)
		if (err == nil) != (c.fails == "") || err != nil && !strings.Contains(err.Error(), "upstreams.u."+c.fails) {
			t.Errorf("%s: %v", c.upstream, err)
		}
		if err != nil && strings.Contains(err.Error(), "secret-1") {
			t.Errorf("%s: shows a credential: %v", c.upstream, err)
		}
	}
}
