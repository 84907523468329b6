package main

import (
	"crypto/x509"
	"io"
	"net"
	"slices"
	"strconv"
	"strings"

	"github.com/genway/genway/cmd/internal/cli"
	"github.com/genway/genway/cmd/internal/edgeproc"
	"github.com/genway/genway/core/keys"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/genway/genway/protocol"
)

// welcomeKeys or welcomeFile, the lines to paste and welcomeMore are what the first start
// prints: the keys, this once, or where they are.
const welcomeKeys = `Genway is up. These are its first keys, one for each group but admin. They are shown only now:

  chat             {{Chat}}
  messages         {{Messages}}
  generatecontent  {{GenerateContent}}
  internal         {{Internal}}

`

const welcomeFile = `Genway is up. Its first keys, one for each group but admin, are in a file that only this user can read.
The lines below take them from variables, which are set by:

  . {{File}}

`

// tryDirect is the line to paste that asks by gRPC.
const tryDirect = `{{GRPCurl}} -H "authorization: Bearer {{Internal}}" \
  -d '{"model":"{{Model}}","messages":[{"role":"ROLE_USER","parts":[{"text":{"text":"Say hello."}}]}]}' \
  {{GRPC}} genway.v1.Generation/GenerateText
`

// try is the line to paste that asks by a protocol. It is printed where a model is known
// that can be asked for in this way.
func try(p *protocol.Protocol, key string) string {
	if p == protocol.Direct {
		return tryDirect
	}
	header := "Authorization: Bearer "
	if names := p.Key.Headers; len(names) > 0 {
		header = names[0] + ": "
	}
	line := `{{Curl}} {{HTTP}}` + p.Path("{{Model}}") + ` -H "` + header + key + `"`
	if v := p.Version; len(v.Headers) > 0 {
		line += " -H '" + v.Headers[0] + ": " + v.Oldest + "'"
	}
	return line + " -H 'Content-Type: application/json' \\\n  -d '" + p.Example + "'\n"
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
	// File has the first keys, if they are not printed.
	File string
	// Console is where the console is; empty for none.
	Console string
	// Size is that of the image to ask for.
	Size string
}

// reach fills in how the two sides are reached from this machine.
func (d *welcomeData) reach(http edgeproc.Listener, grpc net.Addr, tls bool) {
	at := http.Addr()
	d.Curl, d.HTTP = "curl", http.Scheme()+"://"+local(at)
	d.JSON = d.HTTP
	if http.Certificates != nil {
		d.certified(local(at), http.Certificates.Current().Certificates[0].Leaf)
	}
	if at.Network() == "unix" {
		d.Curl, d.HTTP, d.JSON = "curl --unix-socket "+cli.ShellWord(at.String()), http.Scheme()+"://localhost", "unix:"+at.String()
	}
	d.GRPCurl, d.GRPC = "grpcurl", local(grpc)
	if !tls {
		d.GRPCurl += " -plaintext"
	}
	if grpc.Network() == "unix" {
		d.GRPCurl, d.GRPC = d.GRPCurl+" -unix", cli.ShellWord(grpc.String())
	}
}

// certified has curl ask for a name that the certificate has, at an address that it need not
// have.
func (d *welcomeData) certified(at string, leaf *x509.Certificate) {
	host, port, err := net.SplitHostPort(at)
	if err != nil || leaf.VerifyHostname(host) == nil {
		return
	}
	for _, name := range leaf.DNSNames {
		if !strings.HasPrefix(name, "*") {
			d.Curl, d.HTTP = "curl --connect-to ::"+at, "https://"+net.JoinHostPort(name, port)
			return
		}
	}
}

// local returns the address to dial for a listener's address: loopback if it listens on all interfaces.
func local(address net.Addr) string {
	if tcp, ok := address.(*net.TCPAddr); ok && tcp.IP.IsUnspecified() {
		return net.JoinHostPort("127.0.0.1", strconv.Itoa(tcp.Port))
	}
	return address.String()
}

// print writes a text with the members in place of their names.
func (d *welcomeData) print(w io.Writer, text string) error {
	_, err := strings.NewReplacer(
		"{{Curl}}", d.Curl, "{{GRPCurl}}", d.GRPCurl, "{{HTTP}}", d.HTTP, "{{JSON}}", d.JSON, "{{GRPC}}", d.GRPC,
		"{{DataFlag}}", d.DataFlag, "{{File}}", cli.ShellWord(d.File), "{{Size}}", d.Size, "{{Console}}", d.Console,
		"{{Chat}}", d.Chat, "{{Messages}}", d.Messages, "{{GenerateContent}}", d.GenerateContent, "{{Internal}}", d.Internal,
	).WriteString(w, text)
	return err
}

func printWelcome(w io.Writer, data welcomeData, first firstKeys) error {
	text, minted := welcomeKeys, first.minted
	if data.File = first.file; data.File != "" {
		text, minted = welcomeFile, map[keys.Group]string{}
		for group := range first.minted {
			minted[group] = "$" + keyVariable(group)
		}
	}
	data.Chat, data.Messages = minted[keys.GroupChat], minted[keys.GroupMessages]
	data.GenerateContent, data.Internal = minted[keys.GroupGenerateContent], minted[keys.GroupInternal]
	for _, p := range append(slices.Clip(protocol.All()), protocol.Direct) {
		model, known := data.Models[p.ID]
		if !known {
			continue
		}
		if !strings.Contains(text, tryThem) {
			text += tryThem
		}
		text += strings.ReplaceAll(try(p, minted[keys.Group(p.KeyGroup)]), "{{Model}}", model) + "\n"
	}
	switch {
	case data.Console == "":
	case data.File == "":
		text += "Console: " + first.link + "\n(the link signs in once, within an hour)\n\n"
	default:
		text += "Console: {{Console}} (the file has a link that signs in once, within an hour)\n\n"
	}
	return data.print(w, text+welcomeMore)
}

const tryThem = "Try them:\n\n"

func printWelcomeBack(w io.Writer, data welcomeData) error {
	text := welcomeBack
	if data.Console != "" {
		text += "Console: {{Console}}; a link that signs in: genway console link{{DataFlag}}\n"
	}
	return data.print(w, text)
}
