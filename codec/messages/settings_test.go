package messages

import (
	"testing"

	"github.com/genway/genway/codec/codectest"
)

// What is read without reflection is what the decoder reads.
func TestHeadMembers(t *testing.T) {
	c := Codec{}
	const request = `{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"-"}],`
	codectest.HeadMembers(t, c, request+`%s}`, wireRequest{}, "messages", "tools", "system")
	codectest.HeadMembers(t, c, request+`"thinking":{%s}}`, wireThinking{})
	codectest.HeadMembers(t, c, request+`"output_config":{%s}}`, outputConfig{})
	const unfinished = `{"type":"message","id":"m","content":[{"type":"text","text":"-"}],`
	codectest.HeadMembers(t, c, unfinished+`%s}`, struct {
		StopReason string `json:"stop_reason"`
	}{})
	const answer = unfinished + `"stop_reason":"end_turn",`
	codectest.HeadMembers(t, c, answer+`%s}`, wireResponse{}, "content", "stop_reason")
	codectest.HeadMembers(t, c, answer+`"usage":{%s}}`, wireUsage{})
	codectest.HeadMembers(t, c, answer+`"usage":{"cache_creation":{%s}}}`, cacheCreation{})
	codectest.HeadMembers(t, c, answer+`"usage":{"output_tokens_details":{%s}}}`, outputDetails{})
}
