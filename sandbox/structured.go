package sandbox

import (
	"strings"

	"github.com/genway/genway/codec/fault"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/genway/genway/sandbox/schema"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// structured returns the text of an answer whose format the request constrains:
//
//	KIND_JSON_SCHEMA  an instance of the schema, with values from the prompt
//	KIND_JSON_OBJECT  the same where a schema is given; else the report of a plain
//	                  reply as {"reply": first line, "given": [the other lines]}
//	KIND_ENUM         one of the values as plain text, the one the prompt names if any
//
// ok is false for plain text.
func structured(req *genwayv1.GenerateTextRequest, prompt string, seed uint64, lines []string) (answer string, ok bool, err error) {
	format := req.GetResponseFormat()
	if format.GetNative() != nil {
		return "", false, fault.Unsupported("response_format", "the sandbox cannot write in the format %s", clip(format.GetNative().GetName(), 60))
	}
	kind := format.GetKind()
	switch kind {
	case genwayv1.ResponseFormat_KIND_JSON_SCHEMA, genwayv1.ResponseFormat_KIND_JSON_OBJECT, genwayv1.ResponseFormat_KIND_ENUM:
	default:
		return "", false, nil
	}
	if format.GetSchemaJson() == "" && kind == genwayv1.ResponseFormat_KIND_JSON_OBJECT {
		raw, err := json.Marshal(struct {
			Reply string   `json:"reply"`
			Given []string `json:"given"`
		}{lines[0], lines[1:]})
		return string(raw), true, err
	}
	if format.GetSchemaJson() == "" {
		return "", false, fault.Missing("response_format.schema_json")
	}
	instance, err := schema.Options{Seed: seed, Hints: hints(prompt)}.Instance([]byte(format.GetSchemaJson()))
	if err != nil {
		return "", false, fault.Invalid("response_format.schema_json", "response_format.schema_json: nothing satisfies the schema: %s", clip(err.Error(), 400))
	}
	if kind == genwayv1.ResponseFormat_KIND_ENUM {
		if text, ok := unquoted(string(instance)); ok {
			return text, true, nil
		}
	}
	return string(instance), true, nil
}

// unquoted is the text of a JSON string.
func unquoted(raw string) (string, bool) {
	if !strings.HasPrefix(raw, `"`) {
		return "", false
	}
	text, err := jsontext.AppendUnquote(nil, []byte(raw))
	return strings.ToValidUTF8(string(text), "\uFFFD"), err == nil
}
