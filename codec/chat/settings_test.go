package chat

import (
	"testing"

	"github.com/genway/genway/codec/codectest"
)

// What is read without reflection is what the decoder reads.
func TestHeadMembers(t *testing.T) {
	c := Codec{}
	codectest.HeadMembers(t, c, `{"model":"m","messages":[{"role":"user","content":"-"}],%s}`, request{}, "messages", "tools", "functions")
	codectest.HeadMembers(t, c, `{"model":"m","messages":[{"role":"user","content":"-"}],"stream_options":{%s}}`, streamOptions{})
	codectest.HeadMembers(t, c, `{"id":"c","choices":[{"index":0,"message":{}}],%s}`, answer{}, "choices")
	codectest.HeadMembers(t, c, `{"id":"c","choices":[{"index":0,"message":{}}],"usage":{%s}}`, usage{})
	codectest.HeadMembers(t, c, `{"id":"c","choices":[{"index":0,"message":{}}],"usage":{"prompt_tokens_details":{%s}}}`, promptDetails{})
	codectest.HeadMembers(t, c, `{"id":"c","choices":[{"index":0,"message":{}}],"usage":{"completion_tokens_details":{%s}}}`, completionDetails{})
}
