package protocol

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/codec/member"
	"github.com/genway/genway/codec/setting"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// Names are the names that the caller of one request has for members of the contract. The core, the
// sandbox and the codecs of upstreams name a member at fault, or one that was lost, as the contract does
// (sampling.candidate_count, messages[1].parts[0]); the caller reads what it has sent (n,
// messages[1].content[0]). Settings are looked up in their table. Positions in a conversation are traced
// (places.go); one that cannot be traced is named as the member that encloses it. Both cost nothing until
// they are asked for.
type Names struct {
	of           *fieldNames // nil keeps the contract's
	conversation Conversation
	// decode returns the request that a body is decoded to; nil for one without a conversation.
	decode func(body []byte) (*genwayv1.GenerateTextRequest, error)
	body   []byte
	root   func() *node
	plain  func() (*genwayv1.GenerateTextRequest, error)
	places func() map[string]place
}

// fieldNames are a protocol's names for fields of the contract, by their paths: from a request, and,
// from there, from a message, a part, a tool and an answer.
type fieldNames struct {
	request, message, part, holder, tool, answer map[string]string
	// spelled returns the codec's spelling of a name that has several.
	spelled func(string) string
	camel   bool
}

var namesOf = sync.OnceValue(func() map[genwayv1.Protocol]*fieldNames {
	all := map[genwayv1.Protocol]*fieldNames{}
	for _, column := range setting.Columns() {
		named := func(m *setting.Member) (field, name string) { return m.Field, m.Of(column.Protocol) }
		of := func(rows []setting.Member) map[string]string { return membersOf(rows, named) }
		n := &fieldNames{
			message: of(setting.Messages), part: of(setting.Parts), tool: of(setting.Tools), answer: of(setting.Answers),
			request: membersOf(column.Settings, func(s *setting.Setting) (string, string) { return s.Field, s.Of(column.Protocol).Member }),
			holder:  written(setting.Holders, named),
			spelled: func(name string) string { return name },
		}
		if Of(column.Protocol).Images {
			n.answer = map[string]string{"images": "data", "images[]": "data[]", "usage": "usage"}
		} else {
			maps.Copy(n.request, of(setting.Lists))
		}
		if s, ok := Of(column.Protocol).Codec.(interface{ Spelled(name string) string }); ok {
			n.spelled, n.camel = s.Spelled, true
		}
		all[column.Protocol] = n
	}
	return all
})

// membersOf returns members by their fields. A field without a member has the member of what it is within, or is
// part of the object itself.
func membersOf[Row any](rows []Row, of func(*Row) (field, name string)) map[string]string {
	names := written(rows, of)
	for i := range rows {
		field, _ := of(&rows[i])
		if _, _, ok := longest(names, field); !ok {
			names[field] = setting.Itself
		}
	}
	return names
}

// written returns the members of the fields that have one.
func written[Row any](rows []Row, of func(*Row) (field, name string)) map[string]string {
	names := map[string]string{}
	for i := range rows {
		if field, name := of(&rows[i]); name != "" {
			names[field] = name
		}
	}
	return names
}

// Names returns the names that the caller has who sent a body for a message of the contract. The body may
// be of any bytes, and is only read.
func (p *Protocol) Names(body []byte, message proto.Message) *Names {
	n := &Names{of: namesOf()[p.ID], body: body, conversation: p.Conversation, decode: p.decoder(message)}
	n.root = sync.OnceValue(func() *node {
		if root := parse(body); len(body) <= maxTraced && root != nil {
			return root
		}
		return &node{}
	})
	n.plain = sync.OnceValues(func() (*genwayv1.GenerateTextRequest, error) {
		if n.decode == nil {
			return nil, nil
		}
		return n.decode(body)
	})
	n.places = sync.OnceValue(n.trace)
	return n
}

// decoder is how bodies of a kind of request are decoded; nil for those without a conversation.
func (p *Protocol) decoder(message proto.Message) func([]byte) (*genwayv1.GenerateTextRequest, error) {
	switch message.(type) {
	case *genwayv1.GenerateTextRequest:
		return func(body []byte) (*genwayv1.GenerateTextRequest, error) {
			req, err := p.Codec.DecodeRequest(body)
			if err != nil {
				return nil, err
			}
			return req.GenerateTextRequest, nil
		}
	case *genwayv1.CountTokensRequest:
		if counter, ok := p.Codec.(codec.TokenCounter); ok {
			return func(body []byte) (*genwayv1.GenerateTextRequest, error) {
				req, err := counter.DecodeCountRequest(body)
				return req.GetRequest(), err
			}
		}
	}
	return nil
}

