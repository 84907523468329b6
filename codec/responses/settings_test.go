package responses

import (
	"testing"

	"github.com/genway/genway/codec/codectest"
)

// What is read without reflection is what the decoder reads.
func TestHeadMembers(t *testing.T) {
	c := Codec{}
	codectest.HeadMembers(t, c, `{"model":"m","input":"-",%s}`, wireRequest{}, "input", "tools", "instructions")
	codectest.HeadMembers(t, c, `{"model":"m","input":"-","text":{%s}}`, wireText{})
	codectest.HeadMembers(t, c, `{"model":"m","input":"-","reasoning":{%s}}`, wireReasoning{})
	const answer = `{"id":"r","status":"completed","output":[{"type":"message","role":"assistant","content":[{"type":"output_text","text":"-"}]}],`
	codectest.HeadMembers(t, c, answer+`%s}`, wireResponse{}, "output")
	codectest.HeadMembers(t, c, answer+`"usage":{%s}}`, wireUsage{})
	codectest.HeadMembers(t, c, answer+`"usage":{"input_tokens_details":{%s}}}`, wireInputDetails{})
	codectest.HeadMembers(t, c, answer+`"usage":{"output_tokens_details":{%s}}}`, wireOutputDetails{})
}
