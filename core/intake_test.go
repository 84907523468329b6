package core_test

import (
	"runtime"
	"testing"
	"time"

	"github.com/genway/genway/core"
)

const (
	checkMethod   = "/grpc.health.v1.Health/Check"
	watchMethod   = "/grpc.health.v1.Health/Watch"
	reflectMethod = "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo"
	textMethod    = "/genway.v1.Generation/GenerateText"
	streamMethod  = "/genway.v1.Generation/StreamGenerateText"
)

var internalKey = []string{"authorization", "Bearer internal"}

// A message of a caller without a key is refused by its announced size, before it comes;
// callers with a key and edges send larger ones.
func TestMessagesWithoutAKeyAreSmall(t *testing.T) {
	address := serveRaw(t, core.ServerConfig{MaxMessageBytes: 64 << 20})
	for name, c := range map[string]struct {
		method  string
		headers []string
		size    int
		status  string
	}{
		"health":       {checkMethod, nil, 4<<20 + 1, "8"},
		"watch":        {watchMethod, nil, 4<<20 + 1, "8"},
		"reflection":   {reflectMethod, nil, 4<<20 + 1, "8"},
		"an edge":      {checkMethod, []string{"genway-edge-secret", edgeSecretOfTests}, 5 << 20, ""},
		"with a key":   {textMethod, internalKey, 5 << 20, ""},
		"far too much": {textMethod, internalKey, 64<<20 + 1, "8"},
		"in a stream":  {streamMethod, internalKey, 64<<20 + 1, "8"},
	} {
		conn := dialRaw(t, address)
		stream := conn.call(c.method, c.headers...)
		conn.announce(stream, c.size)
		if c.status == "" {
			conn.must(conn.framer.WriteData(stream, false, make([]byte, 16<<10)))
			conn.settle()
			if got := conn.ended[stream]; got != "" {
				t.Errorf("%s: ended with status %s", name, got)
			}
			continue
		}
		if got := conn.status(stream); got != c.status {
			t.Errorf("%s: status %s, want %s", name, got, c.status)
		}
	}
}

// A connection has at most 250 open calls without a key; the calls of others, those with a
// key and the connection's own next ones are not affected.
func TestCallsWithoutAKeyAreFew(t *testing.T) {
	address := serveRaw(t, core.ServerConfig{})
	conn := dialRaw(t, address)
	var streams []uint32
	for range 300 {
		streams = append(streams, conn.call(watchMethod))
	}
	conn.settle()
	for i, stream := range streams {
		want := ""
		if i >= 250 {
			want = "8"
		}
		if got := conn.ended[stream]; got != want {
			t.Fatalf("call %d: status %q, want %q", i, got, want)
		}
	}
	keyed := conn.call(textMethod, internalKey...)
	conn.settle()
	if got := conn.ended[keyed]; got != "" {
		t.Errorf("a call with a key ended with status %s", got)
	}
	other := dialRaw(t, address)
	if got := check(other); got != "0" {
		t.Errorf("another connection's call: status %s", got)
	}
	conn.must(conn.framer.WriteRSTStream(streams[0], 8))
	conn.settle()
	deadline := time.Now().Add(time.Minute)
	for check(conn) != "0" { // the server counts a call out on another goroutine than it reads
		if time.Now().After(deadline) {
			t.Fatal("a call that has ended still counts")
		}
	}
}

// check makes a whole call of the health service and returns its status.
func check(conn *rawConn) string { return whole(conn, checkMethod) }

