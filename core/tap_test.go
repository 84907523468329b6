package core_test

import (
	"bytes"
	"io"
	"log/slog"
	"net"
	"testing"
	"time"

	"github.com/genway/genway/core"
	"github.com/genway/genway/core/auth"
	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// A direct caller without a good key is refused by the headers of its call: none of its
// message has to come. One with a good key is waited for.
func TestDirectCallersAreRefusedByTheirHeaders(t *testing.T) {
	service, err := core.New(core.Config{Upstream: &scripted{}})
	if err != nil {
		t.Fatal(err)
	}
	interceptors := core.Interceptors{Authenticator: auth.Authenticator{Keys: fixedKeys{}, Trust: auth.TrustSecret("0123456789abcdef")}, Logger: slog.New(slog.DiscardHandler)}
	server := core.NewServer(service, interceptors, core.ServerConfig{})
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- server.Serve(t.Context(), listener) }()
	t.Cleanup(func() {
		server.Close()
		<-served
	})
	for name, c := range map[string]struct {
		headers []string
		refused bool
	}{
		"no key":         {nil, true},
		"wrong key":      {[]string{"authorization", "Bearer nobody"}, true},
		"another group":  {[]string{"authorization", "Bearer chat"}, true},
		"two keys":       {[]string{"authorization", "Bearer internal", "authorization", "Bearer internal"}, true},
		"claims an edge": {[]string{"authorization", "Bearer chat", "genway-protocol", "chat_completions"}, true},
		"good key":       {[]string{"authorization", "Bearer internal"}, false},
		"an edge":        {[]string{"authorization", "Bearer nobody", "genway-protocol", "chat_completions", "genway-edge-secret", "0123456789abcdef"}, false},
	} {
		if got := answeredByHeaders(t, listener.Addr().String(), c.headers); got != c.refused {
			t.Errorf("%s: answered ahead of the message: %v", name, got)
		}
	}
}

// answeredByHeaders sends the headers of a call, then a ping, and reports whether the call
// is answered by the time the ping is.
func answeredByHeaders(t *testing.T, address string, more []string) bool {
	t.Helper()
	conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(20 * time.Second)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(conn, http2.ClientPreface); err != nil {
		t.Fatal(err)
	}
	framer := http2.NewFramer(conn, conn)
	var block bytes.Buffer
	encoder := hpack.NewEncoder(&block)
	headers := append([]string{":method", "POST", ":scheme", "http", ":path", "/genway.v1.Generation/GenerateText", ":authority", "a",
		"content-type", "application/grpc", "te", "trailers"}, more...)
	for i := 0; i < len(headers); i += 2 {
		if err := encoder.WriteField(hpack.HeaderField{Name: headers[i], Value: headers[i+1]}); err != nil {
			t.Fatal(err)
		}
	}
	for _, err := range []error{
		framer.WriteSettings(),
		framer.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: block.Bytes(), EndHeaders: true}),
		framer.WritePing(false, [8]byte{1}),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	answered := false
	for {
		frame, err := framer.ReadFrame()
		if err != nil {
			t.Fatal(err)
		}
		switch f := frame.(type) {
		case *http2.HeadersFrame:
			answered = true
		case *http2.PingFrame:
			if f.IsAck() {
				return answered
			}
		}
	}
}
