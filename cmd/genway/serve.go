package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/genway/genway/cmd/internal/cli"
	"github.com/genway/genway/cmd/internal/consoleproc"
	"github.com/genway/genway/cmd/internal/coreproc"
	"github.com/genway/genway/cmd/internal/edgeproc"
	"github.com/genway/genway/console"
	"github.com/genway/genway/core/keys"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/genway/genway/internal/transport/pipe"
	"github.com/genway/genway/protocol"
	"golang.org/x/sync/errgroup"
	"golang.org/x/term"
)

type serveCommand struct {
	coreproc.CoreFlags
	edgeproc.EdgeFlags
	cli.Log
	Console string `env:"GENWAY_CONSOLE" default:"auto" placeholder:"ADDR" group:"Console:" help:"Address of the console: HOST:PORT, unix:PATH, off, or auto: 127.0.0.1:8088 unless that is taken."`
	consoleproc.Flags
	FirstKeys string `env:"GENWAY_FIRST_KEYS" enum:"auto,print,file,none" default:"auto" group:"Data:" help:"Where the keys of the first start go: print, file (first-keys in --data), none, or auto: print on a terminal, else file."`
}

// Run serves until ctx ends. Both sides end together; the last requests of the edge
// still have the core, which they reach without its listener.
func (c *serveCommand) Run(ctx context.Context, stdout io.Writer) error {
	log, written := c.Logger()
	cli.UseForGRPC(log)
	defer written()
	cli.TuneMemory(c.Debug != "")
	grpcListener, err := c.ListenGRPC(ctx)
	if err != nil {
		return err
	}
	httpListener, err := c.ListenHTTP(ctx)
	if err != nil {
		return errors.Join(err, grpcListener.Close())
	}
	pages, err := consoleproc.Listen(ctx, c.Console, consoleTLS(httpListener), log)
	if err != nil {
		return errors.Join(err, grpcListener.Close(), httpListener.Close())
	}
	core, err := c.Open(ctx, log)
	if err != nil {
		return errors.Join(err, grpcListener.Close(), httpListener.Close(), pages.Close())
	}
	limited, err := core.Limit(grpcListener, c.Connections)
	if err != nil {
		return errors.Join(err, grpcListener.Close(), httpListener.Close(), pages.Close(), core.Close())
	}
	reached, err := c.greet(ctx, stdout, core, listeners{httpListener, grpcListener.Addr(), pages}, log)
	if err != nil {
		return errors.Join(err, grpcListener.Close(), httpListener.Close(), pages.Close(), core.Close())
	}
	log.Info("genway is up", "version", cli.Version(), httpListener.Scheme(), httpListener.Addr().String(), "grpc", grpcListener.Addr().String())
	ctx, release := cli.Delay(ctx, c.ShutdownDelay, log)
	defer release()
	defer cli.TellEnd(ctx, log, c.Grace)()
	c.UseGate(core.Gate())
	c.UseTelemetry(core.Telemetry(), core.Board())
	var gatewayOf func(context.Context, netip.Addr) (net.Conn, error)
	if pages != nil {
		inside := pipe.NewListener()
		c.UseInside(inside)
		gatewayOf = inside.Dial
	}
	var group errgroup.Group
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	group.Go(func() error {
		defer stop()
		return c.Serve(ctx, httpListener, core.Channel(), c.Grace, log, core.CountConnection)
	})
	group.Go(func() error {
		defer stop()
		return core.Serve(ctx, limited)
	})
	group.Go(func() error {
		return c.ServeConsole(ctx, pages, core, console.Config{Admin: core.AdminChannel(), Generation: core.DirectChannel(), Gateway: gatewayOf, Base: reached.HTTP, GRPC: reached.GRPC, Version: cli.Version(), Logger: log}) //nolint:contextcheck // each call has its own
	})
	return errors.Join(group.Wait(), core.Close())
}

