package console

import (
	"cmp"
	"net/http"
	"strings"

	adminv1 "github.com/genway/genway/gen/genway/admin/v1"
)

// snippet is how one client is set up.
type snippet struct{ Title, Text string }

// client is a client and its snippet. {BASE}, {GRPC}, {KEY} and {MODEL} are replaced.
type client struct{ group, title, text string }

// clients are the SDKs and agents, by the group of the key that they need.
var clients = []client{
	{"chat", "curl", `curl {BASE}/v1/chat/completions -H "Authorization: Bearer {KEY}" -H 'Content-Type: application/json' \
  -d '{"model":"{MODEL}","messages":[{"role":"user","content":"Say hello."}]}'`},
	{"chat", "OpenAI SDK (Python)", `from openai import OpenAI

client = OpenAI(base_url="{BASE}/v1", api_key="{KEY}")
answer = client.responses.create(model="{MODEL}", input="Say hello.")
print(answer.output_text)`},
	{"chat", "Codex (~/.codex/config.toml, with GENWAY_KEY={KEY} in the environment)", `model = "{MODEL}"
model_provider = "genway"

[model_providers.genway]
name = "Genway"
base_url = "{BASE}/v1"
env_key = "GENWAY_KEY"
wire_api = "responses"`},
	{"chat", "opencode (opencode.json)", `{
  "$schema": "https://opencode.ai/config.json",
  "provider": {
    "genway": {
      "npm": "@ai-sdk/openai-compatible",
      "options": {"baseURL": "{BASE}/v1", "apiKey": "{KEY}"},
      "models": {"{MODEL}": {}}
    }
  }
}`},
	{"messages", "Claude Code", `export ANTHROPIC_BASE_URL={BASE}
export ANTHROPIC_AUTH_TOKEN={KEY}
export ANTHROPIC_MODEL={MODEL}
claude`},
	{"messages", "Anthropic SDK (Python)", `from anthropic import Anthropic

client = Anthropic(base_url="{BASE}", api_key="{KEY}")
answer = client.messages.create(model="{MODEL}", max_tokens=256,
                                messages=[{"role": "user", "content": "Say hello."}])
print(answer.content[0].text)`},
	{"messages", "curl", `curl {BASE}/v1/messages -H "x-api-key: {KEY}" -H 'anthropic-version: 2023-06-01' -H 'Content-Type: application/json' \
  -d '{"model":"{MODEL}","max_tokens":256,"messages":[{"role":"user","content":"Say hello."}]}'`},
	{"generatecontent", "Gemini CLI", `export GOOGLE_GEMINI_BASE_URL={BASE}
export GEMINI_API_KEY={KEY}
gemini -m {MODEL}`},
	{"generatecontent", "Google GenAI SDK (Python)", `from google import genai

client = genai.Client(api_key="{KEY}", http_options={"base_url": "{BASE}"})
answer = client.models.generate_content(model="{MODEL}", contents="Say hello.")
print(answer.text)`},
	{"generatecontent", "curl", `curl {BASE}/v1beta/models/{MODEL}:generateContent -H "x-goog-api-key: {KEY}" -H 'Content-Type: application/json' \
  -d '{"contents":[{"parts":[{"text":"Say hello."}]}]}'`},
	{"internal", "grpcurl", `grpcurl -plaintext -H "authorization: Bearer {KEY}" \
  -d '{"model":"{MODEL}","messages":[{"role":"ROLE_USER","parts":[{"text":{"text":"Say hello."}}]}]}' \
  {GRPC} genway.v1.Generation/GenerateText`},
}

type connectPage struct {
	Group    string
	Groups   []choice
	Model    string
	Raw      string // shown this once
	Base     string
	Snippets []snippet
}

func showConnect(c *call) error { return c.showConnect("") }

// showConnect shows the snippets of a group, with a key that was made on the spot if there is one.
func (c *call) showConnect(raw string) error {
	p := connectPage{Group: "chat", Model: cmp.Or(strings.TrimSpace(c.r.FormValue("model")), "sandbox-text"), Raw: raw, Base: c.console.config.Base}
	for _, g := range groups {
		if g.Value == "admin" {
			continue
		}
		if g.Value == c.r.FormValue("group") {
			p.Group = g.Value
		}
	}
	for _, g := range groups {
		if g.Value != "admin" {
			p.Groups = append(p.Groups, choice{Value: g.Value, Title: g.Title, Current: g.Value == p.Group})
		}
	}
	with := strings.NewReplacer("{BASE}", cmp.Or(p.Base, "https://genway.example"), "{GRPC}", cmp.Or(c.console.config.GRPC, "127.0.0.1:9090"),
		"{KEY}", cmp.Or(raw, "$KEY"), "{MODEL}", p.Model)
	for _, client := range clients {
		if client.group == p.Group {
			p.Snippets = append(p.Snippets, snippet{with.Replace(client.title), with.Replace(client.text)})
		}
	}
	c.show(http.StatusOK, "connect.html", "Connect", p)
	return nil
}

// connectWithKey makes a key and shows the snippets with it.
func connectWithKey(c *call) error {
	made, err := c.admin.CreateKey(c.ctx, &adminv1.CreateKeyRequest{
		Group: groupOf(c.r.PostFormValue("group")), Settings: &adminv1.KeySettings{Name: strings.TrimSpace(c.r.PostFormValue("name"))},
	})
	if err != nil {
		return err
	}
	return c.showConnect(made.GetRawKey())
}
