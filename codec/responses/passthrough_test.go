package responses_test

import (
	"testing"

	"github.com/genway/genway/codec/codectest"
	"github.com/genway/genway/codec/responses"
)

func FuzzHeads(f *testing.F) { codectest.FuzzHeads(f, responses.Codec{}) }

func TestHeads(t *testing.T) { codectest.Heads(t, responses.Codec{}) }

func TestResults(t *testing.T) {
	codectest.Results(t, responses.Codec{}, `{"model":"m","input":[{"type":"function_call","call_id":"c","name":"f","arguments":"{}"},{"type":"function_call_output",%s"output":"x"}]}`, "call_id")
}
