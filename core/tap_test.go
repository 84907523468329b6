package core_test

import (
	"testing"

	"github.com/genway/genway/core"
)

// A direct caller without a good key is refused by the headers of its call: none of its
// message has to come. One with a good key is waited for.
func TestDirectCallersAreRefusedByTheirHeaders(t *testing.T) {
	address := serveRaw(t, core.ServerConfig{})
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
		"an edge":        {[]string{"authorization", "Bearer nobody", "genway-protocol", "chat_completions", "genway-edge-secret", edgeSecretOfTests}, false},
	} {
		if got := answeredByHeaders(t, address, c.headers); got != c.refused {
			t.Errorf("%s: answered ahead of the message: %v", name, got)
		}
	}
}

// answeredByHeaders sends the headers of a call, then a ping, and reports whether the call
// is answered by the time the ping is.
func answeredByHeaders(t *testing.T, address string, more []string) bool {
	t.Helper()
	conn := dialRaw(t, address)
	stream := conn.call(textMethod, more...)
	conn.settle()
	return conn.ended[stream] != ""
}
