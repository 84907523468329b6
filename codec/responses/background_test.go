package responses_test

import (
	"testing"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/fault"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

// Direct callers can ask for a response in the background by a native field or by
// extra_json. Neither reaches an upstream of this protocol.
func TestBackgroundOfDirectCallers(t *testing.T) {
	for _, test := range []struct {
		native, extra string
		refused       bool
	}{
		{native: `true`, refused: true},
		{native: `"true"`, refused: true},
		{native: ` true`, refused: true},
		{extra: `{"background":true}`, refused: true},
		{extra: `{"b\u0061ckground": 1}`, refused: true},
		{native: `false`},
		{native: `null`},
		{extra: `{"background":false}`},
		{extra: `{"background":null}`},
	} {
		req := &genwayv1.GenerateTextRequest{
			Model:     "m",
			Messages:  []*genwayv1.Message{{Role: genwayv1.Role_ROLE_USER, Parts: []*genwayv1.Part{{Kind: &genwayv1.Part_Text{Text: &genwayv1.Text{Text: "hi"}}}}}},
			ExtraJson: test.extra,
		}
		if test.native != "" {
			req.NativeFields = []*genwayv1.NativeField{{Protocol: genwayv1.Protocol_PROTOCOL_RESPONSES, Name: "background", Json: []byte(test.native)}}
		}
		body, err := c.EncodeRequest(&codec.Request{GenerateTextRequest: req}, nil)
		if f := fault.From(err); (f != nil) != test.refused || f != nil && (f.Param != "background" || f.Kind != fault.InvalidRequest) {
			t.Errorf("%+v: %v %s", test, err, body)
		}
	}
}