// Lost returns the caller's names of lost members, each once.
func (n *Names) Lost(losses []*genwayv1.Loss) (names []string) {
	for _, l := range losses {
		if name := n.Member(l.GetMember()); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// Member returns the caller's name of a member of the contract's request or answer. What the contract does
// not know, or the caller's protocol has no name for, stays as it is.
func (n *Names) Member(path string) string {
	if n.of == nil {
		return path
	}
	whole := path
	path = strings.TrimPrefix(path, "request.") // of a CountTokensRequest
	head, rest := nextStep(path)
	switch {
	case head == "messages" && strings.HasPrefix(rest, "["):
		return n.position(path, head, n.of.message)
	case head == "tools" && strings.HasPrefix(rest, "["):
		return n.position(path, head, n.of.tool)
	case head == "images" && ofMedia(rest):
		index, _ := nextStep(rest)
		known, _ := n.sent(n.of.request[head], index)
		return known
	case head == "candidates", head == "usage", head == "images" && strings.HasPrefix(rest, "["):
		return n.answer(head, rest)
	case head == "system_fingerprint", head == "prompt_feedback":
		return n.camelCase(path)
	}
	name, below, ok := longest(n.of.request, path)
	own, has := n.follow(path) // a member that the caller has sent by that name
	switch {
	case ok && name != setting.Itself:
		known, sent := n.sent(name, below)
		if sent || !has {
			return known
		}
		return own
	case has:
		return own
	}
	return whole
}

// ofMedia reports whether a path in a list of images is about one of a request: of a field that those of answers do
// not have, or of its source.
func ofMedia(path string) bool {
	_, field := nextStep(path)
	media, answered := (*genwayv1.Media)(nil).ProtoReflect().Descriptor(), (*genwayv1.GeneratedImage)(nil).ProtoReflect().Descriptor()
	name := protoreflect.Name(field)
	return media.Fields().ByName(name) != nil && answered.Fields().ByName(name) == nil || media.Oneofs().ByName(name) != nil
}

// sent returns the first of several names that the caller has sent, with what is below it if that was sent as
// well; else the first, and false.
func (n *Names) sent(name, below string) (string, bool) {
	first, _, _ := strings.Cut(name, "|")
	for _, base := range []string{"", "generateContentRequest"} {
		for alternative := range strings.SplitSeq(name, "|") {
			known, whole := n.follow(member.Join(base, alternative))
			if !whole {
				continue
			}
			if longer, whole := n.follow(known + below); whole {
				return longer, true
			}
			return known, true
		}
	}
	return first, false
}

// position returns the caller's name of what is in an element of a list.
func (n *Names) position(path, list string, table map[string]string) string {
	name, ok := n.of.request[list]
	if !ok {
		return path
	}
	for prefix := path; prefix != ""; prefix = up(prefix) {
		at, ok := n.places()[prefix]
		if !ok {
			continue
		}
		field := strings.TrimPrefix(path[len(prefix):], ".")
		if strings.HasSuffix(up(prefix), ".parts") {
			table = n.of.part
			if own, held := n.holder(up(up(prefix)), field); held {
				return own
			}
		}
		if at.around {
			return at.path
		}
		return n.below(at.path, table, field)
	}
	known, _ := n.sent(name, "")
	return known
}

// holder returns the member of a message's object that a field of one of its parts is in.
func (n *Names) holder(message, field string) (string, bool) {
	for prefix := field; strings.Contains(prefix, "."); prefix = up(prefix) {
		if name, ok := n.of.holder[prefix]; ok {
			return n.follow(member.Join(n.places()[message].path, name))
		}
	}
	return "", false
}

// below returns a member of an object of the caller's: as much of its path as is there.
func (n *Names) below(object string, table map[string]string, path string) string {
	name, rest, ok := longest(table, path)
	if !ok {
		name, rest = path, "" // a native field
	}
	deepest := object
	for alternative := range strings.SplitSeq(name, "|") {
		if alternative == setting.Itself {
			continue
		}
		known, whole := n.follow(member.Join(object, alternative))
		if whole {
			if longer, whole := n.follow(known + rest); whole {
				return longer
			}
			return known
		}
		if len(known) > len(deepest) {
			deepest = known
		}
	}
	return deepest
}

// answer returns the caller's name of what an answer has and the caller's protocol has no place for: where it
// would be, in the protocol's words, and the contract's name of it.
func (n *Names) answer(head, rest string) string {
	name := n.of.answer[head]
	if !strings.HasPrefix(rest, "[") {
		return member.Join(name, n.camelCase(rest))
	}
	index, rest := nextStep(rest)
	at := strings.Replace(n.of.answer[head+"[]"], "[]", index, 1)
	if list, below := nextStep(rest); list == "parts" {
		_, below = nextStep(below)
		return member.Join(member.Join(at, n.of.answer["candidates[].parts"]), n.camelCase(below))
	}
	if rest == "" && at == "" {
		at = name
	}
	return member.Join(at, n.camelCase(rest))
}

// camelCase spells a name of the contract in the protocol's way.
func (n *Names) camelCase(name string) string {
	words := strings.Split(name, "_")
	if !n.of.camel {
		return name
	}
	for i, word := range words[1:] {
		if word != "" {
			words[i+1] = strings.ToUpper(word[:1]) + word[1:]
		}
	}
	return strings.Join(words, "")
}

// longest finds the entry of a table for the longest prefix of a path, at the bounds of its steps, and what
// of the path is left.
func longest(table map[string]string, path string) (name, rest string, ok bool) {
	for prefix := path; prefix != ""; prefix = up(prefix) {
		if name, ok := table[prefix]; ok {
			return name, path[len(prefix):], true
		}
	}
	return "", path, false
}

// up cuts the last step off a path.
func up(path string) string { return path[:max(strings.LastIndexAny(path, ".["), 0)] }

// pathInText is a path of the contract within a text: names with an index, a dot or an underscore. A single
// word may be a word of the text.
var pathInText = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\b[a-z][a-z_]*(?:\[\d+\])?(?:\.[A-Za-z_]\w*(?:\[\d+\])?)*`)
})

// InBody begins a path that is in the caller's words already: it leads from the top of the caller's body. No
// path of the contract begins so.
const InBody = "$."

// Fault names the members of a failure for the caller, in its text and in its param. The failure is one that
// the core has reported: a failure of a body that the core could not decode has the caller's names already, and the
// words of an upstream are left unchanged.
func (n *Names) Fault(f *fault.Error) {
	if path, ok := strings.CutPrefix(f.Param, InBody); ok {
		f.Message = strings.Replace(f.Message, f.Param, path, 1)
		f.Param = path
		return
	}
	if n.of == nil || f.NativeType != "" || f.NativeCode != "" || f.UpstreamRequestID != "" {
		return
	}
	if _, err := n.plain(); err != nil {
		return
	}
	path := f.Param
	if path != "" {
		f.Param = n.Member(path)
	}
	if rest, ok := strings.CutPrefix(f.Message, path); ok && path != "" && !startsWord(rest) {
		f.Message = f.Param + n.text(rest)
		return
	}
	f.Message = n.text(f.Message)
}

// text returns a text with the paths in it as the caller knows them.
func (n *Names) text(text string) string {
	return pathInText().ReplaceAllStringFunc(text, func(path string) string {
		if !strings.ContainsAny(path, "_[.") {
			return path
		}
		return n.Member(path)
	})
}

// startsWord reports whether a text goes on with the word before it.
func startsWord(text string) bool {
	return text != "" && (text[0] == '_' || text[0] == '[' || text[0] >= '0' && text[0] <= '9' || text[0]|0x20 >= 'a' && text[0]|0x20 <= 'z')
}

// predicates begin texts whose subject is the member at fault.
var predicates = []string{"must ", "is ", "are ", "has ", "have ", "cannot "}

// Subject makes sure that a failure's text says what it is about: not every protocol has a place for the member
// but the text. Sentences with a capital are a vendor's own.
func Subject(f *fault.Error) {
	if f.Param == "" || f.Message == "" || mentions(f.Message, f.Param) || f.Message[0] >= 'A' && f.Message[0] <= 'Z' {
		return
	}
	for _, predicate := range predicates {
		if strings.HasPrefix(f.Message, predicate) {
			f.Message = "`" + f.Param + "` " + f.Message
			return
		}
	}
	f.Message = f.Param + ": " + f.Message
}

// mentions reports whether a text has a member's name, as a word of its own.
func mentions(text, name string) bool {
	for {
		before, after, found := strings.Cut(text, name)
		if !found {
			return false
		}
		if !startsWord(after) && (before == "" || !startsWord(before[len(before)-1:])) {
			return true
		}
		text = after
	}
}
