// Package setting declares each setting of a text or image request once: its field of the
// contract, the member that each protocol has for it, or why it is lost or refused there, the
// values that say nothing, and what an operator may do with it.
// conversation.go has the names of the members of conversations and answers.
//
// Everything else follows from the table. `make gen` writes the code of the codecs that reads and
// writes the members (codec/internal/wiregen); losses, refusals, the names that errors use,
// overrides, the catalogue's refusals, dialects, the sandbox's report and the documents read it.
//
// The package must not import another package of ours than the contract.
package setting

import (
	"strings"

	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// Setting is a field of a request beside its conversation and its tools.
type Setting struct {
	// Field is its path in GenerateTextRequest or GenerateImageRequest: sampling.top_k.
	Field string
	// Neutral is the vendors' documented default, as JSON text: the value that says what is so without
	// the setting. It is neither named as lost nor refused, and it is not written for another protocol
	// than its caller's, but where a Place has it written. Empty for a setting without one, or whose default is not
	// the same wherever the member is known: engines and models differ in their temperature.
	Neutral string
	// May is what an operator's configuration may do with it.
	May Verbs
	// Min and Max bound what an operator may set, where the contract bounds it. nil is no bound.
	Min, Max *float64
	// Doc says in the schema of the configuration what the name does not.
	Doc string
	// Chat, Responses, Messages, GenerateContent and Interactions say what the protocols have for a setting of
	// texts, Images what that protocol has for one of images.
	Chat, Responses, Messages, GenerateContent, Interactions, Images Place
}

// Verbs are what an operator's configuration may do with a setting.
type Verbs uint8

const (
	// Drop leaves it out (drop).
	Drop Verbs = 1 << iota
	// Set sets it (set, default), and keeps a number within a range (bound).
	Set
	// Refuse says of a model that it refuses the setting (refuses, in the catalogue).
	Refuse
	// Unbound excepts a number for which a range means nothing.
	Unbound
)

// Place is what a protocol has for a setting: a member, or the reason for which the setting is lost
// or refused. The zero Place is that of a field which callers of the protocol cannot set and
// upstreams of it do not miss.
type Place struct {
	// Member is the path of the member in a body: text.verbosity. Of several with | between
	// them the first is written, and each is read.
	Member string
	// ByHand reports that the codec has code of its own, since the protocol's member has another
	// shape than the field. Otherwise the code is generated.
	ByHand bool
	// Type is the Go type of the member in the codec, where it is not the field's.
	Type string
	// Words are the words that are written for the contract's; empty is not written.
	// Words that are not among them are written as they are.
	Words map[string]string
	// NoWords are words that are lost, for the reason NoWord.
	NoWords []string
	NoWord  string
	// Upper reports that words are in capitals.
	Upper bool
	// Min is the least number that a caller may send; 0 is no bound.
	Min int64
	// Max is the largest number that is written. A larger one is lost for the reason
	// OverMax, and Max is written. 0 is no bound.
	Max     float64
	OverMax string
	// Over32 is the reason for which numbers of more than 32 bits are lost; empty has no bound.
	Over32 string
	// Echo is what an answer of the responses protocol says of a setting that the request does not
	// have, as JSON text. Empty for a setting that answers do not repeat.
	Echo string
	// Written reports that the neutral value is written, too: some upstreams of the protocol do otherwise
	// without the member.
	Written bool
	// Implied is a value, as JSON text, that is so in the protocol without a member for it, and
	// ImpliedBy says why. The neutral value of a setting need not be named here.
	Implied   string
	ImpliedBy string
	// Lost is the reason for which a value other than the neutral one is left out and named.
	Lost string
	// Refused is the reason for which a request with another value is refused.
	Refused string
}

// Column is a protocol of the table.
type Column struct {
	Protocol genwayv1.Protocol
	// Codec is the name of its package below codec.
	Codec string
	// Settings are the rows, and Request is the message of the contract that they are fields of.
	Settings []Setting
	Request  proto.Message
	// Natives are members of its requests that the contract has no field for.
	Natives []Native
	of      func(*Setting) Place
}

var columns = []Column{
	{genwayv1.Protocol_PROTOCOL_CHAT_COMPLETIONS, "chat", texts, text, chatNatives, func(s *Setting) Place { return s.Chat }},
	{genwayv1.Protocol_PROTOCOL_RESPONSES, "responses", texts, text, responsesNatives, func(s *Setting) Place { return s.Responses }},
	{genwayv1.Protocol_PROTOCOL_MESSAGES, "messages", texts, text, messagesNatives, func(s *Setting) Place { return s.Messages }},
	{genwayv1.Protocol_PROTOCOL_GENERATE_CONTENT, "generatecontent", texts, text, generateContentNatives, func(s *Setting) Place { return s.GenerateContent }},
	{genwayv1.Protocol_PROTOCOL_INTERACTIONS, "interactions", texts, text, interactionsNatives, func(s *Setting) Place { return s.Interactions }},
	{genwayv1.Protocol_PROTOCOL_IMAGES, "images", images, image, imagesNatives, func(s *Setting) Place { return s.Images }},
}

var (
	text  = (*genwayv1.GenerateTextRequest)(nil)
	image = (*genwayv1.GenerateImageRequest)(nil)
)

// Columns are the protocols of the table. They must not be changed.
func Columns() []Column { return columns }

// Of is what a protocol has for a setting.
func (s *Setting) Of(protocol genwayv1.Protocol) Place {
	for i := range columns {
		if columns[i].Protocol == protocol {
			return columns[i].of(s)
		}
	}
	return Place{}
}

// Name is what a configuration calls a setting: the last step of its field.
func (s *Setting) Name() string { return s.Field[strings.LastIndexByte(s.Field, '.')+1:] }

// Path is the way to a setting's field, through the messages that it is in.
func (s *Setting) Path(of proto.Message) []protoreflect.FieldDescriptor {
	desc := of.ProtoReflect().Descriptor()
	var path []protoreflect.FieldDescriptor
	for step := range strings.SplitSeq(s.Field, ".") {
		if desc == nil {
			return nil
		}
		field := desc.Fields().ByName(protoreflect.Name(step))
		if field == nil {
			return nil
		}
		path = append(path, field)
		desc = field.Message()
	}
	return path
}

// Text returns the setting of texts with a name of the configuration; nil for none.
func Text(name string) *Setting { return named(texts, name) }

// Image returns the setting of images with a name of the configuration; nil for none.
func Image(name string) *Setting { return named(images, name) }

func named(table []Setting, name string) *Setting {
	for i := range table {
		if table[i].May != 0 && table[i].Name() == name {
			return &table[i]
		}
	}
	return nil
}

// Texts are the settings of texts, Images those of images. They must not be changed.
func Texts() []Setting { return texts }

// Images are the settings of images. They must not be changed.
func Images() []Setting { return images }