// A message that does not arrive whole in time ends its call, for every caller and after any part of
// it.
func TestAMessageMustCome(t *testing.T) {
	address := serveRaw(t, core.ServerConfig{ReceiveWindow: 100 * time.Millisecond})
	for name, c := range map[string]struct {
		method  string
		headers []string
		send    func(*rawConn, uint32)
	}{
		"only headers":           {checkMethod, nil, func(*rawConn, uint32) {}},
		"a part of the head":     {checkMethod, nil, func(c *rawConn, s uint32) { c.must(c.framer.WriteData(s, false, []byte{0, 0})) }},
		"the head":               {watchMethod, nil, func(c *rawConn, s uint32) { c.announce(s, 100) }},
		"reflection":             {reflectMethod, nil, func(c *rawConn, s uint32) { c.announce(s, 100) }},
		"with a key":             {textMethod, internalKey, func(c *rawConn, s uint32) { c.announce(s, 100) }},
		"with a key, in part":    {streamMethod, internalKey, func(c *rawConn, s uint32) { c.announce(s, 9); c.must(c.framer.WriteData(s, false, []byte("half"))) }},
		"all, without an end":    {checkMethod, nil, func(c *rawConn, s uint32) { c.announce(s, 0) }},
		"all, a stream, no end":  {streamMethod, internalKey, func(c *rawConn, s uint32) { c.announce(s, 0) }},
		"with a deadline, a key": {textMethod, append([]string{"grpc-timeout", "1H"}, internalKey...), func(c *rawConn, s uint32) { c.announce(s, 100) }},
	} {
		conn := dialRaw(t, address)
		stream := conn.call(c.method, c.headers...)
		c.send(conn, stream)
		if got := conn.status(stream); got != "4" {
			t.Errorf("%s: status %s, want 4", name, got)
		}
	}
}

// The bytes of all messages that are in memory are bounded, and one key's share of them;
// they are free again when the calls end.
func TestMessagesShareABudget(t *testing.T) {
	address := serveRaw(t, core.ServerConfig{MaxMessageBytes: 1 << 20, MessageMemory: 1 << 20})
	conn := dialRaw(t, address)
	for round := range 3 {
		// The server releases on another goroutine than it reads: the bytes of the round before may
		// count for a moment, and none do before the first.
		deadline := time.Now().Add(time.Minute)
		for {
			refused := conn.fourCalls(t)
			if refused == 2 {
				break
			}
			if refused < 2 || round == 0 || time.Now().After(deadline) {
				t.Fatalf("round %d: %d calls are refused, want 2", round, refused)
			}
		}
		for held := true; held; {
			stream := conn.call(textMethod, internalKey...)
			conn.announce(stream, 500<<10)
			for range 31 {
				conn.must(conn.framer.WriteData(stream, false, make([]byte, 16<<10)))
			}
			conn.must(conn.framer.WriteData(stream, true, make([]byte, 500<<10-31*(16<<10))))
			held = conn.status(stream) == "14"
			if time.Now().After(deadline) {
				t.Fatal("the bytes of calls that have ended still count")
			}
		}
	}
}

// fourCalls makes four calls at once, of which the key may have two in memory. It returns how many are
// refused, and cancels the others.
func (c *rawConn) fourCalls(t *testing.T) (refused int) {
	t.Helper()
	var streams []uint32
	for range 4 {
		stream := c.call(textMethod, internalKey...)
		streams = append(streams, stream)
		c.announce(stream, 250<<10)
		for range 12 {
			c.must(c.framer.WriteData(stream, false, make([]byte, 16<<10)))
		}
	}
	count := func() (n int) {
		for _, stream := range streams {
			if status := c.ended[stream]; status != "" {
				if n++; status != "14" {
					t.Fatalf("status %s, want 14", status)
				}
			}
		}
		return n
	}
	c.until(func() bool { return count() >= 2 })
	c.settle()
	refused = count()
	for _, stream := range streams {
		if c.ended[stream] == "" {
			c.must(c.framer.WriteRSTStream(stream, 8))
		}
	}
	c.settle()
	return refused
}

// What a refused call with a deadline has allocated is free at once, not when the deadline
// comes: anybody may send such calls.
func TestRefusedCallsWithDeadlinesAreForgotten(t *testing.T) {
	address := serveRaw(t, core.ServerConfig{})
	conn := dialRaw(t, address)
	const calls = 4_000
	heap := func() uint64 {
		runtime.GC()
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapObjects
	}
	refuse := func() {
		var last uint32
		for i := range calls {
			last = conn.call(textMethod, "authorization", "Bearer nobody", "grpc-timeout", "99999999H")
			if i%100 == 99 {
				conn.status(last)
			}
		}
		conn.settle()
		clear(conn.ended)
	}
	refuse()
	before := heap()
	refuse()
	if grown := int64(heap()) - int64(before); grown > calls/2 {
		t.Errorf("%d objects are left of %d calls", grown, calls)
	}
}
