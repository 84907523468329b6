package messages_test

import (
	"testing"

	"github.com/genway/genway/codec/codectest"
	"github.com/genway/genway/codec/messages"
)

func TestHeads(t *testing.T) { codectest.Heads(t, messages.Codec{}) }
