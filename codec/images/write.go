package images

import (
	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/codec/member"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/go-json-experiment/json/jsontext"
)

// finish returns what was written. What can go wrong is the JSON of a native field.
func finish(w *member.Writer) ([]byte, error) {
	body, err := w.Finish()
	if err != nil {
		return nil, unwritable(err)
	}
	return body, nil
}

func unwritable(err error) error {
	return fault.Wrap(err, fault.Internal, "ENCODE", "%s", fault.InternalMessage)
}

// extra returns the native fields of an object as members, whose strings are spelled with no
// more escapes than they need.
func extra(fields []*genwayv1.NativeField, path string, losses *codec.Losses) (jsontext.Value, error) {
	members, err := member.Extra(protocol, fields, path, losses)
	if err != nil || len(members) == 0 {
		return nil, err
	}
	plain, err := jsontext.AppendFormat(nil, members, jsontext.AllowInvalidUTF8(true))
	if err != nil {
		return nil, unwritable(err)
	}
	return plain, nil
}

// sizeOf is about how long the body of an answer will be.
func sizeOf(resp *genwayv1.GenerateImageResponse) int {
	size := 512
	for _, i := range resp.GetImages() {
		size += 256 + len(i.GetData())/3*4 + len(i.GetUrl()) + len(i.GetRevisedPrompt())*9/8
	}
	return size
}
