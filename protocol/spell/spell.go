package spell

import (
	"strings"
	"sync"

	"github.com/genway/genway/codec/member"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

// maxTraced bounds the bodies in which positions are traced, in bytes. In one that is
// larger they are given as the list they are in.
const maxTraced = 16 << 20

// Speller names members for the caller of one request.
type Speller struct {
	names *Names
	root  func() *node
	// decoded returns the request that a body is decoded to.
	decode func(body []byte) (*genwayv1.GenerateTextRequest, error)
	body   []byte
	plain  func() (*genwayv1.GenerateTextRequest, error)
	traced func() places
}

// New is the Speller of a request in a protocol by its names; nil keeps the contract's
// names. The body may be of any bytes; it is
// only read, and decode only called, when that is needed. decode is nil for a protocol
// without a conversation.
func New(names *Names, body []byte, decode func(body []byte) (*genwayv1.GenerateTextRequest, error)) *Speller {
	s := &Speller{names: names, decode: decode, body: body}
	s.root = sync.OnceValue(func() *node {
		if n := parse(body); len(body) <= maxTraced && n != nil {
			return n
		}
		return &node{}
	})
	s.plain = sync.OnceValues(func() (*genwayv1.GenerateTextRequest, error) {
		if decode == nil {
			return nil, nil
		}
		return decode(body)
	})
	s.traced = sync.OnceValue(s.trace)
	return s
}

// Member returns the caller's name of a member of the contract's request or answer. What
// the contract does not know, or the caller's protocol has no name for, stays as it is.
func (s *Speller) Member(path string) string {
	if s.names == nil {
		return path
	}
	whole := path
	path = strings.TrimPrefix(path, "request.") // of a CountTokensRequest
	head, rest := next(path)
	switch {
	case head == "messages" && strings.HasPrefix(rest, "["), head == "tools" && strings.HasPrefix(rest, "["):
		return s.position(path)
	case head == "candidates", head == "usage", head == "images" && strings.HasPrefix(rest, "["):
		return s.answer(path)
	}
	name, below, ok := longest(s.names.settings, path)
	if !ok || name == none {
		if !ok && (head == "system_fingerprint" || head == "prompt_feedback") {
			return s.names.camelCase(path)
		}
		return whole
	}
	return s.sent(name, below)
}

// sent returns the first of several names that the caller has sent, with what is below it
// if that was sent as well; else the first.
func (s *Speller) sent(name, below string) string {
	first, _, _ := strings.Cut(name, "|")
	for _, base := range []string{"", "generateContentRequest"} {
		for alternative := range strings.SplitSeq(name, "|") {
			path := member.Join(base, alternative)
			known, _, whole := s.root().follow(path, s.names.spelled)
			if !whole {
				continue
			}
			if longer, _, whole := s.root().follow(known+below, s.names.spelled); whole && below != "" {
				return longer
			}
			return known
		}
	}
	return first
}

// position returns the caller's name of what is in a message or a tool.
func (s *Speller) position(path string) string {
	list, table := s.names.list, s.names.message
	if strings.HasPrefix(path, "tools") {
		list, table = s.names.tools, s.names.tool
	}
	if list == "" {
		return path
	}
	for prefix := path; prefix != ""; prefix = up(prefix) {
		at, ok := s.traced()[prefix]
		if !ok {
			continue
		}
		if at.around {
			return at.path
		}
		if strings.HasSuffix(up(prefix), ".parts") {
			table = s.names.part
		}
		return s.below(at.path, table, strings.TrimPrefix(path[len(prefix):], "."))
	}
	return s.sent(list, "")
}

// below returns a member of an object of the caller's: as much of its path as is there.
func (s *Speller) below(object string, table map[string]string, path string) string {
	name, rest, ok := longest(table, path)
	if !ok {
		name, rest = path, "" // a native field
	}
	deepest := object
	for alternative := range strings.SplitSeq(name, "|") {
		if alternative == none {
			continue
		}
		known, _, whole := s.root().follow(member.Join(object, alternative), s.names.spelled)
		if !whole && len(known) <= len(deepest) {
			continue
		}
		deepest = known
		if !whole {
			continue
		}
		if longer, _, whole := s.root().follow(known+rest, s.names.spelled); whole {
			return longer
		}
		break
	}
	return deepest
}

// answer returns the caller's name of what an answer has and the caller's protocol has no
// place for: where it would be, in the protocol's words, and the contract's name of it.
func (s *Speller) answer(path string) string {
	head, rest := next(path)
	table := s.names.answer
	if !strings.HasPrefix(rest, "[") {
		return joined(table[head], s.names.camelCase(rest))
	}
	index, rest := next(rest)
	at := strings.Replace(table[head+"[]"], "[]", index, 1)
	if list, below := next(rest); list == "parts" {
		_, below = next(below)
		return joined(joined(at, table["parts"]), s.names.camelCase(below))
	}
	if rest == "" && at == "" {
		at = table[head]
	}
	return joined(at, s.names.camelCase(rest))
}

func joined(base, path string) string { return member.Join(base, path) }

func (s *Speller) trace() places {
	root := s.root()
	if root.kind != '{' || s.decode == nil {
		return nil
	}
	plain, err := s.plain()
	if err != nil {
		return nil
	}
	m := marker{out: make([]byte, 0, len(s.body)+len(s.body)/4), spelled: s.names.spelled}
	m.write(root, patternOf(s.names.marked), "")
	marked, err := s.decode(m.out)
	if err != nil {
		return nil
	}
	return s.names.trace(plain, marked, root)
}
