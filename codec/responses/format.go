package responses

import (
	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/codec/member"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/go-json-experiment/json/jsontext"
)

// formatKinds are the types of text.format (SDK: ResponseFormatTextConfigUnion).
var formatKinds = map[string]genwayv1.ResponseFormat_Kind{
	"text":        genwayv1.ResponseFormat_KIND_TEXT,
	"json_object": genwayv1.ResponseFormat_KIND_JSON_OBJECT,
	"json_schema": genwayv1.ResponseFormat_KIND_JSON_SCHEMA,
}

const formatPath = "text.format"

// decodeFormat reads text.format, and its unknown members for the request.
func decodeFormat(raw jsontext.Value) (*genwayv1.ResponseFormat, []*genwayv1.NativeField, error) {
	if k := raw.Kind(); k == 0 || k == 'n' {
		return nil, nil, nil
	}
	kind, err := typeOf(raw, member.Place{Path: formatPath})
	if err != nil {
		return nil, nil, err
	}
	if kind == "" {
		return nil, nil, fault.Missing(formatPath + ".type")
	}
	if _, ok := formatKinds[kind]; !ok {
		return &genwayv1.ResponseFormat{Native: &genwayv1.NativeField{
			Protocol: protocol, Name: formatPath, Json: raw, Binding: true}}, nil, nil
	}
	var w wireFormat
	if err := member.DecodeAt(raw, &w, member.Place{Path: formatPath}); err != nil {
		return nil, nil, err
	}
	f := &genwayv1.ResponseFormat{Kind: formatKinds[kind], Name: w.Name, Description: w.Description, Strict: w.Strict}
	if f.SchemaJson, err = object(w.Schema, formatPath+".schema"); err != nil {
		return nil, nil, err
	}
	if f.Kind == genwayv1.ResponseFormat_KIND_JSON_SCHEMA {
		switch {
		case f.Name == "":
			return nil, nil, fault.Missing(formatPath + ".name")
		case f.SchemaJson == "":
			return nil, nil, fault.Missing(formatPath + ".schema")
		}
	}
	return f, member.NativesUnder(protocol, formatPath+".", w.Extra), nil
}

// encodeText writes the text member of a request: the format, if any, and the settings of
// req. natives are the members of that object which the contract does not type.
func encodeText(w *member.Writer, req *genwayv1.GenerateTextRequest, format *genwayv1.ResponseFormat, natives []*genwayv1.NativeField, losses *codec.Losses) error {
	ofText, ofFormat := split(natives, "format.")
	extra, err := member.Extra(protocol, ofText, "text", losses)
	if err != nil {
		return err
	}
	var s textSettings
	s.encode(req, losses)
	if format == nil && s == (textSettings{}) && extra == nil {
		return nil
	}
	w.Object("text")
	if format != nil {
		if err := encodeFormat(w, format, ofFormat); err != nil {
			return err
		}
	}
	s.writeMembers(w)
	w.Spliced(extra)
	w.End()
	return nil
}

func encodeFormat(w *member.Writer, f *genwayv1.ResponseFormat, natives []*genwayv1.NativeField) error {
	if f.Native != nil {
		if f.Native.Protocol != protocol {
			return fault.Unsupported("response_format", "response_format: the upstream this model is routed to has no such format")
		}
		w.Raw("format", f.Native.Json)
		return nil
	}
	extra, err := member.Extra(protocol, natives, "response_format", nil)
	if err != nil {
		return err
	}
	w.Object("format")
	switch {
	case f.Kind == genwayv1.ResponseFormat_KIND_TEXT:
		w.Str("type", "text")
	case f.Kind == genwayv1.ResponseFormat_KIND_JSON_OBJECT, f.Kind == genwayv1.ResponseFormat_KIND_JSON_SCHEMA && f.SchemaJson == "":
		w.Str("type", "json_object")
	case f.Kind == genwayv1.ResponseFormat_KIND_JSON_SCHEMA:
		if err := encodeSchemaFormat(w, f); err != nil {
			return err
		}
	default:
		return fault.Unsupported("response_format", "response_format: the upstream this model is routed to has no such format")
	}
	w.Spliced(extra)
	w.End()
	return nil
}

// encodeSchemaFormat names the schema, as the vendor demands, where the caller's
// protocol has no names.
func encodeSchemaFormat(w *member.Writer, f *genwayv1.ResponseFormat) error {
	name := f.Name
	if name == "" {
		name = "response"
	}
	w.Str("type", "json_schema")
	w.Str("name", name)
	w.StrOpt("description", f.Description)
	if err := encodeSchema(w, "schema", f.SchemaJson, "response_format.schema_json"); err != nil {
		return err
	}
	w.BoolOpt("strict", f.Strict)
	return nil
}
