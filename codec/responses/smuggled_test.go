package responses_test

import (
	"errors"
	"testing"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/codec/responses"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

// TestSmuggledMembers demands that nothing a direct caller gives as JSON stands in for a
// member that was admitted with another value, or breaks out of its place.
func TestSmuggledMembers(t *testing.T) {
	const own = genwayv1.Protocol_PROTOCOL_RESPONSES
	for name, c := range map[string]struct {
		param  string
		fields []*genwayv1.NativeField
		part   *genwayv1.Part
	}{
		"a member":      {param: "model", fields: []*genwayv1.NativeField{{Protocol: own, Name: "model", Json: []byte(`"other"`)}}},
		"twice":         {param: "new", fields: []*genwayv1.NativeField{{Protocol: own, Name: "new", Json: []byte(`1`)}, {Protocol: own, Name: "new", Json: []byte(`2`)}}},
		"behind":        {param: "new", fields: []*genwayv1.NativeField{{Protocol: own, Name: "new", Json: []byte(`1,"model":"other"`)}}},
		"no JSON":       {param: "new", fields: []*genwayv1.NativeField{{Protocol: own, Name: "new", Json: []byte(`nul`)}}},
		"out of a part": {param: "input[0].content[1]", part: &genwayv1.Part{Kind: &genwayv1.Part_Opaque{Opaque: &genwayv1.OpaquePart{Protocol: own, Json: []byte(`{}]}],"model":"other","new":[{"a":[0`)}}}},
	} {
		text := &genwayv1.Part{Kind: &genwayv1.Part_Text{Text: &genwayv1.Text{Text: "hi"}}}
		m := &genwayv1.Message{Role: genwayv1.Role_ROLE_USER, Parts: []*genwayv1.Part{text}}
		if c.part != nil {
			m.Parts = append(m.Parts, c.part)
		}
		req := &genwayv1.GenerateTextRequest{Model: "m", Messages: []*genwayv1.Message{m}, NativeFields: c.fields}
		body, err := responses.Codec{}.EncodeRequest(&codec.Request{GenerateTextRequest: req}, nil)
		var f *fault.Error
		if !errors.As(err, &f) || f.Kind != fault.InvalidRequest || f.Param != c.param {
			t.Errorf("%s: %s %v", name, body, err)
		}
	}
}
