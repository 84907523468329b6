package responses_test

import (
	"testing"

	"github.com/genway/genway/codec/codectest"
	"github.com/genway/genway/codec/responses"
)

func TestHeads(t *testing.T) { codectest.Heads(t, responses.Codec{}) }
