package transport

import (
	"slices"

	"github.com/genway/genway/codec"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
)

// Where a body is: WireMessage.json of a carrier's field wire.
const (
	wireNumber protowire.Number = 15
	jsonNumber protowire.Number = 2
)

// split marshals a message with its body last: the order of fields is free, and so
// the body, which follows the head, needs no place in the middle.
func split(m carrier) (head, body []byte, err error) {
	body = m.GetWire().GetJson()
	head, err = proto.Marshal(without(m, wireNumber))
	if err != nil {
		return nil, nil, err
	}
	wire, err := proto.Marshal(without(m.GetWire(), jsonNumber))
	if err != nil {
		return nil, nil, err
	}
	head = protowire.AppendTag(head, wireNumber, protowire.BytesType)
	head = protowire.AppendVarint(head, uint64(len(wire)+protowire.SizeTag(jsonNumber)+protowire.SizeBytes(len(body))))
	head = append(head, wire...)
	head = protowire.AppendTag(head, jsonNumber, protowire.BytesType)
	head = protowire.AppendVarint(head, uint64(len(body)))
	return head, body, nil
}

// without returns a message that shares all that m holds but one field.
func without(m proto.Message, number protowire.Number) proto.Message {
	rest := m.ProtoReflect().New()
	codec.Share(rest.Interface(), m)
	rest.Clear(rest.Descriptor().Fields().ByNumber(number))
	return rest.Interface()
}

// join unmarshals a message around its body. What is before and after it is
// merged, which is how protobuf defines bytes that follow one another.
func join(data []byte, m carrier) error {
	wire, ok := find(data, wireNumber)
	if !ok {
		return proto.Unmarshal(data, m)
	}
	body, ok := find(wire.value, jsonNumber)
	if !ok || len(body.value) < large {
		return proto.Unmarshal(data, m)
	}
	if err := around(data, wire, m); err != nil {
		return err
	}
	to := m.ProtoReflect()
	if err := around(wire.value, body, to.Mutable(to.Descriptor().Fields().ByNumber(wireNumber)).Message().Interface()); err != nil {
		return err
	}
	m.GetWire().Json = body.value
	return nil
}

func around(data []byte, hole field, m proto.Message) error {
	if err := proto.Unmarshal(data[:hole.from], m); err != nil {
		return err
	}
	return proto.UnmarshalOptions{Merge: true}.Unmarshal(data[hole.to:], m)
}

// field is one of a message's: its value, and where it is with its tag and length.
type field struct {
	value    []byte
	from, to int
}

// find returns the field of a number, of bytes, which is there once. False are others,
// and a message that is none: they are proto.Unmarshal's to judge.
func find(data []byte, number protowire.Number) (field, bool) {
	var found field
	for at := 0; at < len(data); {
		n, kind, tag := protowire.ConsumeTag(data[at:])
		if tag < 0 {
			return field{}, false
		}
		length := protowire.ConsumeFieldValue(n, kind, data[at+tag:])
		if length < 0 {
			return field{}, false
		}
		end := at + tag + length
		if n == number {
			if kind != protowire.BytesType || found.value != nil {
				return field{}, false
			}
			value, _ := protowire.ConsumeBytes(data[at+tag:])
			found = field{value: slices.Clip(value), from: at, to: end}
		}
		at = end
	}
	return found, found.value != nil
}
