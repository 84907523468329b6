package chat_test

import (
	"testing"

	"github.com/genway/genway/codec/codectest"
	"github.com/genway/genway/codec/chat"
)

func TestHeads(t *testing.T) { codectest.Heads(t, chat.Codec{}) }
