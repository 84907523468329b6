// Package member reads and writes the members of JSON objects as the codecs need
// them: strictly where Genway owns the rule (exact names, no duplicates, typed
// errors with a path), and byte for byte where it does not (members it has no
// field for).
//
// It must not know any protocol.
package member

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/genway/genway/codec/fault"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Upstreams send lone surrogates and bytes that are not UTF-8, of which a text has U+FFFD. The library itself refuses nesting
// deeper than 10,000.
var decodeOptions = json.JoinOptions(
	json.DefaultOptionsV2(),
	jsontext.AllowInvalidUTF8(true),
)

// Decode reads one JSON object into v, a pointer to a zero struct. Names match
// exactly, duplicate names are refused, and nothing may follow the object. The
// error is a *fault.Error of kind InvalidRequest that says where: a line and
// column for malformed JSON, a path (messages[0].content) for a wrong type, or for a text with bytes that
// are not UTF-8 or half of a surrogate pair. The vendors refuse such a text (Anthropic: "no low surrogate in string"); to
// repair it would change what the caller said.
func Decode(body []byte, v any) error {
	if err := decode(body, v); err != nil {
		return err
	}
	if utf8.Valid(body) && paired(body) {
		return nil
	}
	d := jsontext.NewDecoder(bytes.NewReader(body), jsontext.AllowDuplicateNames(true))
	for {
		_, err := d.ReadToken()
		if err == nil {
			continue
		}
		var at string
		if syntax, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
			at = Path(string(syntax.JSONPointer))
		}
		return fault.Invalid(at, "%s: the text is not Unicode: it has bytes that are not UTF-8, or half of a surrogate pair", cmp.Or(at, "the body"))
	}
}

// paired reports whether each escape of a surrogate in JSON is one of a pair.
func paired(body []byte) bool {
	for {
		i := bytes.IndexByte(body, '\\')
		if i < 0 || len(body) < i+6 {
			return true
		}
		switch body = body[i:]; {
		case body[1] != 'u' || body[2]|0x20 != 'd' || body[3] < '8':
			body = body[2:]
		case body[3]|0x20 > 'b' || len(body) < 12 || body[6] != '\\' || body[7] != 'u' || body[8]|0x20 != 'd' || body[9]|0x20 < 'c':
			return false
		default:
			body = body[12:]
		}
	}
}

func decode(body []byte, v any) error {
	if Read(body, v) {
		return nil
	}
	if err := object(body); err != nil {
		return err
	}
	if err := json.Unmarshal(body, v, decodeOptions); err != nil {
		return decodeFault(body, err)
	}
	return nil
}

// DecodeAnswer is Decode for what an upstream sent: the error is of kind
// BadUpstream and withholds the text.
func DecodeAnswer(body []byte, v any) error {
	err := decode(body, v)
	if err == nil {
		return nil
	}
	return fault.MalformedAnswer(err)
}

// Options are the options bodies are decoded with, for decoders of single values.
func Options() json.Options { return decodeOptions }

func object(body []byte) error {
	trimmed := bytes.TrimLeft(body, " \t\r\n")
	if len(trimmed) == 0 {
		return fault.New(fault.InvalidRequest, fault.ReasonMalformedJSON, "the body is empty; a JSON object is expected")
	}
	if bytes.HasPrefix(trimmed, []byte("\xef\xbb\xbf")) {
		return fault.New(fault.InvalidRequest, fault.ReasonMalformedJSON, "malformed JSON at line 1, column 1: byte order mark")
	}
	if trimmed[0] != '{' && jsontext.Value(trimmed).IsValid(decodeOptions) {
		return fault.New(fault.InvalidRequest, fault.ReasonInvalidMember, "the body is a JSON %s; a JSON object is expected", kindName(jsontext.Kind(trimmed[0])))
	}
	return nil
}

