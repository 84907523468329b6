package main

import (
	"io"
	"net"
	"strconv"
	"strings"

	"github.com/genway/genway/cmd/internal/cli"
	"github.com/genway/genway/core/keys"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

// welcomeKeys, the lines to paste and welcomeMore are what the first start prints: the
// keys, this once.
const welcomeKeys = `Genway is up. These are its first keys, one a group; they are shown this once:

  chat             {{Chat}}
  messages         {{Messages}}
  generatecontent  {{GenerateContent}}
  internal         {{Internal}}

`

// tries are the lines to paste, one for each way to ask. A line is printed where a model is
// known that can be asked for in this way.
var tries = []struct {
	protocol genwayv1.Protocol
	text     string
}{
	{genwayv1.Protocol_PROTOCOL_CHAT_COMPLETIONS, `{{Curl}} {{HTTP}}/v1/chat/completions -H 'Authorization: Bearer {{Chat}}' -H 'Content-Type: application/json' \
  -d '{"model":"{{Model}}","messages":[{"role":"user","content":"Say hello."}]}'
`},
	{genwayv1.Protocol_PROTOCOL_RESPONSES, `{{Curl}} {{HTTP}}/v1/responses -H 'Authorization: Bearer {{Chat}}' -H 'Content-Type: application/json' \
  -d '{"model":"{{Model}}","input":"Say hello."}'
`},
	{genwayv1.Protocol_PROTOCOL_MESSAGES, `{{Curl}} {{HTTP}}/v1/messages -H 'x-api-key: {{Messages}}' -H 'anthropic-version: 2023-06-01' -H 'Content-Type: application/json' \
  -d '{"model":"{{Model}}","max_tokens":256,"messages":[{"role":"user","content":"Say hello."}]}'
`},
	{genwayv1.Protocol_PROTOCOL_GENERATE_CONTENT, `{{Curl}} {{HTTP}}/v1beta/models/{{Model}}:generateContent -H 'x-goog-api-key: {{GenerateContent}}' -H 'Content-Type: application/json' \
  -d '{"contents":[{"parts":[{"text":"Say hello."}]}]}'
`},
	{genwayv1.Protocol_PROTOCOL_IMAGES, `{{Curl}} {{HTTP}}/v1/images/generations -H 'Authorization: Bearer {{Chat}}' -H 'Content-Type: application/json' \
  -d '{"model":"{{Model}}","prompt":"A red square","size":"{{Size}}"}'
`},
	{genwayv1.Protocol_PROTOCOL_UNSPECIFIED, `{{GRPCurl}} -H 'authorization: Bearer {{Internal}}' \
  -d '{"model":"{{Model}}","messages":[{"role":"ROLE_USER","parts":[{"text":{"text":"Say hello."}}]}]}' \
  {{GRPC}} genway.v1.Generation/GenerateText
`},
}

const welcomeMore = `More keys: genway keys create --group GROUP{{DataFlag}}
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
	DataFlag                                  string
	Chat, Messages, GenerateContent, Internal string
	// Models are what to ask for in each protocol; no entry where none is known.
	Models map[genwayv1.Protocol]string
	// Size is that of the image to ask for.
	Size string
}

// reach fills in how the two sides are reached from this machine.
func (d *welcomeData) reach(http, grpc net.Addr, tls bool) {
	d.Curl, d.HTTP = "curl", "http://"+local(http)
	d.JSON = d.HTTP
	if http.Network() == "unix" {
		d.Curl, d.HTTP, d.JSON = "curl --unix-socket "+cli.ShellWord(http.String()), "http://localhost", "unix:"+http.String()
	}
	d.GRPCurl, d.GRPC = "grpcurl", local(grpc)
	if !tls {
		d.GRPCurl += " -plaintext"
	}
	if grpc.Network() == "unix" {
		d.GRPCurl, d.GRPC = d.GRPCurl+" -unix", cli.ShellWord(grpc.String())
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

// print writes a text with the members in place of their names. It is no text/template, as
// in core/store.
func (d *welcomeData) print(w io.Writer, text string) error {
	_, err := strings.NewReplacer(
		"{{Curl}}", d.Curl, "{{GRPCurl}}", d.GRPCurl, "{{HTTP}}", d.HTTP, "{{JSON}}", d.JSON, "{{GRPC}}", d.GRPC,
		"{{DataFlag}}", d.DataFlag, "{{Size}}", d.Size,
		"{{Chat}}", d.Chat, "{{Messages}}", d.Messages, "{{GenerateContent}}", d.GenerateContent, "{{Internal}}", d.Internal,
	).WriteString(w, text)
	return err
}

func printWelcome(w io.Writer, data welcomeData, minted map[keys.Group]string) error {
	data.Chat, data.Messages = minted[keys.GroupChat], minted[keys.GroupMessages]
	data.GenerateContent, data.Internal = minted[keys.GroupGenerateContent], minted[keys.GroupInternal]
	text := welcomeKeys
	for _, try := range tries {
		model, known := data.Models[try.protocol]
		if !known {
			continue
		}
		if !strings.Contains(text, tryThem) {
			text += tryThem
		}
		text += strings.ReplaceAll(try.text, "{{Model}}", model) + "\n"
	}
	return data.print(w, text+welcomeMore)
}

const tryThem = "Try them:\n\n"

func printWelcomeBack(w io.Writer, data welcomeData) error {
	return data.print(w, welcomeBack)
}
