package core_test

import (
	"testing"
	"time"

	"github.com/genway/genway/core"
	"golang.org/x/net/http2"
)

const listMethod = "/genway.v1.Generation/ListModels"

// unread makes calls on a connection with a window of 0, and returns how many were refused.
func unread(t *testing.T, conn *rawConn, calls int, method string, headers ...string) (refused int) {
	t.Helper()
	conn.must(conn.framer.WriteWindowUpdate(0, 1<<30)) // of the connection
	conn.must(conn.framer.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 0}))
	conn.settle()
	for range calls {
		stream := conn.call(method, headers...)
		conn.must(conn.framer.WriteData(stream, true, make([]byte, 5)))
		for begun := false; !begun; {
			head, ok := conn.next().(*http2.MetaHeadersFrame)
			begun = ok && head.StreamID == stream
		}
		switch conn.ended[stream] {
		case "":
		case "8":
			refused++
		default:
			t.Fatalf("a call has the status %s", conn.ended[stream])
		}
	}
	return refused
}

// whole makes a call and returns its status.
func whole(conn *rawConn, method string, headers ...string) string {
	stream := conn.call(method, headers...)
	conn.must(conn.framer.WriteData(stream, true, make([]byte, 5)))
	return conn.status(stream)
}

// Answers that wait for room in the client's window stay in memory. A connection with many of them
// gets no more without a key, and a key with many on all of its connections, until they are taken or their connection
// ends; others' calls go on. Some answers are empty, and some are refused by the time that the one before ends.
func TestAnswersThatNobodyTakesAreFew(t *testing.T) {
	for name, c := range map[string]struct {
		method  string
		headers []string
		most    int
	}{
		"without a key": {checkMethod, nil, 50},
		"with a key":    {listMethod, internalKey, 1000},
	} {
		t.Run(name, func(t *testing.T) {
			address := serveRaw(t, core.ServerConfig{})
			conn := dialRaw(t, address)
			calls := c.most + 250
			if refused := unread(t, conn, calls, c.method, c.headers...); refused < calls-c.most-50 || refused > calls-c.most {
				t.Errorf("of %d calls whose answers nobody takes %d were refused", calls, refused)
			}
			other := dialRaw(t, address)
			for _, beside := range []struct {
				method  string
				headers []string
				refused bool
			}{{checkMethod, nil, false}, {listMethod, internalKey, len(c.headers) > 0}} {
				if got := whole(other, beside.method, beside.headers...); (got == "8") != beside.refused {
					t.Errorf("beside them a call of %s has the status %s", beside.method, got)
				}
			}
			goesOn := func(conn *rawConn) {
				t.Helper()
				for deadline := time.Now().Add(time.Minute); whole(conn, c.method, c.headers...) != "0"; { // the answers are on their way
					if time.Now().After(deadline) {
						t.Fatal("calls are refused although all answers were taken, or their connection has ended")
					}
				}
			}
			conn.must(conn.framer.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 65535}))
			goesOn(conn)
			for range calls { // each is taken, so that none counts
				if got := whole(conn, c.method, c.headers...); got != "0" {
					t.Fatalf("a call whose answer is taken has the status %s", got)
				}
			}
			left := dialRaw(t, address)
			if unread(t, left, calls, c.method, c.headers...) == 0 {
				t.Error("no call is refused")
			}
			left.must(left.close())
			goesOn(conn)
		})
	}
}

// Calls of a key that send no message are few, on all of its connections; other keys' calls go on.
func TestCallsWithoutAMessageAreFew(t *testing.T) {
	address := serveRaw(t, core.ServerConfig{})
	refused := 0
	var conns []*rawConn
	for range 4 {
		conn := dialRaw(t, address)
		for range 300 {
			conn.call(textMethod, internalKey...)
		}
		conn.settle()
		for _, status := range conn.ended {
			if status != "8" {
				t.Errorf("a call without a message has the status %s", status)
			}
			refused++
		}
		conns = append(conns, conn)
	}
	if refused != 200 {
		t.Errorf("of 1,200 calls that send no message %d were refused, want 200", refused)
	}
	if got := check(dialRaw(t, address)); got != "0" {
		t.Errorf("beside them a check has the status %s", got)
	}
	last := dialRaw(t, address)
	if got := last.status(last.call(textMethod, internalKey...)); got != "8" {
		t.Errorf("one more has the status %s", got)
	}
	conns[0].must(conns[0].close())
	for deadline := time.Now().Add(time.Minute); whole(last, listMethod, internalKey...) != "0"; {
		if time.Now().After(deadline) {
			t.Fatal("calls are refused although a connection with many has ended")
		}
	}
}
