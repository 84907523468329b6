package generatecontent

import (
	"slices"
	"strings"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/codec/member"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

// The modes of function calling (SDK type FunctionCallingConfigMode).
const (
	modeAuto = "AUTO"
	modeAny  = "ANY"
	modeNone = "NONE"
	// modeValidated is AUTO with arguments that keep to their schema, and with
	// allowed names.
	modeValidated   = "VALIDATED"
	modeUnspecified = "MODE_UNSPECIFIED"
)

// decode reads the tool configuration into the request.
func (w *toolConfig) decode(req *genwayv1.GenerateTextRequest, path string) error {
	fields, err := nested("toolConfig.", w.Extra, path, nil)
	if err != nil {
		return err
	}
	req.NativeFields = append(req.NativeFields, fields...)
	calling := w.FunctionCallingConfig
	if calling == nil {
		return nil
	}
	fields, err = nested("toolConfig.functionCallingConfig.", calling.Extra, path+".functionCallingConfig", nil)
	if err != nil {
		return err
	}
	req.NativeFields = append(req.NativeFields, fields...)
	choice := &genwayv1.ToolChoice{Names: calling.AllowedFunctionNames}
	switch mode := strings.ToUpper(calling.Mode); mode {
	case modeAuto:
		choice.Mode = genwayv1.ToolChoice_MODE_AUTO
		if len(choice.Names) > 0 {
			choice.NativeMode = modeAuto // names go with VALIDATED otherwise
		}
	case modeAny:
		choice.Mode = genwayv1.ToolChoice_MODE_REQUIRED
	case modeNone:
		choice.Mode = genwayv1.ToolChoice_MODE_NONE
	case modeValidated:
		choice.Mode, choice.NativeMode = genwayv1.ToolChoice_MODE_AUTO, modeValidated
	case modeUnspecified, "":
		if len(choice.Names) == 0 {
			return nil
		}
	default:
		choice.NativeMode = calling.Mode
	}
	choice.AllowedList = len(choice.Names) > 0 && (len(choice.Names) > 1 || choice.Mode != genwayv1.ToolChoice_MODE_REQUIRED)
	req.ToolChoice = choice
	return nil
}

// encodeToolConfig writes the choice of tools. Functions with a strict schema ask
// for the mode that keeps to schemas (case T15); so does a choice among allowed
// names, which AUTO does not take.
func encodeToolConfig(req *genwayv1.GenerateTextRequest, calling, outer []*genwayv1.NativeField, losses *codec.Losses) (*toolConfig, error) {
	w := &toolConfig{}
	var err error
	if w.Extra, err = member.Extra(protocol, outer, "tool_choice", losses); err != nil {
		return nil, err
	}
	c := &functionCallingConfig{}
	if c.Extra, err = member.Extra(protocol, calling, "tool_choice", losses); err != nil {
		return nil, err
	}
	if err := c.choose(req); err != nil {
		return nil, err
	}
	if c.Mode != "" || len(c.AllowedFunctionNames) > 0 || len(c.Extra) > 0 {
		w.FunctionCallingConfig = c
	}
	if w.FunctionCallingConfig == nil && len(w.Extra) == 0 {
		return nil, nil
	}
	return w, nil
}

func (c *functionCallingConfig) choose(req *genwayv1.GenerateTextRequest) error {
	choice := req.ToolChoice
	if choice.GetNative() != nil {
		return fault.Unsupported("tool_choice", "tool_choice: the target protocol has no such choice")
	}
	c.AllowedFunctionNames = choice.GetNames()
	word := choice.GetNativeMode()
	switch choice.GetMode() {
	case genwayv1.ToolChoice_MODE_REQUIRED:
		c.Mode = modeAny
	case genwayv1.ToolChoice_MODE_NONE:
		c.Mode = modeNone
	case genwayv1.ToolChoice_MODE_AUTO:
		c.Mode = modeAuto
		if word == modeValidated || word == "" && len(c.AllowedFunctionNames) > 0 {
			c.Mode = modeValidated
		}
	default:
		if c.Mode = strings.ToUpper(word); word != c.Mode && c.Mode != modeValidated {
			return fault.Unsupported("tool_choice", "tool_choice: the target protocol has no mode %s", word)
		}
	}
	if (c.Mode == "" || c.Mode == modeAuto) && slices.ContainsFunc(req.Tools, strict) {
		c.Mode = modeValidated
	}
	return nil
}

func strict(t *genwayv1.Tool) bool { return t.GetFunction().GetStrict() }
