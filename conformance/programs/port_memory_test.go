package programs

import (
	"bytes"
	"encoding/binary"
	"io"
	"net"
	"testing"
	"time"

	"github.com/genway/genway/conformance/server"
	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// portMemory is how much the core may grow, in MiB, by what strangers send to its gRPC port.
const portMemory = 64

// halfSentMessages opens connections full of calls whose messages are half sent: without a
// key, with a wrong one, with a deadline, and to the services that need no key. The core's
// memory stays bounded, and a caller with a key is served beside them.
func halfSentMessages(t *testing.T, _ stores) {
	core := server.Start(t, server.Options{Args: []string{"--message-memory", "67108864"}})
	before, _ := resident(t, core.Core)
	for name, c := range map[string]struct {
		method  string
		headers []string
		every   string // the status that every call ends with; empty where some wait
	}{
		"no key":                {"/genway.v1.Generation/GenerateText", nil, "16"},
		"a wrong key":           {"/genway.v1.Generation/StreamGenerateText", []string{"authorization", "Bearer gwk_nobody"}, "16"},
		"no key, a deadline":    {"/genway.v1.Generation/GenerateImage", []string{"grpc-timeout", "99999999H"}, "16"},
		"health":                {"/grpc.health.v1.Health/Check", nil, ""},
		"reflection":            {"/grpc.reflection.v1.ServerReflection/ServerReflectionInfo", nil, ""},
		"health, far too large": {"/grpc.health.v1.Health/Check", []string{"x-size", "large"}, "8"},
	} {
		size := uint32(4 << 20)
		if len(c.headers) > 0 && c.headers[0] == "x-size" {
			size = 120 << 20
		}
		for range 8 {
			conn := dialPort(t, core.GRPC)
			sent := make(chan int, 1)
			go func() { sent <- conn.halfSend(c.method, c.headers, size, 40) }()
			want := 0
			if c.every != "" {
				want = 40
			}
			statuses := conn.read(want)
			if n := <-sent; n != 40 {
				t.Errorf("%s: %d calls were sent: the connection broke", name, n)
			}
			for _, status := range statuses {
				if c.every != "" && status != c.every {
					t.Errorf("%s: status %s, want %s", name, status, c.every)
				}
			}
			if len(statuses) < want {
				t.Errorf("%s: %d calls are answered, want %d", name, len(statuses), want)
			}
		}
	}
	whole := dialPort(t, core.GRPC)
	stream := whole.open("/grpc.health.v1.Health/Check", nil)
	if err := whole.framer.WriteData(stream, true, make([]byte, 5)); err != nil {
		t.Fatal(err)
	}
	if statuses := whole.read(1); statuses[stream] != "0" {
		t.Errorf("a caller beside them gets status %q", statuses[stream])
	}
	if now, most := resident(t, core.Core); most-before > portMemory {
		t.Errorf("the core grew from %d to %d MiB, now %d", before, most, now)
	}
}

// portConn speaks to the gRPC port frame by frame.
type portConn struct {
	conn   net.Conn
	framer *http2.Framer
	last   uint32
}

func dialPort(t *testing.T, address string) *portConn {
	t.Helper()
	conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(time.Minute))
	c := &portConn{conn: conn, framer: http2.NewFramer(conn, conn)}
	c.framer.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	if _, err := io.WriteString(conn, http2.ClientPreface); err != nil {
		t.Fatal(err)
	}
	if err := c.framer.WriteSettings(); err != nil {
		t.Fatal(err)
	}
	return c
}

// open sends the headers of a call.
func (c *portConn) open(method string, more []string) uint32 {
	var block bytes.Buffer
	encoder := hpack.NewEncoder(&block)
	encoder.SetMaxDynamicTableSize(0) // each block stands alone
	headers := append([]string{":method", "POST", ":scheme", "http", ":path", method, ":authority", "a", "content-type", "application/grpc", "te", "trailers"}, more...)
	for i := 0; i < len(headers); i += 2 {
		_ = encoder.WriteField(hpack.HeaderField{Name: headers[i], Value: headers[i+1]})
	}
	id := c.last + 1
	c.last += 2
	if err := c.framer.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: block.Bytes(), EndHeaders: true}); err != nil {
		return 0
	}
	return id
}

// halfSend sends calls with a part of a message each, then a ping, and gives how many it
// has sent. It does not wait for room: the sum stays below what a connection may send
// unread.
func (c *portConn) halfSend(method string, headers []string, size uint32, calls int) int {
	for i := range calls {
		stream := c.open(method, headers)
		if stream == 0 || c.framer.WriteData(stream, false, binary.BigEndian.AppendUint32([]byte{0}, size)) != nil {
			return i
		}
		for range 6 {
			if c.framer.WriteData(stream, false, make([]byte, 16<<10)) != nil {
				return i
			}
		}
	}
	if c.framer.WritePing(false, [8]byte{1}) != nil {
		return 0
	}
	return calls
}

// read gives the statuses of that many calls, or with 0 of those that have ended when the
// server has read all that was sent.
func (c *portConn) read(want int) map[uint32]string {
	statuses := map[uint32]string{}
	for read := false; want == 0 && !read || len(statuses) < want; {
		frame, err := c.framer.ReadFrame()
		if err != nil {
			return statuses
		}
		switch f := frame.(type) {
		case *http2.MetaHeadersFrame:
			for _, field := range f.Fields {
				if field.Name == "grpc-status" {
					statuses[f.StreamID] = field.Value
				}
			}
		case *http2.PingFrame:
			read = read || f.IsAck()
		}
	}
	return statuses
}
