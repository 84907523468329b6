// Package interactions is the codec of Google's Interactions (POST /v1beta/interactions): steps in, steps out. The
// authority for its members is the vendor's npm package, @google/genai (types of the namespace interactions). Two members are
// from @ai-sdk/google (src/interactions): the signature of a function_call, and function results within a user_input.
//
// One part of the contract is one step, but for the content of a user's turn, which is one step together.
//
// Natives are nested by name: a native field of a request called generation_config.image_config is the member image_config of
// generation_config. Likewise step.* of a part is a member of the step that begins with it.
//
// Decoding reads wire structs; encoding appends JSON text, so that schemas, arguments and members without a field keep
// every byte. The package must not import net/http, grpc, another codec or anything of ours but the contract, codec
// and the packages below codec that know no protocol.
package interactions

import (
	"bytes"
	"cmp"
	"strconv"
	"strings"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/codec/google"
	"github.com/genway/genway/codec/member"
	"github.com/genway/genway/codec/setting"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/go-json-experiment/json/jsontext"
)

const protocol = genwayv1.Protocol_PROTOCOL_INTERACTIONS

// Codec is the codec of the protocol. The zero Codec is ready for use.
type Codec struct{}

var _ codec.Codec = Codec{}

// Protocol is PROTOCOL_INTERACTIONS.
func (Codec) Protocol() genwayv1.Protocol { return protocol }

// EncodeError renders err in Google's format, but for the code: that is the status in lower case, since the SDK's type ErrorT
// has a text there.
func (Codec) EncodeError(err *fault.Error) (int, []byte) {
	status, body := google.Encode(err, protocol)
	if err.Wire.GetProtocol() == protocol && len(err.Wire.GetJson()) > 0 {
		if alone, patched := member.Patch(body, member.Member{Name: eventType}); patched == nil { // of an event
			body = alone
		}
		return status, body
	}
	inner := jsontext.Value(member.Value(body, "error"))
	return status, withError(inner, member.Member{Name: "code", Value: member.AppendQuote(nil, strings.ToLower(text(inner, "status")))})
}

// withError is the body with an error whose members are changed.
func withError(inner jsontext.Value, members ...member.Member) []byte {
	patched, err := member.Patch(inner, members...)
	if err != nil {
		patched = inner
	}
	return append(append([]byte(`{"error":`), patched...), '}')
}

// DecodeError reads the body of a failed call: Google's format, or an object of the SDK's type ErrorT, whose code is a
// word. A status of 0 stands for a failure within a 200.
func (Codec) DecodeError(status int, body []byte) *fault.Error {
	inner := jsontext.Value(member.Value(body, "error"))
	if inner.Kind() != '{' || jsontext.Value(member.Value(inner, "code")).Kind() != '"' {
		return google.Decode(status, body, protocol)
	}
	word := text(inner, "code")
	if text(inner, "message") == "" {
		return failure(status, word, "")
	}
	members := []member.Member{{Name: "code", Value: jsontext.Value(strconv.Itoa(status))}}
	if text(inner, "status") == "" {
		members = append(members, member.Member{Name: "status", Value: member.AppendQuote(nil, statusOf(word))})
	}
	err := google.Decode(status, withError(inner, members...), protocol)
	if err.NativeCode = cmp.Or(err.NativeCode, word); err.Wire != nil {
		err.Wire.Json = bytes.Clone(body)
	}
	return err
}

// statusOf is the status of google.rpc that a code spells: a word, or a URI that ends in one.
func statusOf(code string) string {
	return strings.ToUpper(code[strings.LastIndexByte(code, '/')+1:])
}

// failure returns a failure by its word: a status of google.rpc, or a URI that ends in one.
func failure(status int, word, message string) *fault.Error {
	if message == "" {
		message = strings.TrimSpace("the upstream reported an error " + word)
	}
	err := fault.New(google.KindOf(status, statusOf(word)), "", "%s", message)
	err.NativeCode = word
	return err
}

// present reports whether a raw member was given a value.
func present(v jsontext.Value) bool { return len(v) > 0 && v.Kind() != 'n' }

// text returns the member of an object if it is a text, else nothing.
func text(raw jsontext.Value, name string) string {
	return member.Raw(member.Value(raw, name)).String()
}

// natives are the members that a wire struct has no field for. A name with a dot is
// refused: it would read as a nested one.
func natives(extra jsontext.Value, place member.Place) ([]*genwayv1.NativeField, error) {
	if len(extra) == 0 {
		return nil, nil
	}
	return nested("", extra, place)
}

// nested are natives whose names begin with a prefix, which ends with a dot.
func nested(prefix string, extra jsontext.Value, place member.Place) ([]*genwayv1.NativeField, error) {
	fields := member.Natives(protocol, extra, nil)
	for _, f := range fields {
		if strings.Contains(f.Name, ".") {
			return nil, fault.Invalid(place.Join(f.Name), "unknown member")
		}
		f.Name = prefix + f.Name
		f.Binding = setting.Binds(protocol, f.Name, f.Json)
	}
	return fields, nil
}

// split returns the fields whose names begin with a prefix, without it, and the others.
func split(fields []*genwayv1.NativeField, prefix string) (inner, own []*genwayv1.NativeField) {
	for _, f := range fields {
		if name, ok := strings.CutPrefix(f.Name, prefix); ok && f.Protocol == protocol {
			inner = append(inner, &genwayv1.NativeField{Protocol: f.Protocol, Name: name, Json: f.Json, Binding: f.Binding})
		} else {
			own = append(own, f)
		}
	}
	return inner, own
}

func native(name string, value []byte) *genwayv1.NativeField {
	return &genwayv1.NativeField{Protocol: protocol, Name: name, Json: bytes.Clone(value), Binding: setting.Binds(protocol, name, value)}
}

func opaque(kind string, raw []byte) *genwayv1.Part {
	return &genwayv1.Part{Kind: &genwayv1.Part_Opaque{Opaque: &genwayv1.OpaquePart{Protocol: protocol, Type: kind, Json: bytes.Clone(raw)}}}
}
