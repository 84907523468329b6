package chat

import (
	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/codec/member"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

const responseFormatName = "response_format"

// responseFormat reads the shape the answer must have. A type only some engine
// knows (a grammar) is kept whole.
func (d decoder) responseFormat(req *genwayv1.GenerateTextRequest, f *responseFormat) error {
	if f == nil {
		return nil
	}
	out := &genwayv1.ResponseFormat{}
	switch f.Type {
	case "":
		return fault.Missing(responseFormatName + ".type")
	case "text":
		out.Kind = genwayv1.ResponseFormat_KIND_TEXT
	case "json_object":
		out.Kind = genwayv1.ResponseFormat_KIND_JSON_OBJECT
	case "json_schema":
		s := f.JSONSchema
		if s == nil {
			return fault.Missing(responseFormatName + ".json_schema")
		}
		if s.Name == "" {
			return fault.Missing(responseFormatName + ".json_schema.name")
		}
		out.Kind = genwayv1.ResponseFormat_KIND_JSON_SCHEMA
		out.Name, out.Description, out.Strict = s.Name, s.Description, s.Strict
		if given(s.Schema) {
			out.SchemaJson = member.Text(s.Schema)
		}
		req.NativeFields = append(req.NativeFields, member.NativesUnder(protocol, "response_format.json_schema.", s.Extra)...)
	default:
		out.Native = &genwayv1.NativeField{Protocol: protocol, Name: responseFormatName, Json: f.verbatim.of(d.body), Binding: true}
		req.ResponseFormat = out
		return nil
	}
	req.ResponseFormat = out
	req.NativeFields = append(req.NativeFields, member.NativesUnder(protocol, "response_format.", f.Extra)...)
	return nil
}

func (e *encoder) responseFormat(r *request, req *genwayv1.GenerateTextRequest) error {
	f := req.ResponseFormat
	if f == nil {
		return nil
	}
	if f.Native != nil {
		if f.Native.Protocol != protocol {
			return fault.Unsupported(responseFormatName, "this response format cannot be carried to the upstream this model is routed to")
		}
		raw, err := jsonText(string(f.Native.Json), responseFormatName+".native.json")
		r.ResponseFormat = &responseFormat{verbatim: verbatim{raw: raw}}
		return err
	}
	out := &responseFormat{Extra: inner(req.NativeFields, "response_format.", "response_format.json_schema.")}
	switch f.Kind {
	case genwayv1.ResponseFormat_KIND_UNSPECIFIED:
		return nil
	case genwayv1.ResponseFormat_KIND_TEXT:
		out.Type = "text"
	case genwayv1.ResponseFormat_KIND_JSON_OBJECT:
		out.Type = "json_object"
	case genwayv1.ResponseFormat_KIND_JSON_SCHEMA:
		s := &jsonSchema{Name: f.Name, Description: f.Description, Strict: f.Strict, Extra: inner(req.NativeFields, "response_format.json_schema.")}
		if s.Name == "" {
			s.Name = "response" // required here, and other protocols have none
		}
		var err error
		if s.Schema, err = jsonText(f.SchemaJson, responseFormatName+".schema_json"); err != nil {
			return err
		}
		out.Type, out.JSONSchema = "json_schema", s
	default:
		return fault.Unsupported(responseFormatName, "a plain-text enum cannot be asked of the upstream this model is routed to")
	}
	r.ResponseFormat = e.format(out)
	return nil
}
