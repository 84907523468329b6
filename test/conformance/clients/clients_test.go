package clients

import (
	"context"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/genway/genway/test/conformance/check"
	"github.com/genway/genway/test/conformance/server"
	"google.golang.org/grpc"
)

var gateway *server.Server

func TestMain(m *testing.M) { server.Main(m, &gateway) }

// patience bounds a client, with what it installs and compiles, on a loaded machine.
const patience = 10 * time.Minute

// bash runs a script in the repository, or in a folder of it, and returns what it wrote to both outputs.
func (l language) bash(t *testing.T, dir, script string, variables ...string) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, "bash", "-euo", "pipefail", "-c", script)
	cmd.Dir = filepath.Join(root, dir)
	cmd.Env = append(append(os.Environ(), "PATH="+l.path+":"+os.Getenv("PATH")), variables...)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// ask runs the client again, against an address and with a key.
func (l language) ask(t *testing.T, address, key string) (string, error) {
	t.Helper()
	return l.bash(t, filepath.Join("docs", "examples", l.dir), l.run, "GENWAY="+address, "GENWAY_KEY="+key)
}

// said matches what each client prints, in every language.
var said = regexp.MustCompile(`(?m)^text: You said: "Say hello\."
stream: You said: "Say hello\."
tool: get_weather\(\{"city":"Paris"\}\)
image: 64x64, [1-9][0-9]{2,} bytes
error: MODEL_NOT_FOUND: .*\x60nothing\x60.* \(request (req_[a-z0-9]+)\)$`)

// The client's request for an unknown model fails. The client prints the request id, and the
// gateway's log has a line with it.
func works(t *testing.T, l language) {
	t.Helper()
	t.Run("as its README says", func(t *testing.T) {
		script := strings.ReplaceAll(l.commands(t), "127.0.0.1:9090", gateway.GRPC)
		check.Contains(t, script, gateway.GRPC)
		out, err := l.bash(t, ".", script, "INTERNAL_KEY="+gateway.Keys["internal"])
		found := said.FindStringSubmatch(out)
		if err != nil || found == nil {
			t.Fatalf("%s%v\n%s", script, err, out)
		}
		if err := gateway.Core.AwaitText(found[1]); err != nil {
			t.Error(err)
		}
	})
	for name, c := range map[string]struct {
		address, key string
		says         string
	}{
		"without a key":        {gateway.GRPC, "", `\(request req_[a-z0-9]+\)`},
		"with a wrong key":     {gateway.GRPC, gateway.Keys["internal"] + "x", `\(request req_[a-z0-9]+\)`},
		"with another's group": {gateway.GRPC, gateway.Keys["chat"], `chat.*\(request req_[a-z0-9]+\)`},
		"where nobody listens": {"127.0.0.1:1", gateway.Keys["internal"], `(?i)unavailable`},
		"where a stream is cut": {cutting(t), gateway.Keys["internal"],
			`the stream was cut: it ended without completed`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out, err := l.ask(t, c.address, c.key)
			if err == nil || !regexp.MustCompile(c.says).MatchString(out) {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}

func TestU31Go(t *testing.T)         { works(t, golang()) }      //nolint:tparallel // the parts of a client run at once, and one client after the other
func TestU32TypeScript(t *testing.T) { works(t, typescript(t)) } //nolint:tparallel // likewise
func TestU33Python(t *testing.T)     { works(t, python(t)) }     //nolint:tparallel // likewise
func TestU34Java(t *testing.T)       { works(t, java(t)) }       //nolint:tparallel // likewise

// cutter is a server of the contract whose streams end early, with the status OK.
type cutter struct {
	genwayv1.UnimplementedGenerationServer
}

func (cutter) GenerateText(context.Context, *genwayv1.GenerateTextRequest) (*genwayv1.GenerateTextResponse, error) {
	parts := []*genwayv1.Part{{Kind: &genwayv1.Part_Text{Text: &genwayv1.Text{Text: "whole"}}}}
	return &genwayv1.GenerateTextResponse{Candidates: []*genwayv1.Candidate{{Parts: parts}}}, nil
}

func (cutter) StreamGenerateText(_ *genwayv1.GenerateTextRequest, stream grpc.ServerStreamingServer[genwayv1.StreamGenerateTextResponse]) error {
	delta := &genwayv1.PartDelta{Delta: &genwayv1.PartDelta_Text{Text: "hal"}}
	return stream.Send(&genwayv1.StreamGenerateTextResponse{Payload: &genwayv1.StreamGenerateTextResponse_PartDelta{PartDelta: delta}})
}

// cutting starts a cutter and returns its address.
func cutting(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := grpc.NewServer()
	genwayv1.RegisterGenerationServer(s, cutter{})
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(listener) }()
	t.Cleanup(func() {
		s.Stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return listener.Addr().String()
}
