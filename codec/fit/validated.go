package fit

import (
	"slices"

	"github.com/genway/genway/codec"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

// maxStrict is how many strict tools a request of the messages protocol may have.
const maxStrict = 20

// Validated carries generateContent's mode VALIDATED, which is AUTO with arguments that keep
// to their schemas (SDK: FunctionCallingConfigModeValidated). Other protocols hold arguments
// to the schemas of strict functions alone: the functions whose schemas the vendors' strict
// modes take are made strict, and the mode is named as lost where one is left.
func Validated(req *genwayv1.GenerateTextRequest, protocol genwayv1.Protocol, losses *codec.Losses) *genwayv1.GenerateTextRequest {
	c := req.GetToolChoice()
	if c.GetNativeMode() != "VALIDATED" || c.GetMode() != genwayv1.ToolChoice_MODE_AUTO || protocol == genwayv1.Protocol_PROTOCOL_GENERATE_CONTENT {
		return req
	}
	out := codec.Shared(req)
	out.Tools = slices.Clone(req.GetTools())
	strict, lost := 0, false
	for i, t := range out.Tools {
		f := t.GetFunction()
		if f == nil {
			continue
		}
		full := protocol == genwayv1.Protocol_PROTOCOL_MESSAGES && strict >= maxStrict
		if f.Strict == nil && !full && takesStrict(f.GetParametersJson()) {
			out.Tools[i] = strictly(t)
		}
		if out.Tools[i].GetFunction().GetStrict() {
			strict++
		} else {
			lost = true
		}
	}
	if lost {
		losses.Add("tool_choice.native_mode", "the upstream holds arguments to the schemas of strict tools alone")
	}
	return out
}

// strictly is the function tool, strict.
func strictly(t *genwayv1.Tool) *genwayv1.Tool {
	tool, f := codec.Shared(t), codec.Shared(t.GetFunction())
	f.Strict = new(true)
	tool.Kind = &genwayv1.Tool_Function{Function: f}
	return tool
}
