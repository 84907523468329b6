package codec_test

import (
	"testing"

	"github.com/genway/genway/codec"
)

func TestLegibleName(t *testing.T) {
	for name, want := range map[string]string{"": "_", "a b": "a_b", "9a": "_9a", "-a": "_-a", "é": "_", "get-Weather_2": "get-Weather_2"} {
		if got := codec.LegibleName(name); got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
}
