package programs

import (
	"bytes"
	"encoding/binary"
	"io"
	"net"
	"testing"
	"time"

	"github.com/genway/genway/test/conformance/caller"
	"github.com/genway/genway/test/conformance/server"
	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// portMemory is how much the core may grow, in MiB, by what strangers send to its gRPC port.
const portMemory = 64

// keyedMemory is how much it may grow, in MiB, by what one key sends: 32 MiB of messages, 1,000 calls that wait for theirs and 1,000 answers, and as
// much again until it is collected. Without bounds it was more than 2,000.
const keyedMemory = 160

// halfSentMessages opens connections full of calls whose messages are half sent: without a
// key, with a wrong one, with a deadline, and to the services that need no key. The core's
// memory stays bounded, and a caller with a key is served beside them. So it is with one key in their place.
func halfSentMessages(t *testing.T, _ stores) {
	t.Run("strangers", strangersMessages)
	t.Run("a key, one process", func(t *testing.T) {
		s := server.Start(t, server.Options{Args: []string{"--message-memory", "67108864"}})
		keyedMessages(t, s.Core, s.GRPC, s.Data)
	})
	t.Run("a key, a core of its own", func(t *testing.T) {
		data := t.TempDir()
		core, err := server.StartProcess("genway-core", "--data", data, "--grpc", "127.0.0.1:0", "--log-format", "json", "--message-memory", "67108864")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { stopped(t, core) })
		up, err := core.Await("core is up")
		if err != nil {
			t.Fatal(err)
		}
		keyedMessages(t, core, up["grpc"], data)
	})
}

func strangersMessages(t *testing.T) {
	core := server.Start(t, server.Options{Args: []string{"--message-memory", "67108864"}})
	before, _ := resident(t, core.Core)
	for name, c := range map[string]struct {
		method  string
		headers []string
		size    uint32 // of each message
		every   string // the status that every call ends with; empty where some wait
	}{
		"no key":                {"/genway.v1.Generation/GenerateText", nil, 4 << 20, "16"},
		"a wrong key":           {"/genway.v1.Generation/StreamGenerateText", []string{"authorization", "Bearer gwk_nobody"}, 4 << 20, "16"},
		"no key, a deadline":    {"/genway.v1.Generation/GenerateImage", []string{"grpc-timeout", "99999999H"}, 4 << 20, "16"},
		"health":                {"/grpc.health.v1.Health/Check", nil, 128 << 10, ""},
		"reflection":            {"/grpc.reflection.v1.ServerReflection/ServerReflectionInfo", nil, 128 << 10, ""},
		"health, too large":     {"/grpc.health.v1.Health/Check", nil, 128<<10 + 1, "8"},
		"health, far too large": {"/grpc.health.v1.Health/Check", nil, 120 << 20, "8"},
	} {
		for range 8 {
			conn := dialPort(t, core.GRPC)
			sent := make(chan int, 1)
			go func() { sent <- conn.halfSend(c.method, c.headers, c.size, 40) }()
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
	served(t, core.GRPC, core.Keys["internal"])
	if now, most := resident(t, core.Core); most-before > portMemory {
		t.Errorf("the core grew from %d to %d MiB, now %d", before, most, now)
	}
}

// keyedMessages has one good key send calls with half of a message, and with none, and leave answers untaken: its calls
// are refused when it has too many of either, and those of another key and of health are served.
func keyedMessages(t *testing.T, core *server.Process, address, data string) {
	t.Helper()
	keys := map[string]string{}
	for _, name := range []string{"halves", "none", "untaken", "healthy"} {
		key, err := server.CreateKey(data, "internal", name)
		if err != nil {
			t.Fatal(err)
		}
		keys[name] = key
	}
	served(t, address, keys["healthy"])
	before, _ := resident(t, core)
	headers := func(name string) []string { return []string{"authorization", "Bearer " + keys[name]} }
	for range 8 {
		conn := dialPort(t, address)
		sent := make(chan int, 1)
		go func() { sent <- conn.halfSend("/genway.v1.Generation/GenerateText", headers("halves"), 4<<20, 40) }()
		statuses := conn.read(0)
		if n := <-sent; n != 40 {
			t.Errorf("half of a message: %d calls were sent: the connection broke", n)
		}
		for _, status := range statuses {
			if status != "14" { // there is no room for more
				t.Errorf("half of a message: status %s", status)
			}
		}
	}
	const calls, connections, most = 1200, 3, 1000
	refused := 0
	for range connections {
		conn := dialPort(t, address)
		go func() {
			for range calls {
				conn.open("/genway.v1.Generation/StreamGenerateText", headers("none"))
			}
			_ = conn.framer.WritePing(false, [8]byte{1})
		}()
		for _, status := range conn.read(0) {
			if status != "8" {
				t.Errorf("no message: status %s", status)
			}
			refused++
		}
	}
	if refused != calls*connections-most {
		t.Errorf("no message: of %d calls %d are refused, want %d", calls*connections, refused, calls*connections-most)
	}
	served(t, address, keys["healthy"])
	refused = 0
	for range connections {
		conn := dialPort(t, address)
		if err := conn.framer.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 0}); err != nil {
			t.Fatal(err)
		}
		go func() {
			for range calls {
				stream := conn.open("/genway.v1.Generation/ListModels", headers("untaken"))
				_ = conn.framer.WriteData(stream, true, make([]byte, 5))
			}
		}()
		for begun := 0; begun < calls; {
			frame, err := conn.framer.ReadFrame()
			if err != nil {
				t.Fatal(err)
			}
			if head, ok := frame.(*http2.MetaHeadersFrame); ok {
				begun++
				for _, field := range head.Fields {
					if field.Name == "grpc-status" && field.Value == "8" {
						refused++
					}
				}
			}
		}
	}
	if refused == 0 { // how many depends on how many are under way at once
		t.Errorf("answers that are not taken: of %d calls %d are refused", calls*connections, refused)
	}
	served(t, address, keys["healthy"])
	if now, most := resident(t, core); most-before > keyedMemory {
		t.Errorf("the core grew from %d to %d MiB, now %d", before, most, now)
	}
}

// served demands that a call of a key is answered.
func served(t *testing.T, address, key string) {
	t.Helper()
	client, err := caller.New("http://127.0.0.1:1", address)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	if seen, err := client.Do(t.Context(), caller.Call{Protocol: "grpc", Model: "sandbox-text", Key: key}); err != nil || !seen.Whole {
		t.Errorf("a healthy call beside them: %+v %v", seen, err)
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

// halfSend sends calls with a part of a message each, then a ping, and returns how many it
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

// read returns the statuses of that many calls, or with 0 of those that have ended when the
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
