package codec_test

import (
	"testing"

	"github.com/genway/genway/codec"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/dynamicpb"
)

// filled returns a message of the type with a value in each field, of oneofs in the first.
func filled(t protoreflect.MessageType, deep int) protoreflect.Message {
	m := t.New()
	fields := m.Descriptor().Fields()
	for i := range fields.Len() {
		f := fields.Get(i)
		if o := f.ContainingOneof(); o != nil && m.WhichOneof(o) != nil {
			continue
		}
		switch {
		case f.IsList():
			list := m.Mutable(f).List()
			list.Append(list.NewElement())
		case f.IsMap():
		case f.Message() != nil && deep > 0:
			if inner, err := protoregistry.GlobalTypes.FindMessageByName(f.Message().FullName()); err == nil {
				m.Set(f, protoreflect.ValueOfMessage(filled(inner, deep-1)))
			}
		case f.Message() == nil && f.Kind() == protoreflect.StringKind:
			m.Set(f, protoreflect.ValueOfString("x"))
		case f.Message() == nil && f.HasPresence():
			m.Set(f, f.Default())
		case f.Kind() == protoreflect.BoolKind:
			m.Set(f, protoreflect.ValueOfBool(true))
		}
	}
	m.SetUnknown([]byte{0xa0, 0x06, 0x01})
	return m
}

// Each message of the contract arrives whole, and one whose fields are set afterwards,
// as an override does, leaves the other as it was.
func TestShare(t *testing.T) {
	seen := 0
	protoregistry.GlobalTypes.RangeMessages(func(mt protoreflect.MessageType) bool {
		if mt.Descriptor().ParentFile().Package() != genwayv1.File_genway_v1_generation_proto.Package() {
			return true
		}
		seen++
		src := filled(mt, 2).Interface()
		before, dst := proto.Clone(src), mt.New()
		codec.Share(dst.Interface(), src)
		if !proto.Equal(dst.Interface(), src) {
			t.Errorf("%s: %v became %v", mt.Descriptor().FullName(), src, dst)
		}
		dst.Range(func(f protoreflect.FieldDescriptor, _ protoreflect.Value) bool {
			switch {
			case f.IsList() || f.IsMap() || f.Message() != nil:
				dst.Clear(f)
			case f.Kind() == protoreflect.StringKind:
				dst.Set(f, protoreflect.ValueOfString("other"))
			case f.Kind() == protoreflect.BoolKind:
				dst.Set(f, protoreflect.ValueOfBool(!dst.Get(f).Bool()))
			case f.Kind() == protoreflect.Int64Kind:
				dst.Set(f, protoreflect.ValueOfInt64(77))
			case f.Kind() == protoreflect.Int32Kind:
				dst.Set(f, protoreflect.ValueOfInt32(77))
			}
			return true
		})
		if !proto.Equal(src, before) {
			t.Errorf("%s: was changed from %v to %v", mt.Descriptor().FullName(), before, src)
		}
		return true
	})
	if seen < 30 {
		t.Errorf("%d messages", seen)
	}
}

// A message without a struct of its own is shared field by field.
func TestShareOfADynamicMessage(t *testing.T) {
	src := dynamicpb.NewMessage((&genwayv1.Loss{}).ProtoReflect().Descriptor())
	src.Set(src.Descriptor().Fields().ByName("member"), protoreflect.ValueOfString("x"))
	dst := dynamicpb.NewMessage(src.Descriptor())
	codec.Share(dst, src)
	if !proto.Equal(dst, src) {
		t.Errorf("%v became %v", src, dst)
	}
}

func BenchmarkShare(b *testing.B) {
	src := &genwayv1.GenerateTextRequest{Model: "m", MaxOutputTokens: proto.Int64(9), Messages: []*genwayv1.Message{{}}, Wire: &genwayv1.WireMessage{}}
	b.ReportAllocs()
	for b.Loop() {
		codec.Share(&genwayv1.GenerateTextRequest{}, src)
	}
}