// consoleTLS is how the console encrypts: as the JSON side.
func consoleTLS(http edgeproc.Listener) *tls.Config {
	if http.Certificates == nil {
		return nil
	}
	return http.Certificates.Server(&tls.Config{MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"}})
}

// listeners are where a server can be reached.
type listeners struct {
	http  edgeproc.Listener
	grpc  net.Addr
	pages *consoleproc.Listener
}

// greet prints the first keys or where they are, or where keys are managed, and how the server
// is reached, which it returns.
func (c *serveCommand) greet(ctx context.Context, stdout io.Writer, core *coreproc.Core, at listeners, log *slog.Logger) (welcomeData, error) {
	data := welcomeData{Models: core.Models(), Size: "1024x1024"}
	if c.Config == "" {
		data.Size = "256x256"
	}
	data.reach(at.http, at.grpc, c.Cert != "")
	if at.pages != nil {
		data.Console = at.pages.URL()
	}
	var err error
	if data.DataFlag, err = c.Flag(os.Getenv); err != nil {
		return data, err
	}
	if welcomed, err := c.makeFirstKeys(ctx, stdout, core, data, log); err != nil || welcomed {
		return data, err
	}
	return data, printWelcomeBack(stdout, data)
}

// What the first start does about keys.
const (
	keysAuto  = "auto"
	keysPrint = "print"
	keysFile  = "file"
	keysNone  = "none"
)

// firstKeys are the keys of a first start, and where they are.
type firstKeys struct {
	minted map[keys.Group]string
	file   string // empty if they are printed
	link   string // signs in to the console, once; empty for no console
}

// makeFirstKeys makes the keys of a first start, once they are printed or in a file: a key that exists first would be lost
// where neither can be written. Of a first start it prints the welcome, which it reports.
func (c *serveCommand) makeFirstKeys(ctx context.Context, stdout io.Writer, core *coreproc.Core, data welcomeData, log *slog.Logger) (welcomed bool, err error) {
	way := cmp.Or(c.FirstKeys, keysAuto)
	auto := way == keysAuto
	if auto {
		way = keysFile
		if out, ok := stdout.(*os.File); ok && term.IsTerminal(int(out.Fd())) {
			way = keysPrint
		}
	}
	if way == keysNone {
		return false, nil
	}
	drawn, raw, err := keys.Draw(rand.Reader)
	if err != nil {
		return false, err
	}
	var made firstKeys
	if data.Console != "" {
		made.link = signInLink(data.Console, raw)
	}
	var text strings.Builder
	_, first, err := core.Keys.MintDefaults(ctx, func(minted map[keys.Group]string) (err error) {
		made.minted = minted
		if way == keysFile {
			made.file, err = c.writeFirstKeys(made, data)
		}
		if err = errors.Join(err, printWelcome(&text, data, made)); err == nil && way == keysPrint {
			err = put(stdout, text.String())
		}
		return err
	})
	if !first && made.file != "" {
		err = errors.Join(err, os.Remove(made.file))
	}
	if unwritten, ok := errors.AsType[*unwrittenError](err); ok && auto {
		log.Warn("no first keys are made: there is no terminal to print them to, and no file for them can be written; see --first-keys", "error", unwritten.error)
		return false, nil
	}
	if err != nil || !first {
		return false, err
	}
	if made.link != "" {
		if _, err := core.Keys.StartSession(ctx, keys.SessionParams{Link: true, Lifetime: firstLinkGood, Drawn: drawn}); err != nil {
			return false, err
		}
	}
	if made.file == "" {
		return true, nil
	}
	log.Info("the first keys are in a file", "file", made.file)
	if filepath.Base(made.file) != firstKeysName {
		log.Warn("the store has no keys though an earlier first start left some: if this directory's store was lost, stop the server and restore a backup",
			"earlier", filepath.Join(filepath.Dir(made.file), firstKeysName))
	}
	_, err = io.WriteString(stdout, text.String())
	return true, err
}

// unwrittenError says that the file of first keys could not be written.
type unwrittenError struct{ error }

func (e *unwrittenError) Unwrap() error { return e.error }

// firstKeysName is the name of the file of first keys. A later first start in the same directory adds a number.
const firstKeysName = "first-keys"

// firstKeysText is the head of the file, which a shell reads: . FILE sets the variables of the README and of the
// vendors' SDKs.
const firstKeysText = "# The first keys of this Genway, one for each group but admin. Remove this file when they are stored elsewhere.\n"

// sdkVariables are the variables from which the vendors' SDKs and agents read where to call, and with which key:
// openai (also AI SDK and Codex), anthropic (also Claude Code), genai (also Gemini CLI).
const sdkVariables = `
export BASE={{HTTP}}
export OPENAI_BASE_URL=$BASE/v1 OPENAI_API_KEY=$CHAT_KEY
export ANTHROPIC_BASE_URL=$BASE ANTHROPIC_API_KEY=$MESSAGES_KEY
export GOOGLE_GEMINI_BASE_URL=$BASE GEMINI_API_KEY=$GENERATECONTENT_KEY
`

// writeFirstKeys writes keys into a new file in the directory of the data, readable only to its
// own user, and returns its name: first-keys, with a number where there is one already.
func (c *serveCommand) writeFirstKeys(made firstKeys, data welcomeData) (string, error) {
	name, err := c.newFirstKeys(made, data)
	if err != nil {
		return "", &unwrittenError{fmt.Errorf("--first-keys %s: %w", keysFile, err)}
	}
	return name, nil
}

func (c *serveCommand) newFirstKeys(made firstKeys, data welcomeData) (name string, err error) {
	dir, err := c.Directory()
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	var file *os.File
	for n := 1; ; n++ {
		name = filepath.Join(dir, firstKeysName)
		if n > 1 {
			name += fmt.Sprint("-", n)
		}
		file, err = os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600) //nolint:gosec // the operator names the directory
		if !errors.Is(err, fs.ErrExist) || n == 1000 {
			break
		}
	}
	if err != nil {
		return "", err
	}
	var text strings.Builder
	text.WriteString(firstKeysText)
	for _, group := range keys.Groups() {
		if raw, minted := made.minted[group]; minted {
			fmt.Fprintf(&text, "export %s=%s\n", keyVariable(group), raw)
		}
	}
	if !data.unix {
		if err := data.print(&text, sdkVariables); err != nil {
			return "", err
		}
	}
	if made.link != "" { // a comment of the shell's
		fmt.Fprintf(&text, "# The console, for an hour and one sign-in: %s\n", made.link)
	}
	_, err = file.WriteString(text.String())
	if err = errors.Join(err, file.Sync(), file.Close()); err != nil {
		return "", errors.Join(err, os.Remove(name))
	}
	return name, nil
}

// firstLinkGood is how long the link of the first start is good.
const firstLinkGood = time.Hour

// signInLink is the URL by which a link's key signs in. What follows # is sent to no server.
func signInLink(at, raw string) string { return at + "/sign-in#" + raw }

// keyVariable is the shell's name for the key of a group, as the README has it.
func keyVariable(group keys.Group) string { return strings.ToUpper(string(group)) + "_KEY" }

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
	// Size is the size of the image to ask for.
	Size string

	unix bool // the JSON side is a socket, for which SDKs have no URL
}

// reach fills in how the two sides are reached from this machine.
func (d *welcomeData) reach(http edgeproc.Listener, grpc net.Addr, tls bool) {
	at := http.Addr()
	d.Curl, d.HTTP = "curl", http.Scheme()+"://"+local(at)
	d.JSON = d.HTTP
	if http.Certificates != nil {
		d.certified(local(at), http.Certificates.Current().Certificates[0].Leaf)
	}
	if d.unix = at.Network() == "unix"; d.unix {
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
