package messages_test

import (
	"testing"

	"github.com/genway/genway/codec/codectest"
	"github.com/genway/genway/codec/messages"
)

func FuzzHeads(f *testing.F) { codectest.FuzzHeads(f, messages.Codec{}) }

func TestHeads(t *testing.T) { codectest.Heads(t, messages.Codec{}) }

func TestResults(t *testing.T) {
	codectest.Results(t, messages.Codec{}, `{"model":"m","max_tokens":9,"messages":[{"role":"assistant","content":[{"type":"tool_use","id":"c","name":"f","input":{}}]},{"role":"user","content":[{"type":"tool_result",%s"content":"x"}]}]}`, "tool_use_id")
}
