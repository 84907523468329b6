// Package readme runs what the README shows: every curl and grpcurl line, and every
// Go snippet, against the real program.
package readme

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/fullstorydev/grpcurl"
	"github.com/genway/genway/test/conformance/server"
	"github.com/jhump/protoreflect/grpcreflect"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"mvdan.cc/sh/v3/shell"
)

var gateway *server.Server

func TestMain(m *testing.M) { server.Main(m, &gateway) }

// blocks returns the README's fenced blocks of one language.
func blocks(t *testing.T, language string) []string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for i, piece := range strings.Split(string(text), "\n```") {
		if block, ok := strings.CutPrefix(piece, language+"\n"); ok && i%2 == 1 {
			found = append(found, block)
		}
	}
	return found
}

// environment has the variables that the README exports.
func environment(name string) string {
	return map[string]string{
		"BASE":                gateway.URL(),
		"CHAT_KEY":            gateway.Keys["chat"],
		"MESSAGES_KEY":        gateway.Keys["messages"],
		"GENERATECONTENT_KEY": gateway.Keys["generatecontent"],
		"INTERNAL_KEY":        gateway.Keys["internal"],
	}[name]
}

// command is a curl or grpcurl line in parts.
type command struct {
	args    []string
	headers []string
	data    string
}

func parse(t *testing.T, line string) command {
	t.Helper()
	words, err := shell.Fields(line, environment)
	if err != nil {
		t.Fatal(err)
	}
	var c command
	for i := 0; i < len(words); i++ {
		switch words[i] {
		case "-H":
			i++
			c.headers = append(c.headers, words[i])
		case "-d":
			i++
			c.data = words[i]
		case "-plaintext":
		default:
			c.args = append(c.args, words[i])
		}
	}
	return c
}

func TestShellLines(t *testing.T) {
	var lines []string
	for _, block := range blocks(t, "sh") {
		lines = append(lines, strings.Split(block, "\n\n")...)
	}
	if len(lines) < 7 {
		t.Fatalf("only %d lines", len(lines))
	}
	for _, line := range lines {
		c := parse(t, line)
		t.Run(strings.Fields(line)[1], func(t *testing.T) {
			switch c.args[0] {
			case "curl":
				curl(t, c)
			case "grpcurl":
				invoke(t, c)
			default:
				t.Errorf("nothing runs %s", c.args[0])
			}
		})
	}
}

func curl(t *testing.T, c command) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, c.args[1], strings.NewReader(c.data))
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range c.headers {
		name, value, _ := strings.Cut(h, ": ")
		req.Header.Set(name, value)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	says := "hello"
	if strings.Contains(c.args[1], "images") {
		says = "b64_json"
	}
	if err != nil || resp.StatusCode != http.StatusOK || !strings.Contains(string(body), says) {
		t.Errorf("%v %d %s", err, resp.StatusCode, body)
	}
}

func invoke(t *testing.T, c command) {
	t.Helper()
	conn, err := grpc.NewClient(gateway.GRPC, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	client := grpcreflect.NewClientAuto(t.Context(), conn)
	defer client.Reset()
	source := grpcurl.DescriptorSourceFromServer(t.Context(), client)
	parser, formatter, err := grpcurl.RequestParserAndFormatter(grpcurl.FormatJSON, source, strings.NewReader(c.data), grpcurl.FormatOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	handler := &grpcurl.DefaultEventHandler{Out: &out, Formatter: formatter}
	if err := grpcurl.InvokeRPC(t.Context(), source, conn, c.args[2], c.headers, handler, parser.Next); err != nil {
		t.Fatal(err)
	}
	if handler.Status.Code() != codes.OK || !strings.Contains(out.String(), "hello") {
		t.Errorf("%v %s", handler.Status, out.String())
	}
}

// program is what stands around each Go snippet.
const program = `package main

import (
	"context"
	"fmt"
	"log"

	"github.com/openai/openai-go/v3"
)

func main() {
	ctx := context.Background()
	%s
}
`

func TestGoSnippets(t *testing.T) {
	t.Parallel()
	snippets := blocks(t, "go")
	if len(snippets) == 0 {
		t.Fatal("no snippets")
	}
	for _, snippet := range snippets {
		runProgram(t, fmt.Sprintf(program, snippet))
	}
}

// runProgram runs a Go program inside this module, whose go.mod has the SDKs.
func runProgram(t *testing.T, source string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "main.go")
	if err := os.WriteFile(file, []byte(source), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "go", "run", file)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0") // as all that runs without the race detector
	cmd.Env = append(cmd.Env, "OPENAI_BASE_URL="+environment("BASE")+"/v1", "OPENAI_API_KEY="+environment("CHAT_KEY"))
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "hello") {
		t.Errorf("%v\n%s", err, out)
	}
}
