package programs

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/genway/genway/test/conformance/caller"
	"github.com/genway/genway/test/conformance/server"
)

// A message of 100 MB is answered, be it one word of one letter, which costs a tokenizer the
// most. One that the memory for a caller's messages can never hold is refused for good, at once.
func largeMessages(t *testing.T, _ stores) {
	for _, c := range []struct {
		name   string
		memory string
		status int // 500 is any failure of gRPC
		says   string
	}{
		{"it fits", "536870912", 200, "You said"},
		{"it never fits", "134217728", 500, "ResourceExhausted desc = the request message has "}, // half of which is for one caller
	} {
		t.Run(c.name, func(t *testing.T) {
			s := server.Start(t, server.Options{Args: []string{"--message-memory", c.memory}})
			client, err := caller.New(s.URL(), s.GRPC)
			if err != nil {
				t.Fatal(err)
			}
			defer client.Close()
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			seen, err := client.Do(ctx, caller.Call{Protocol: "grpc", Key: s.Keys["internal"], Model: "sandbox-text", Prompt: strings.Repeat("a", 100<<20)})
			if err != nil || seen.Status != c.status || !strings.Contains(seen.Body, c.says) || strings.Contains(seen.Body, "again") {
				t.Errorf("%d, %.200s, %v", seen.Status, seen.Body, err)
			}
		})
	}
}
