package generatecontent

import (
	"testing"

	"github.com/genway/genway/codec/codectest"
)

// What is read without reflection is what the decoder reads.
func TestHeadMembers(t *testing.T) {
	c := Codec{}
	codectest.HeadMembers(t, c, `{"contents":[{"parts":[{"text":"-"}]}],%s}`, request{}, "contents", "tools", "systemInstruction")
	codectest.HeadMembers(t, c, `{"contents":[{"parts":[{"text":"-"}]}],"generationConfig":{%s}}`, generationConfig{})
	codectest.HeadMembers(t, c, `{"candidates":[{"content":{"parts":[{"text":"-"}]},"finishReason":"STOP"}],%s}`, response{}, "candidates")
	codectest.HeadMembers(t, c, `{"candidates":[{"content":{"parts":[{"text":"-"}]},"finishReason":"STOP"}],"usageMetadata":{%s}}`, usage{})
}
