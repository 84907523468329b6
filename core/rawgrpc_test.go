package core_test

import (
	"bytes"
	"encoding/binary"
	"io"
	"log/slog"
	"net"
	"testing"
	"time"

	"github.com/genway/genway/core"
	"github.com/genway/genway/core/auth"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

const edgeSecretOfTests = "0123456789abcdef"

// serveRaw starts a server whose keys are fixedKeys, and returns its address.
func serveRaw(t *testing.T, config core.ServerConfig) string {
	t.Helper()
	service, err := core.New(core.Config{Upstream: &scripted{answer: func() (*genwayv1.GenerateTextResponse, error) {
		return &genwayv1.GenerateTextResponse{Model: "m", Candidates: []*genwayv1.Candidate{{StopReason: genwayv1.StopReason_STOP_REASON_END_TURN}}}, nil
	}}})
	if err != nil {
		t.Fatal(err)
	}
	interceptors := core.Interceptors{
		Authenticator: auth.Authenticator{Keys: fixedKeys{}, Trust: auth.TrustSecret(edgeSecretOfTests)},
		Logger:        slog.New(slog.DiscardHandler),
	}
	server := core.NewServer(service, interceptors, config)
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
	return listener.Addr().String()
}

// rawConn speaks gRPC frame by frame.
type rawConn struct {
	t       *testing.T
	framer  *http2.Framer
	encoder *hpack.Encoder
	block   bytes.Buffer
	last    uint32
	close   func() error
	ended   map[uint32]string // the gRPC status of calls that are over; "reset" for none
}

func dialRaw(t *testing.T, address string) *rawConn {
	t.Helper()
	conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	c := &rawConn{t: t, close: conn.Close, framer: http2.NewFramer(conn, conn), ended: map[uint32]string{}}
	c.encoder = hpack.NewEncoder(&c.block)
	c.framer.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	_, err = io.WriteString(conn, http2.ClientPreface)
	c.must(err)
	c.must(c.framer.WriteSettings())
	return c
}

func (c *rawConn) must(err error) {
	c.t.Helper()
	if err != nil {
		c.t.Fatal(err)
	}
}

// call sends the headers of a call and returns its stream.
func (c *rawConn) call(method string, more ...string) uint32 {
	c.t.Helper()
	headers := c.headers(method, more...)
	c.must(c.framer.WriteHeaders(headers))
	return headers.StreamID
}

// headers returns the headers of the next call.
func (c *rawConn) headers(method string, more ...string) http2.HeadersFrameParam {
	c.t.Helper()
	c.block.Reset()
	headers := append([]string{":method", "POST", ":scheme", "http", ":path", method, ":authority", "a",
		"content-type", "application/grpc", "te", "trailers"}, more...)
	for i := 0; i < len(headers); i += 2 {
		c.must(c.encoder.WriteField(hpack.HeaderField{Name: headers[i], Value: headers[i+1]}))
	}
	id := c.last + 1
	c.last += 2
	return http2.HeadersFrameParam{StreamID: id, BlockFragment: c.block.Bytes(), EndHeaders: true}
}

// announce sends the head of a message of that size.
func (c *rawConn) announce(stream uint32, size int) {
	c.t.Helper()
	c.must(c.framer.WriteData(stream, false, binary.BigEndian.AppendUint32([]byte{0}, uint32(size))))
}

// until reads frames until done is true.
func (c *rawConn) until(done func() bool) {
	c.t.Helper()
	for !done() {
		c.next()
	}
}

// next reads a frame.
func (c *rawConn) next() http2.Frame {
	c.t.Helper()
	frame, err := c.framer.ReadFrame()
	c.must(err)
	switch f := frame.(type) {
	case *http2.MetaHeadersFrame:
		for _, field := range f.Fields {
			if field.Name == "grpc-status" {
				c.ended[f.StreamID] = field.Value
			}
		}
	case *http2.RSTStreamFrame:
		if c.ended[f.StreamID] == "" {
			c.ended[f.StreamID] = "reset"
		}
	}
	return frame
}

// status waits for the end of a call.
func (c *rawConn) status(stream uint32) string {
	c.t.Helper()
	c.until(func() bool { return c.ended[stream] != "" })
	return c.ended[stream]
}

// settle waits until the server has read all that was sent.
func (c *rawConn) settle() {
	c.t.Helper()
	c.must(c.framer.WritePing(false, [8]byte{7}))
	for {
		if f, ok := c.next().(*http2.PingFrame); ok && f.IsAck() {
			return
		}
	}
}
