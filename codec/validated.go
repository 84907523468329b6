package codec

import genwayv1 "github.com/genway/genway/gen/genway/v1"

// LoseValidated names what other protocols lose of generateContent's mode VALIDATED: it is
// AUTO with arguments that keep to their schemas (SDK: FunctionCallingConfigModeValidated).
// They know AUTO, and hold arguments to the schemas of strict tools alone.
func LoseValidated(req *genwayv1.GenerateTextRequest, losses *Losses) {
	c := req.GetToolChoice()
	if c.GetNativeMode() != "VALIDATED" || c.GetMode() != genwayv1.ToolChoice_MODE_AUTO {
		return
	}
	for _, t := range req.GetTools() {
		if f := t.GetFunction(); f != nil && !f.GetStrict() {
			losses.Add("tool_choice.native_mode", "the upstream holds arguments to the schemas of strict tools alone")
			return
		}
	}
}
