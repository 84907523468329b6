package generatecontent_test

import (
	"testing"

	"github.com/genway/genway/codec/codectest"
	"github.com/genway/genway/codec/generatecontent"
)

func FuzzHeads(f *testing.F) { codectest.FuzzHeads(f, generatecontent.Codec{}) }

func TestHeads(t *testing.T) { codectest.Heads(t, generatecontent.Codec{}) }
