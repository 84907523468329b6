package codec_test

import (
	"fmt"
	"testing"

	"github.com/genway/genway/codec"
)

// Any number of losses is collected in bounded time and space, each member once.
func TestLosses(t *testing.T) {
	var losses codec.Losses
	for i := range 100_000 {
		losses.Add(fmt.Sprint("member ", i), "no place")
		losses.Add("member 0", "no place")
	}
	list := losses.List()
	if len(list) != 501 || list[0].GetMember() != "member 0" || list[499].GetMember() != "member 499" || list[500].GetMember() != "..." {
		t.Errorf("%d losses, the last is %v", len(list), list[len(list)-1])
	}
	var none *codec.Losses
	if none.Add("x", "y"); none.List() != nil {
		t.Error("nothing collects")
	}
}
