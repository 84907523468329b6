package chat_test

import (
	"testing"

	"github.com/genway/genway/codec/chat"
	"github.com/genway/genway/codec/codectest"
)

func FuzzHeads(f *testing.F) { codectest.FuzzHeads(f, chat.Codec{}) }

func TestHeads(t *testing.T) { codectest.Heads(t, chat.Codec{}) }

func TestResults(t *testing.T) {
	codectest.Results(t, chat.Codec{}, `{"model":"m","messages":[{"role":"assistant","tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{}"}}]},{"role":"tool",%s"content":"x"}]}`, "tool_call_id")
}
