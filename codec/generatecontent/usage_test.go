package generatecontent_test

import (
	"testing"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/generatecontent"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"google.golang.org/protobuf/proto"
)

// TestUsageU11: candidatesTokenCount is without thoughts and may be absent, and
// promptTokenCount is without the results of the vendor's own tools (SDK type
// GenerateContentResponseUsageMetadata: the total is the sum of the four).
func TestUsageU11(t *testing.T) {
	resp, err := c.DecodeResponse([]byte(`{"candidates":[{"content":{"parts":[{"text":"x"}]},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":9,"cachedContentTokenCount":4,"thoughtsTokenCount":30,"toolUsePromptTokenCount":2,"totalTokenCount":41}}`))
	if err != nil {
		t.Fatal(err)
	}
	want := &genwayv1.Usage{InputTokens: 11, OutputTokens: 30, TotalTokens: 41, CacheReadInputTokens: proto.Int64(4), ThinkingTokens: proto.Int64(30), ToolUseInputTokens: proto.Int64(2)}
	if !proto.Equal(resp.Usage, want) {
		t.Errorf("%v", resp.Usage)
	}
	out, err := c.EncodeResponse(&genwayv1.GenerateTextResponse{Usage: &genwayv1.Usage{InputTokens: 3, OutputTokens: 10}}, codec.Answer{})
	if err != nil || string(out) != `{"usageMetadata":{"promptTokenCount":3,"candidatesTokenCount":10,"totalTokenCount":13}}` {
		t.Errorf("%s, %v", out, err)
	}
	for usage, want := range map[*genwayv1.Usage]string{
		{InputTokens: 11, OutputTokens: 1, ToolUseInputTokens: proto.Int64(2)}:                 `{"promptTokenCount":9,"candidatesTokenCount":1,"totalTokenCount":12,"toolUsePromptTokenCount":2}`,
		{InputTokens: 2, ToolUseInputTokens: proto.Int64(2)}:                                   `{"promptTokenCount":0,"candidatesTokenCount":0,"totalTokenCount":2,"toolUsePromptTokenCount":2}`,
		{InputTokens: 3, ToolUseInputTokens: proto.Int64(0)}:                                   `{"promptTokenCount":3,"candidatesTokenCount":0,"totalTokenCount":3,"toolUsePromptTokenCount":0}`,
		{InputTokens: 1, ToolUseInputTokens: proto.Int64(2), CacheReadInputTokens: new(int64)}: `{"promptTokenCount":0,"candidatesTokenCount":0,"totalTokenCount":1,"cachedContentTokenCount":0,"toolUsePromptTokenCount":2}`,
	} {
		out, err := c.EncodeResponse(&genwayv1.GenerateTextResponse{Usage: usage}, codec.Answer{})
		if err != nil || string(out) != `{"usageMetadata":`+want+`}` {
			t.Errorf("%v: %s, %v, want %s", usage, out, err, want)
		}
	}
}

// Case U19: serviceTier, or Vertex AI's trafficType, is the tier that served. Tokens that only the total
// counts are output.
func TestUsageOfATier(t *testing.T) {
	for usage, want := range map[string]*genwayv1.Usage{
		`{"promptTokenCount":3,"candidatesTokenCount":4,"totalTokenCount":7,"serviceTier":"flex"}`:                                    {OutputTokens: 4, ServiceTier: "flex"},
		`{"promptTokenCount":3,"candidatesTokenCount":4,"totalTokenCount":7,"trafficType":"ON_DEMAND_PRIORITY"}`:                      {OutputTokens: 4, ServiceTier: "ON_DEMAND_PRIORITY"},
		`{"promptTokenCount":3,"candidatesTokenCount":4,"totalTokenCount":7,"serviceTier":"flex","trafficType":"ON_DEMAND_PRIORITY"}`: {OutputTokens: 4, ServiceTier: "flex"},
		`{"promptTokenCount":3,"candidatesTokenCount":4,"totalTokenCount":20,"trafficType":7}`:                                        {OutputTokens: 17},
		`{"promptTokenCount":3,"toolUsePromptTokenCount":2,"candidatesTokenCount":4,"thoughtsTokenCount":5,"totalTokenCount":14}`:     {OutputTokens: 9},
		`{"promptTokenCount":3,"candidatesTokenCount":4,"totalTokenCount":6}`:                                                         {OutputTokens: 4},
	} {
		body := []byte(`{"candidates":[{"content":{"role":"model","parts":[{"text":"a"}]},"finishReason":"STOP"}],"usageMetadata":` + usage + `}`)
		whole, err := generatecontent.Codec{}.DecodeResponse(body)
		if err != nil {
			t.Fatal(err)
		}
		watched, _ := generatecontent.Codec{}.WatchResponse(body)
		for way, u := range map[string]*genwayv1.Usage{"whole": whole.GetUsage(), "watched": watched.GetUsage()} {
			if u.GetOutputTokens() != want.OutputTokens || u.GetServiceTier() != want.ServiceTier {
				t.Errorf("%s, %s: %v", usage, way, u)
			}
		}
	}
}
