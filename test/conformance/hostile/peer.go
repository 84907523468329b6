package hostile

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// Port is a port of the gateway.
type Port struct {
	// Address is host:port, of a loopback address.
	Address string
	// GRPC selects gRPC; otherwise the peer takes the JSON protocols.
	GRPC bool
}

// From is where attacks come from.
const From = "127.0.0.2"

// peer is one hostile connection.
type peer struct {
	net.Conn
	port   Port
	out    *bufio.Writer
	frames *http2.Framer
	block  bytes.Buffer
	fields *hpack.Encoder
	stream uint32
	ended  chan struct{} // closed once nothing more can be read
}

// dial opens a connection and sends nothing.
func dial(ctx context.Context, port Port) (*peer, error) {
	host, _, err := net.SplitHostPort(port.Address)
	if err != nil || !net.ParseIP(host).IsLoopback() {
		return nil, fmt.Errorf("%s is no loopback address", port.Address)
	}
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(From)}, Timeout: 10 * time.Second}
	c, err := dialer.DialContext(ctx, "tcp", port.Address)
	if err != nil {
		return nil, err
	}
	p := &peer{Conn: c, port: port, out: bufio.NewWriterSize(c, 16<<10), ended: make(chan struct{})}
	p.frames = http2.NewFramer(p.out, nil)
	p.frames.AllowIllegalWrites = true
	p.fields = hpack.NewEncoder(&p.block)
	return p, nil
}

// open begins HTTP/2.
func (p *peer) open(settings ...http2.Setting) error {
	if _, err := p.out.WriteString(http2.ClientPreface); err != nil {
		return err
	}
	if err := p.frames.WriteSettings(settings...); err != nil {
		return err
	}
	return p.out.Flush()
}

// drain reads and forgets all that the server sends, until the end.
func (p *peer) drain() {
	defer close(p.ended)
	_, _ = io.Copy(io.Discard, p.Conn)
}

// request returns the header block of a request with further fields, on the next stream.
func (p *peer) request(more ...string) (stream uint32, block []byte) {
	if p.stream++; p.stream > 1 {
		p.stream++
	}
	p.block.Reset()
	fields := []string{":method", "POST", ":scheme", "http", ":authority", "a", ":path", "/v1/chat/completions", "content-type", "application/json"}
	if p.port.GRPC {
		fields = []string{":method", "POST", ":scheme", "http", ":authority", "a", ":path", "/genway.v1.Generation/GenerateText", "content-type", "application/grpc", "te", "trailers"}
	}
	fields = append(fields, more...)
	for i := 0; i < len(fields); i += 2 {
		_ = p.fields.WriteField(hpack.HeaderField{Name: fields[i], Value: fields[i+1]})
	}
	return p.stream, p.block.Bytes()
}

// ask sends the head of a request and returns its stream.
func (p *peer) ask(end bool, more ...string) (uint32, error) {
	stream, block := p.request(more...)
	return stream, p.frames.WriteHeaders(http2.HeadersFrameParam{StreamID: stream, BlockFragment: block, EndHeaders: true, EndStream: end})
}
