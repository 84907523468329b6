package programs

import (
	"context"
	"crypto/tls"
	"strings"
	"testing"
	"time"

	"github.com/genway/genway/test/conformance/authority"
	"github.com/genway/genway/test/conformance/server"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/types/known/emptypb"
)

// boundDirectCallers holds direct callers to their own certificates, whatever they say of
// themselves, and distinguishes them from edges.
func boundDirectCallers(t *testing.T, _ stores) {
	edges, callers := newTLSRig(t), newTLSRig(t)
	edges.issue(t, "core", authority.Here)
	edge := edges.issue(t, "edge", authority.Names{DNS: []string{"edge.example"}})
	mine := callers.issue(t, "mine", authority.Names{DNS: []string{"mine.example"}})
	others := callers.issue(t, "others", authority.Names{DNS: []string{"others.example"}})
	data := t.TempDir()
	core, err := server.StartProcess("genway-core", "--data", data, "--grpc", "127.0.0.1:0", "--log-format", "json", "--grpc-cert", edges.file("core.pem"),
		"--grpc-key", edges.file("core.key"), "--edge-ca", edges.file("ca.pem"), "--grpc-client-ca", callers.file("ca.pem"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stopped(t, core) })
	up, err := core.Await("core is up")
	if err != nil {
		t.Fatal(err)
	}
	key := func(group string) string {
		made, err := server.CreateKey(data, group, "bound", "--certificates", "dns:mine.example")
		if err != nil {
			t.Fatal(err)
		}
		return made
	}
	direct, chat := key("internal"), key("chat")
	const claim = "genway-client-certificate"
	for name, c := range map[string]struct {
		shown   *authority.Issued
		key     string
		headers []string
		refuse  string // empty is served
	}{
		"its certificate":               {mine, direct, nil, ""},
		"none":                          {nil, direct, nil, "none was shown"},
		"another":                       {others, direct, nil, "may not be used with this client certificate"},
		"none, and says it has one":     {nil, direct, []string{claim, "dns:mine.example"}, "none was shown"},
		"another, and says otherwise":   {others, direct, []string{claim, "dns:mine.example"}, "may not be used with this client certificate"},
		"says that it is an edge":       {mine, chat, []string{"genway-protocol", "chat_completions", claim, "dns:mine.example"}, "the edge did not prove to be one"},
		"an edge":                       {edge, chat, []string{"genway-protocol", "chat_completions", claim, "dns:mine.example"}, ""},
		"an edge whose caller has none": {edge, chat, []string{"genway-protocol", "chat_completions"}, "none was shown"},
	} {
		t.Run(name, func(t *testing.T) {
			config := &tls.Config{RootCAs: edges.Pool()}
			if c.shown != nil {
				config.Certificates = []tls.Certificate{c.shown.TLS()}
			}
			conn, err := grpc.NewClient(up["grpc"], grpc.WithTransportCredentials(credentials.NewTLS(config)))
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			ctx, cancel := context.WithTimeout(metadata.AppendToOutgoingContext(t.Context(), append(c.headers, "authorization", "Bearer "+c.key)...), 30*time.Second)
			defer cancel()
			// What the answer holds does not matter.
			err = conn.Invoke(ctx, "/genway.v1.Generation/ListModels", &emptypb.Empty{}, &emptypb.Empty{})
			if served := err == nil; served != (c.refuse == "") || !served && !strings.Contains(err.Error(), c.refuse) {
				t.Errorf("got %v, want %q", err, c.refuse)
			}
		})
	}
	// An authority that is taken out makes no edge any more, on open connections either.
	conn, err := grpc.NewClient(up["grpc"], grpc.WithTransportCredentials(credentials.NewTLS(&tls.Config{RootCAs: edges.Pool(), Certificates: []tls.Certificate{edge.TLS()}})))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	ask := func() error {
		ctx := metadata.AppendToOutgoingContext(t.Context(), "genway-protocol", "chat_completions", claim, "dns:mine.example", "authorization", "Bearer "+chat)
		return conn.Invoke(ctx, "/genway.v1.Generation/ListModels", &emptypb.Empty{}, &emptypb.Empty{})
	}
	if err := ask(); err != nil {
		t.Fatal(err)
	}
	if err := newTLSRig(t).Write(edges.file("ca.pem")); err != nil {
		t.Fatal(err)
	}
	eventually(t, "distrust", func() error {
		if err := ask(); err == nil || !strings.Contains(err.Error(), "did not prove to be one") {
			return context.DeadlineExceeded
		}
		return nil
	})
}
