package chat_test

import (
	"regexp"
	"slices"
	"testing"

	"github.com/genway/genway/codec"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"google.golang.org/protobuf/encoding/protojson"
)

// Calls and results that only their names and their order link.
func TestCallsWithoutIdentifiers(t *testing.T) {
	req := &genwayv1.GenerateTextRequest{}
	if err := protojson.Unmarshal([]byte(`{"model":"m","messages":[
		{"role":"ROLE_ASSISTANT","parts":[{"tool_call":{"name":"look"}},{"tool_call":{"name":"time"}},{"tool_call":{"name":"look"}}]},
		{"role":"ROLE_USER","parts":[{"tool_result":{"name":"look"}},{"tool_result":{"name":"look"}},{"tool_result":{"name":"time"}}]},
		{"role":"ROLE_ASSISTANT","parts":[{"tool_call":{"name":"look"}}]},
		{"role":"ROLE_USER","parts":[{"tool_result":{"name":"look"}}]}]}`), req); err != nil {
		t.Fatal(err)
	}
	body, err := c.EncodeRequest(&codec.Request{GenerateTextRequest: req}, nil)
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, m := range regexp.MustCompile(`"(?:tool_call_)?id":"([^"]+)"`).FindAllSubmatch(body, -1) {
		ids = append(ids, string(m[1]))
	}
	if len(ids) != 8 {
		t.Fatalf("identifiers %q in %s", ids, body)
	}
	look, noon, again, third := ids[0], ids[1], ids[2], ids[6]
	if want := []string{look, noon, again, look, again, noon, third, third}; !slices.Equal(ids, want) || third == look {
		t.Errorf("identifiers %q, want %q", ids, want)
	}
}
