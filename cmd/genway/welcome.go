package main

import (
	"io"
	"net"
	"os"
	"strconv"
	"strings"
	"unicode"

	"github.com/genway/genway/cmd/internal/coreproc"
	"github.com/genway/genway/core/config"
	"github.com/genway/genway/core/keys"
	"github.com/genway/genway/core/store"
)

// welcome is what the first start prints: the keys, this once, and lines to paste.
const welcome = `Genway is up. These are its first keys, one a group; they are shown this once:

  chat             {{Chat}}
  messages         {{Messages}}
  generatecontent  {{GenerateContent}}
  internal         {{Internal}}

Try them:

{{Curl}} {{HTTP}}/v1/chat/completions -H 'Authorization: Bearer {{Chat}}' -H 'Content-Type: application/json' \
  -d '{"model":"{{Text}}","messages":[{"role":"user","content":"Say hello."}]}'

{{Curl}} {{HTTP}}/v1/responses -H 'Authorization: Bearer {{Chat}}' -H 'Content-Type: application/json' \
  -d '{"model":"{{Text}}","input":"Say hello."}'

{{Curl}} {{HTTP}}/v1/messages -H 'x-api-key: {{Messages}}' -H 'anthropic-version: 2023-06-01' -H 'Content-Type: application/json' \
  -d '{"model":"{{Text}}","max_tokens":256,"messages":[{"role":"user","content":"Say hello."}]}'

{{Curl}} {{HTTP}}/v1beta/models/{{Text}}:generateContent -H 'x-goog-api-key: {{GenerateContent}}' -H 'Content-Type: application/json' \
  -d '{"contents":[{"parts":[{"text":"Say hello."}]}]}'

{{Curl}} {{HTTP}}/v1/images/generations -H 'Authorization: Bearer {{Chat}}' -H 'Content-Type: application/json' \
  -d '{"model":"{{Image}}","prompt":"A red square","size":"256x256"}'

{{GRPCurl}} -H 'authorization: Bearer {{Internal}}' \
  -d '{"model":"{{Text}}","messages":[{"role":"ROLE_USER","parts":[{"text":{"text":"Say hello."}}]}]}' \
  {{GRPC}} genway.v1.Generation/GenerateText

More keys: genway keys create --group GROUP{{DataFlag}}
`

// welcomeBack is what later starts print.
const welcomeBack = `Genway is up: JSON on {{JSON}}, gRPC on {{GRPC}}.
Keys are managed with: genway keys list{{DataFlag}}, genway keys create --group GROUP{{DataFlag}}, genway keys revoke KEY{{DataFlag}}
`

type welcomeData struct {
	// Curl and GRPCurl are the commands with what they need to get there.
	Curl, GRPCurl string
	// HTTP is the base URL, JSON the same for people.
	HTTP, JSON, GRPC                          string
	Text, Image                               string
	DataFlag                                  string
	Chat, Messages, GenerateContent, Internal string
}

// reach fills in how the two sides are reached from this machine.
func (d *welcomeData) reach(http, grpc net.Addr, tls bool) {
	d.Curl, d.HTTP = "curl", "http://"+local(http)
	d.JSON = d.HTTP
	if http.Network() == "unix" {
		d.Curl, d.HTTP, d.JSON = "curl --unix-socket "+quoted(http.String()), "http://localhost", "unix:"+http.String()
	}
	d.GRPCurl, d.GRPC = "grpcurl", local(grpc)
	if !tls {
		d.GRPCurl += " -plaintext"
	}
	if grpc.Network() == "unix" {
		d.GRPCurl, d.GRPC = d.GRPCurl+" -unix", quoted(grpc.String())
	}
}

// local gives an address to dial for one to listen on, which may be that of every
// interface.
func local(address net.Addr) string {
	if tcp, ok := address.(*net.TCPAddr); ok && tcp.IP.IsUnspecified() {
		return net.JoinHostPort("127.0.0.1", strconv.Itoa(tcp.Port))
	}
	return address.String()
}

// dataFlag is what other commands need to find the same data, beside the environment.
// It has no URL, which may have a password.
func dataFlag(d coreproc.Data, getenv func(string) string) (string, error) {
	switch {
	case d.Store != "" && d.Store == getenv("GENWAY_STORE"):
		return "", nil
	case store.IsPostgres(d.Store):
		return " --store URL", nil
	case d.Store != "":
		return " --store " + quoted(d.Store), nil
	}
	if d.Config != "" && d.Config != getenv("GENWAY_CONFIG") {
		location, err := config.LoadStore(d.Config, os.LookupEnv)
		if location != "" || err != nil {
			return " --config " + quoted(d.Config), err
		}
	}
	if d.Dir != "" {
		return " --data " + quoted(d.Dir), nil
	}
	return "", nil
}

// quoted gives a word as a shell takes it for one.
func quoted(word string) string {
	if word != "" && !strings.ContainsFunc(word, func(c rune) bool {
		return !unicode.IsLetter(c) && !unicode.IsDigit(c) && !strings.ContainsRune("/._-+:@%,=", c)
	}) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// print writes a text with the members in place of their names. It is no text/template, as
// in core/store.
func (d *welcomeData) print(w io.Writer, text string) error {
	_, err := strings.NewReplacer(
		"{{Curl}}", d.Curl, "{{GRPCurl}}", d.GRPCurl, "{{HTTP}}", d.HTTP, "{{JSON}}", d.JSON, "{{GRPC}}", d.GRPC,
		"{{Text}}", d.Text, "{{Image}}", d.Image, "{{DataFlag}}", d.DataFlag,
		"{{Chat}}", d.Chat, "{{Messages}}", d.Messages, "{{GenerateContent}}", d.GenerateContent, "{{Internal}}", d.Internal,
	).WriteString(w, text)
	return err
}

func printWelcome(w io.Writer, data welcomeData, minted map[keys.Group]string) error {
	data.Chat, data.Messages = minted[keys.GroupChat], minted[keys.GroupMessages]
	data.GenerateContent, data.Internal = minted[keys.GroupGenerateContent], minted[keys.GroupInternal]
	return data.print(w, welcome)
}

func printWelcomeBack(w io.Writer, data welcomeData) error {
	return data.print(w, welcomeBack)
}
