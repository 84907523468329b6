package generatecontent_test

import (
	"testing"

	"github.com/genway/genway/codec"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"google.golang.org/protobuf/proto"
)

// TestUsageU11: candidatesTokenCount is without thoughts and may be absent.
func TestUsageU11(t *testing.T) {
	resp, err := c.DecodeResponse([]byte(`{"candidates":[],"usageMetadata":{"promptTokenCount":9,"cachedContentTokenCount":4,"thoughtsTokenCount":30,"toolUsePromptTokenCount":2,"totalTokenCount":41}}`))
	if err != nil {
		t.Fatal(err)
	}
	want := &genwayv1.Usage{InputTokens: 9, OutputTokens: 30, TotalTokens: 41, CacheReadInputTokens: proto.Int64(4), ThinkingTokens: proto.Int64(30), ToolUseInputTokens: proto.Int64(2)}
	if !proto.Equal(resp.Usage, want) {
		t.Errorf("%v", resp.Usage)
	}
	out, err := c.EncodeResponse(&genwayv1.GenerateTextResponse{Usage: &genwayv1.Usage{InputTokens: 3, OutputTokens: 10}}, codec.Answer{})
	if err != nil || string(out) != `{"usageMetadata":{"promptTokenCount":3,"candidatesTokenCount":10,"totalTokenCount":13}}` {
		t.Errorf("%s, %v", out, err)
	}
}
