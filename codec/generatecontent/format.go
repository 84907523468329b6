package generatecontent

import (
	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/codec/member"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/go-json-experiment/json/jsontext"
)

// The types of answers (SDK field GenerationConfig.ResponseMIMEType; text/x.enum
// from the API's reference).
const (
	plainType = "text/plain"
	jsonType  = "application/json"
	enumType  = "text/x.enum"

	// mimeTypeField is the native field of a type that this version does not know.
	mimeTypeField = "generationConfig.responseMimeType"
)

// decodeFormat reads the wanted shape of the answer. A type this version does not
// know stays a native field that binds.
func (w *generationConfig) decodeFormat(req *genwayv1.GenerateTextRequest, path string) error {
	schema, err := w.schema(path)
	if err != nil {
		return err
	}
	f := &genwayv1.ResponseFormat{SchemaJson: schema}
	switch w.ResponseMIMEType {
	case "", jsonType:
		switch {
		case schema != "":
			f.Kind = genwayv1.ResponseFormat_KIND_JSON_SCHEMA
		case w.ResponseMIMEType == "":
			return nil
		default:
			f.Kind = genwayv1.ResponseFormat_KIND_JSON_OBJECT
		}
	case enumType:
		f.Kind = genwayv1.ResponseFormat_KIND_ENUM
	default:
		if schema != "" {
			return fault.Invalid(path+".responseMimeType", "%s.responseMimeType must be %s or %s for an answer with a schema", path, jsonType, enumType)
		}
		if f.Kind = genwayv1.ResponseFormat_KIND_TEXT; w.ResponseMIMEType == plainType {
			break
		}
		word, err := jsontext.AppendQuote(nil, w.ResponseMIMEType)
		if err != nil {
			return fault.Invalid(path+".responseMimeType", "%s.responseMimeType is not text", path)
		}
		field := native(mimeTypeField, word)
		field.Binding = true
		req.NativeFields = append(req.NativeFields, field)
		return nil
	}
	req.ResponseFormat = f
	return nil
}

// schema returns the schema of the answer as JSON Schema; "" when there is none.
func (w *generationConfig) schema(path string) (string, error) {
	switch {
	case present(w.ResponseSchema) && present(w.ResponseJSONSchema):
		return "", fault.Invalid(path+".responseJsonSchema", "%s has both responseSchema and responseJsonSchema", path)
	case present(w.ResponseSchema):
		return jsonSchema(w.ResponseSchema, path+".responseSchema")
	case present(w.ResponseJSONSchema):
		return member.Text(w.ResponseJSONSchema), nil
	}
	return "", nil
}

// encodeFormat writes the wanted shape of the answer. Schemas go as JSON Schema,
// but for enums: those the vendor takes in its own dialect only, in which an enum
// is spelled the same.
func (w *generationConfig) encodeFormat(f *genwayv1.ResponseFormat) error {
	if f == nil {
		return nil
	}
	if f.Native != nil {
		return fault.Unsupported("response_format", "response_format: the target protocol has no such format")
	}
	var schema jsontext.Value
	if f.SchemaJson != "" {
		if schema = jsontext.Value(f.SchemaJson); !member.Valid(schema) {
			return fault.Invalid("response_format.schema_json", "response_format.schema_json is not JSON")
		}
	}
	switch f.Kind {
	case genwayv1.ResponseFormat_KIND_JSON_SCHEMA:
		w.ResponseMIMEType, w.ResponseJSONSchema = jsonType, schema
	case genwayv1.ResponseFormat_KIND_JSON_OBJECT:
		w.ResponseMIMEType = jsonType
	case genwayv1.ResponseFormat_KIND_ENUM:
		w.ResponseMIMEType, w.ResponseSchema = enumType, schema
	case genwayv1.ResponseFormat_KIND_TEXT:
		w.ResponseMIMEType = plainType
	default:
	}
	return nil
}
