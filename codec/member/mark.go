package member

import genwayv1 "github.com/genway/genway/gen/genway/v1"

// Mark is a native field without a value. It says which of several members of
// the protocol the surrounding message came in (max_completion_tokens rather
// than max_tokens), so that an encoder of the same protocol chooses that one
// again. What it says is in the canonical fields, so no other protocol loses
// anything by it: Extra passes marks over.
func Mark(protocol genwayv1.Protocol, name string) *genwayv1.NativeField {
	return &genwayv1.NativeField{Protocol: protocol, Name: name}
}

// Marked reports whether fields have that mark.
func Marked(protocol genwayv1.Protocol, fields []*genwayv1.NativeField, name string) bool {
	for _, f := range fields {
		if f.Protocol == protocol && f.Name == name && IsMark(f) {
			return true
		}
	}
	return false
}

// IsMark reports whether the field is a mark.
func IsMark(f *genwayv1.NativeField) bool { return len(f.GetJson()) == 0 }
