package chat_test

import (
	"testing"

	"github.com/genway/genway/codec/chat"
	"github.com/genway/genway/codec/codectest"
)

func TestHeads(t *testing.T) { codectest.Heads(t, chat.Codec{}) }
