package fit_test

import (
	"strings"
	"testing"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/fit"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

// Images in an answer of text are asked for as the protocol of the upstream does. What is asked for in its own way, or with
// what it lacks, stays.
func TestDrawn(t *testing.T) {
	const (
		responses, gemini = genwayv1.Protocol_PROTOCOL_RESPONSES, genwayv1.Protocol_PROTOCOL_GENERATE_CONTENT
		interactions      = genwayv1.Protocol_PROTOCOL_INTERACTIONS
		tool              = `{"hosted":{"protocol":"PROTOCOL_RESPONSES","type":"image_generation","json":"eyJ0eXBlIjoiaW1hZ2VfZ2VuZXJhdGlvbiJ9"}}`
		// {"type":"image_generation","size":"auto","quality":"low","partial_images":0,"background":null}
		sized  = `{"hosted":{"protocol":"PROTOCOL_RESPONSES","type":"image_generation","json":"eyJ0eXBlIjoiaW1hZ2VfZ2VuZXJhdGlvbiIsInNpemUiOiJhdXRvIiwicXVhbGl0eSI6ImxvdyIsInBhcnRpYWxfaW1hZ2VzIjowLCJiYWNrZ3JvdW5kIjpudWxsfQ=="}}`
		choice = `{"native":{"protocol":"PROTOCOL_RESPONSES","name":"tool_choice","json":"eyJ0eXBlIjoiaW1hZ2VfZ2VuZXJhdGlvbiJ9","binding":true}}`
		lookup = `{"function":{"name":"lookup"}}`
	)
	for _, c := range []struct {
		to             genwayv1.Protocol
		in, want, lost string
	}{
		{responses, `{"modalities":["image"]}`, `{"tools":[` + tool + `],"toolChoice":` + choice + `}`, ""},
		{responses, `{"modalities":["text","image"],"tools":[` + lookup + `]}`, `{"tools":[` + lookup + `,` + tool + `]}`, ""},
		{responses, `{"modalities":["image"],"tools":[` + lookup + `],"toolChoice":{"mode":"MODE_AUTO"}}`, `{"tools":[` + lookup + `,` + tool + `],"toolChoice":{"mode":"MODE_AUTO"}}`, ""},
		{responses, `{"modalities":["image"],"toolChoice":{"parallel":false}}`, `{"tools":[` + tool + `],"toolChoice":{"parallel":false,` + choice[1:] + `}`, ""},
		{responses, `{"modalities":["text","image"],"tools":[` + sized + `]}`, `{"tools":[` + sized + `]}`, ""},
		{responses, `{"modalities":["image","audio"]}`, `{"modalities":["image","audio"]}`, ""},
		{responses, `{"modalities":["text"]}`, `{"modalities":["text"]}`, ""},
		{gemini, `{"modalities":["image"]}`, `{"modalities":["image"]}`, ""},
		{gemini, `{"tools":[` + sized + `],"toolChoice":{"mode":"MODE_REQUIRED"}}`, `{"modalities":["image"]}`, "tools[0].quality"},
		{interactions, `{"tools":[` + lookup + `,` + tool + `],"toolChoice":` + choice + `}`, `{"modalities":["image"],"tools":[` + lookup + `]}`, ""},
		{gemini, `{"tools":[` + lookup + `,` + tool + `],"toolChoice":{"mode":"MODE_REQUIRED"}}`, `{"tools":[` + lookup + `,` + tool + `],"toolChoice":{"mode":"MODE_REQUIRED"}}`, ""},
		{gemini, `{"tools":[` + tool + `]}`, `{"tools":[` + tool + `]}`, ""},
		{genwayv1.Protocol_PROTOCOL_MESSAGES, `{"modalities":["image"],"tools":[` + tool + `],"toolChoice":` + choice + `}`, `{"modalities":["image"],"tools":[` + tool + `],"toolChoice":` + choice + `}`, ""},
	} {
		var in, want genwayv1.GenerateTextRequest
		for text, m := range map[string]*genwayv1.GenerateTextRequest{c.in: &in, c.want: &want} {
			if err := protojson.Unmarshal([]byte(text), m); err != nil {
				t.Fatal(text, err)
			}
		}
		if c.in == c.want {
			want = genwayv1.GenerateTextRequest{}
			proto.Merge(&want, &in)
		}
		before := proto.Clone(&in)
		var losses codec.Losses
		got := fit.Drawn(&in, c.to, &losses)
		var lost []string
		for _, l := range losses.List() {
			lost = append(lost, l.GetMember())
		}
		if !proto.Equal(got, &want) || strings.Join(lost, " ") != c.lost {
			t.Errorf("%v %s is %v, lost %v", c.to, c.in, got, lost)
		}
		if !proto.Equal(&in, before) {
			t.Errorf("%s was changed", c.in)
		}
	}
}
