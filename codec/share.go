package codec

import (
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// Share sets dst's fields to those of src, a message of the same type, without
// copying what they hold: for handing a message over where an interface only
// offers one to fill. src must not be changed afterwards.
func Share(dst, src proto.Message) {
	to := dst.ProtoReflect()
	src.ProtoReflect().Range(func(field protoreflect.FieldDescriptor, value protoreflect.Value) bool {
		to.Set(field, value)
		return true
	})
}
