package spell

import (
	"strings"
	"testing"

	"github.com/genway/genway/codec/codectest"
	"github.com/genway/genway/codec/responses"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

// A body costs what it is long when its members are named, however deep it is.
func TestU43DepthIsCheap(t *testing.T) {
	const deep = 9000
	body := `{"model":"m","input":"hi","tools":[{"type":"function","name":"f","parameters":` +
		strings.Repeat(`{"type":"object","properties":`, deep) + `{}` + strings.Repeat(`}`, deep) + `}]}`
	s := New(of[genwayv1.Protocol_PROTOCOL_RESPONSES], []byte(body), decoder(responses.Codec{}))
	codectest.CostsItsLength(t, len(body), func() {
		if name := s.Member("tools[0].function.strict"); name != "tools[0]" {
			t.Errorf("named %q", name)
		}
	})
}
