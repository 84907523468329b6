package sandbox

import (
	"testing"

	"github.com/genway/genway/codec/fault"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

// The sandbox refuses options of extra_json that the request has a field for, as every upstream does.
func TestExtraJSON(t *testing.T) {
	t.Parallel()
	for extra, param := range map[string]string{
		"": "", "{}": "", `{"thing":1}`: "", `{"messages":[]}`: "extra_json.messages", `{"Max_Output_Tokens":1}`: "extra_json.Max_Output_Tokens",
		`{"toolChoice":null}`: "extra_json.toolChoice", `{"thing":1,"model":"m"}`: "extra_json.model", `[]`: "extra_json", `{`: "extra_json", `{"a":1,"a":2}`: "extra_json",
	} {
		err := checkLimits(&genwayv1.GenerateTextRequest{ExtraJson: extra})
		if (err == nil) != (param == "") || err != nil && fault.From(err).Param != param {
			t.Errorf("%s: %v", extra, err)
		}
	}
	if _, err := accept(&genwayv1.GenerateImageRequest{Prompt: "p", ExtraJson: `{"prompt":"q"}`}); err == nil || fault.From(err).Param != "extra_json.prompt" {
		t.Errorf("of an image: %v", err)
	}
}
