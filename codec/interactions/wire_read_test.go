package interactions

import (
	"testing"

	"github.com/genway/genway/codec/codectest"
)

// wires are the types that bodies and their parts are decoded into.
var wires = []codectest.Wire{
	codectest.WireOf[request](),
	codectest.WireOf[generationConfig](),
	codectest.WireOf[step](),
	codectest.WireOf[content](),
	codectest.WireOf[annotation](),
	codectest.WireOf[thoughtStep](),
	codectest.WireOf[callStep](),
	codectest.WireOf[resultStep](),
	codectest.WireOf[functionTool](),
	codectest.WireOf[toolChoice](),
	codectest.WireOf[textFormat](),
	codectest.WireOf[interaction](),
	codectest.WireOf[usage](),
	codectest.WireOf[event](),
	codectest.WireOf[delta](),
}

// What is read without the library is what that reads.
func TestReads(t *testing.T) { codectest.Reads(t, wires...) }

func FuzzReads(f *testing.F) { codectest.FuzzReads(f, wires...) }

func TestOwned(t *testing.T) { codectest.Owned(t, Codec{}) }

// What is read without reflection is what the decoder reads.
func TestHeadMembers(t *testing.T) {
	c := Codec{}
	codectest.HeadMembers(t, c, `{"model":"m","input":"-",%s}`, request{}, "input", "tools", "system_instruction")
	codectest.HeadMembers(t, c, `{"model":"m","input":"-","generation_config":{%s}}`, generationConfig{})
	codectest.HeadMembers(t, c, `{"id":"i","steps":[{"type":"model_output","content":[{"type":"text","text":"-"}]}],%s}`, struct {
		Status string `json:"status"`
	}{})
	const answer = `{"id":"i","steps":[{"type":"model_output","content":[{"type":"text","text":"-"}]}],"status":"completed",`
	codectest.HeadMembers(t, c, answer+`%s}`, interaction{}, "steps", "status", "input", "tools", "system_instruction")
	codectest.HeadMembers(t, c, answer+`"usage":{%s}}`, usage{})
}

// TestReserved walks the members that the wire struct of a request has fields for.
func TestReserved(t *testing.T) {
	codectest.Reserved(t, Codec{}, reserved, "response_format", "response_mime_type", "thinking_summaries")
}