func decodeFault(body []byte, err error) *fault.Error {
	var own *fault.Error
	var syntax *jsontext.SyntacticError
	var semantic *json.SemanticError
	switch {
	case errors.As(err, &own):
		// A decoder of ours knew better; the path around it is the library's.
		if errors.As(err, &semantic) {
			return prefixed(own, Path(string(semantic.JSONPointer)))
		}
		return own
	case errors.As(err, &syntax):
		line, column := position(body, syntax.ByteOffset)
		e := fault.Wrap(err, fault.InvalidRequest, fault.ReasonMalformedJSON, "malformed JSON at line %d, column %d: %s", line, column, syntaxText(syntax))
		e.Param = Path(string(syntax.JSONPointer))
		return e
	case errors.As(err, &semantic):
		param := Path(string(semantic.JSONPointer))
		want := typeName(semantic.GoType)
		return &fault.Error{Kind: fault.InvalidRequest, Reason: fault.ReasonInvalidMember, Param: param, Cause: err,
			Message: fmt.Sprintf("%s: expected %s, got %s", orBody(param), want, got(semantic))}
	}
	return fault.Wrap(err, fault.InvalidRequest, fault.ReasonMalformedJSON, "malformed JSON")
}

// prefixed returns e with its param made absolute.
func prefixed(e *fault.Error, base string) *fault.Error {
	if base == "" || strings.HasPrefix(e.Param, base) {
		return e
	}
	c := *e
	c.Param = Join(base, e.Param)
	return &c
}

func syntaxText(e *jsontext.SyntacticError) string {
	if e.Err == nil {
		return "invalid syntax"
	}
	return strings.TrimPrefix(e.Err.Error(), "jsontext: ")
}

func got(e *json.SemanticError) string {
	if e.JSONKind == '0' && len(e.JSONValue) > 0 && len(e.JSONValue) < 40 {
		return "number " + string(e.JSONValue)
	}
	return kindName(e.JSONKind)
}

func kindName(k jsontext.Kind) string {
	switch k {
	case 'n':
		return "null"
	case 't', 'f':
		return "boolean"
	case '"':
		return "string"
	case '{':
		return "object"
	case '[':
		return "array"
	}
	if k == '-' || k == '0' || k > '0' && k <= '9' {
		return "number"
	}
	return "another value"
}

func typeName(t reflect.Type) string {
	if t == nil {
		return "another type"
	}
	switch t.Kind() {
	case reflect.Pointer:
		return typeName(t.Elem())
	case reflect.Bool:
		return "boolean"
	case reflect.String:
		return "string"
	case reflect.Int, reflect.Int32, reflect.Int64, reflect.Int16, reflect.Int8:
		return "integer"
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return "non-negative integer"
	case reflect.Float32, reflect.Float64:
		return "number"
	case reflect.Slice, reflect.Array:
		return "array"
	case reflect.Struct, reflect.Map:
		return "object"
	}
	return "another type"
}

func orBody(param string) string {
	if param == "" {
		return "body"
	}
	return param
}

func position(body []byte, offset int64) (line, column int) {
	offset = min(offset, int64(len(body)))
	before := body[:offset]
	line = bytes.Count(before, []byte("\n")) + 1
	column = len(before) - bytes.LastIndexByte(before, '\n')
	return line, column
}

// Path spells a JSON pointer as vendors spell the param of an error:
// /messages/0/content is messages[0].content.
func Path(pointer string) string {
	var b strings.Builder
	for token := range jsontext.Pointer(pointer).Tokens() {
		if _, err := strconv.ParseUint(token, 10, 32); err == nil {
			b.WriteString("[" + token + "]")
			continue
		}
		if b.Len() > 0 {
			b.WriteByte('.')
		}
		b.WriteString(token)
	}
	return b.String()
}

// Join appends a member's path to the path of the value it is in.
func Join(base, path string) string {
	switch {
	case base == "":
		return path
	case path == "":
		return base
	case path[0] == '[':
		return base + path
	}
	return base + "." + path
}

// Index is the path of an element: Index("messages", 2) is messages[2].
func Index(base string, i int) string {
	return base + "[" + strconv.Itoa(i) + "]"
}
