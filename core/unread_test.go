package core_test

import (
	"testing"
	"time"

	"github.com/genway/genway/core"
	"golang.org/x/net/http2"
)

// Answers that wait for room in the client's window stay in memory. A connection with many of them
// gets no more without a key, until it takes them; its calls with a key go on.
func TestAnswersThatNobodyTakesAreFew(t *testing.T) {
	const calls, most = 300, 100
	conn := dialRaw(t, serveRaw(t, core.ServerConfig{}))
	conn.must(conn.framer.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 0}))
	conn.settle()
	refused := 0
	for range calls {
		stream := conn.call(checkMethod)
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
			t.Fatalf("a check has the status %s", conn.ended[stream])
		}
	}
	if refused < calls-most {
		t.Errorf("of %d checks whose answers nobody takes %d were refused", calls, refused)
	}
	keyed := conn.call(textMethod, internalKey...)
	conn.settle()
	if got := conn.ended[keyed]; got != "" {
		t.Errorf("a call with a key ended with status %s", got)
	}
	conn.must(conn.framer.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 65535}))
	deadline := time.Now().Add(time.Minute)
	for check(conn) != "0" { // the answers are on their way
		if time.Now().After(deadline) {
			t.Fatal("checks are refused although all answers were taken")
		}
	}
	for range calls { // each is taken, so that none counts
		if got := check(conn); got != "0" {
			t.Fatalf("a check whose answer is taken has the status %s", got)
		}
	}
}
