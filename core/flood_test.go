package core_test

import (
	"testing"

	"github.com/genway/genway/core"
	"golang.org/x/net/http2"
)

// An edge's connection carries the calls of many callers, who may leave as soon as they have
// come: that ends no other call. The same from a direct caller is a flood.
func TestEdgesMayCancelAnyNumberOfCalls(t *testing.T) {
	address := serveRaw(t, core.ServerConfig{})
	for name, c := range map[string]struct {
		headers []string
		ends    bool
	}{
		"an edge":         {[]string{"authorization", "Bearer nobody", "genway-protocol", "chat_completions", "genway-edge-secret", edgeSecretOfTests}, false},
		"a direct caller": {[]string{"authorization", "Bearer internal"}, true},
	} {
		if ended := cancelMany(t, address, c.headers); ended != c.ends {
			t.Errorf("%s: the connection was ended: %v", name, ended)
		}
	}
}

// cancelMany opens calls and cancels each at once, and reports whether the connection is
// ended over it.
func cancelMany(t *testing.T, address string, headers []string) (ended bool) {
	t.Helper()
	conn := dialRaw(t, address)
	conn.call(textMethod, headers...)
	conn.settle()
	for range 4000 {
		call := conn.headers(textMethod, headers...)
		if conn.framer.WriteHeaders(call) != nil || conn.framer.WriteRSTStream(call.StreamID, http2.ErrCodeCancel) != nil {
			return true
		}
	}
	if conn.framer.WritePing(false, [8]byte{7}) != nil {
		return true
	}
	for {
		frame, err := conn.framer.ReadFrame()
		if err != nil {
			return true
		}
		if ping, ok := frame.(*http2.PingFrame); ok && ping.IsAck() {
			return false
		}
	}
}
