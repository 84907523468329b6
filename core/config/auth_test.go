package config_test

import (
	"strings"
	"testing"

	"github.com/genway/genway/core/config"
)

func TestAuthMistakes(t *testing.T) {
	for auth, want := range map[string]string{
		`auth: {}`:                       "it names no way",
		`auth: {google: }`:               "it names no way",
		`auth: {gogle: {}}`:              "and 1 more",
		`auth: {google: {}, aws: {}}`:    "google and aws exclude each other",
		`auth: {google: {}}, api_key: k`: "api_key and auth exclude each other",
		`auth: {google: {file: x}}`:      `unknown key "file"`,
		`auth: {google: {credentials_file: x, metadata: true}}`:                                         "exclude each other",
		`auth: {entra: {client_secret: s}}`:                                                             "tenant is missing",
		`auth: {entra: {tenant: t, client_id: c}}`:                                                      "got 0",
		`auth: {entra: {tenant: t, client_id: c, client_secret: s, token_file: f}}`:                     "got 2",
		`auth: {entra: {tenant: t, client_id: c, client_secret: s, authority: "http://login.example"}}`: "expected https://host",
		`auth: {aws: {region: r, source: profil}}`:                                                      `did you mean "profile"?`,
		`auth: {aws: {region: r, source: profile}}`:                                                     "profile is missing",
		`auth: {aws: {region: r, source: instance, profile: p}}`:                                        "source: profile only, and the source is instance",
		`auth: {aws: {region: r, access_key_id: a}}`:                                                    "needs access_key_id and secret_access_key",
		`auth: {aws: {region: r, secret_access_key: s}}`:                                                "source: keys only",
		`auth: {command: {}}`:                                                                           "run is missing",
		`auth: {command: {run: [""]}}`:                                                                  "run is missing",
		`auth: {command: {run: [x], lifetime: -1s}}`:                                                    "expected a time above 0",
		`auth: {command: {run: [x], header: "a b"}}`:                                                    "cannot be sent as a header",
		`auth: {command: {run: x}}`:                                                                     "auth.command.run: expected a list, as in […], got text",
		`auth: {google: {}, command: {run: []}}`:                                                        "google and command exclude each other",
		`kind: generation, target: "t:1", auth: {google: {}}`:                                           "an upstream of kind generation has none",
	} {
		upstream := "kind: chat, base_url: \"https://h/v1\", " + auth
		if strings.HasPrefix(auth, "kind:") {
			upstream = auth
		}
		text := "upstreams:\n  u: {" + upstream + "}\nroutes: [{model: \"*\", targets: [{upstream: u}]}]\n"
		_, err := config.Parse("f.yaml", []byte(text), func(string) (string, bool) { return "", false })
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s\n\tgot  %v\n\twant %s", auth, err, want)
		}
	}
}

// Paths of an upstream's credential begin beside the file, as all others do.
func TestAuthFiles(t *testing.T) {
	text := "upstreams:\n  u: {kind: chat, base_url: \"https://h/v1\", auth: {google: {credentials_file: sa.json}}}\nroutes: [{model: \"*\", targets: [{upstream: u}]}]\n"
	c, err := config.Parse("/etc/genway/genway.yaml", []byte(text), nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := c.Upstreams["u"].Auth.Google.CredentialsFile; got != "/etc/genway/sa.json" {
		t.Errorf("got %s", got)
	}
	if got := c.Upstreams["u"].AuthName("u"); got != "auth.google of upstream u" {
		t.Errorf("got %s", got)
	}
}

func TestProviderMistakes(t *testing.T) {
	for upstream, want := range map[string]string{
		`kind: chat, provider: azur`:                                                             `did you mean "azure"?`,
		`kind: generatecontent, provider: azure, resource: r`:                                    "provider azure does not serve kind generatecontent; it serves chat, responses, images, messages",
		`kind: chat, provider: azure`:                                                            "resource is missing: provider azure is at https://{resource}.openai.azure.com/openai/v1",
		`kind: chat, provider: azure, resource: "a/b"`:                                           "cannot be a part of an address",
		`kind: chat, provider: azure, resource: r, region: eu`:                                   "the address of provider azure for kind chat has none",
		`kind: messages, provider: bedrock, region: r, endpoint: invok`:                          `did you mean "invoke"?`,
		`kind: responses, provider: bedrock, region: r, endpoint: runtime`:                       "no endpoint of provider bedrock for kind responses; one of mantle",
		`kind: chat, provider: groq, endpoint: x`:                                                "provider groq has one endpoint for kind chat",
		`kind: messages, provider: vertex, region: global`:                                       "project is missing",
		`kind: messages, provider: vertex, project: p, region: global, auth: {aws: {region: r}}`: "provider vertex takes a key, command, or google",
		`kind: chat, provider: groq, auth: {google: {}}`:                                         "provider groq takes a key or command",
		`kind: messages, provider: vertex, project: p, region: global, models: discover`:         "does not list its models",
		`kind: messages, provider: vertex, project: p, region: global, path: /x`:                 "are known; leave it out",
		`kind: chat, base_url: "https://h/v1", region: r`:                                        "it takes effect with a provider only",
		`kind: chat, provider: custom`:                                                           "base_url is missing",
		`kind: chat, provider: vllm`:                                                             "base_url is missing",
		`kind: sandbox, provider: openai`:                                                        "an upstream of kind sandbox has none",
		`kind: chat, provider: openai, base_url: "https://h/v1/chat/completions"`:                "is called behind base_url",
	} {
		text := "upstreams:\n  u: {" + upstream + "}\nroutes: [{model: \"*\", targets: [{upstream: u}]}]\n"
		_, err := config.Parse("f.yaml", []byte(text), func(string) (string, bool) { return "", false })
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s\n\tgot  %v\n\twant %s", upstream, err, want)
		}
	}
}

// base_url of a provider may be left out, be another host, or say all.
func TestProviderAddresses(t *testing.T) {
	for upstream, want := range map[string]string{
		`kind: chat, provider: openai`:                                                    "https://api.openai.com/v1",
		`kind: chat, provider: openai, base_url: "https://h"`:                             "https://h/v1",
		`kind: chat, provider: openai, base_url: "https://h/other"`:                       "https://h/other",
		`kind: chat, provider: azure, base_url: "https://h"`:                              "https://h/openai/v1",
		`kind: messages, provider: vertex, project: p, region: eu, base_url: "https://h"`: "https://h/v1/projects/p/locations/eu/publishers/anthropic/models",
		`kind: messages, provider: vertex, base_url: "https://h/v1/x"`:                    "https://h/v1/x",
		`kind: messages, provider: bedrock, endpoint: invoke, region: "${REGION}"`:        "https://bedrock-runtime.${REGION}.amazonaws.com",
		`kind: chat, provider: custom, base_url: "https://h"`:                             "https://h",
	} {
		text := "upstreams:\n  u: {" + upstream + "}\nroutes: [{model: \"*\", targets: [{upstream: u}]}]\n"
		c, err := config.Parse("f.yaml", []byte(text), nil)
		if err != nil {
			t.Errorf("%s: %v", upstream, err)
			continue
		}
		if got := c.Upstreams["u"].BaseURL; got != want {
			t.Errorf("%s: got %s, want %s", upstream, got, want)
		}
	}
}
