package generatecontent_test

import (
	"testing"

	"github.com/genway/genway/codec/codectest"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"google.golang.org/protobuf/encoding/protojson"
)

const own = genwayv1.Protocol_PROTOCOL_GENERATE_CONTENT

func parseRequest(t codectest.TB, text string) *genwayv1.GenerateTextRequest {
	t.Helper()
	var req genwayv1.GenerateTextRequest
	if err := protojson.Unmarshal([]byte(text), &req); err != nil {
		t.Fatalf("%v", err)
	}
	return &req
}

func parseResponse(t codectest.TB, text string) *genwayv1.GenerateTextResponse {
	t.Helper()
	var resp genwayv1.GenerateTextResponse
	if err := protojson.Unmarshal([]byte(text), &resp); err != nil {
		t.Fatalf("%v", err)
	}
	return &resp
}

// halves splits a text in two.
func halves(text string) []string {
	r := []rune(text)
	if len(r) < 2 {
		return []string{text}
	}
	return []string{string(r[:len(r)/2]), string(r[len(r)/2:])}
}

func TestProtocol(t *testing.T) {
	if c.Protocol() != own {
		t.Error(c.Protocol())
	}
}
