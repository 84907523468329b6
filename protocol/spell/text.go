package spell

import (
	"regexp"
	"strings"
	"sync"

	"github.com/genway/genway/codec/fault"
)

// A path of the contract within a text: names with an index, a dot or an underscore. A
// single word may be a word of the text.
var pathInText = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\b[a-z][a-z_]*(?:\[\d+\])?(?:\.[A-Za-z_]\w*(?:\[\d+\])?)*`)
})

// InBody begins a path that is in the caller's words already: it leads from the top of the caller's
// body. No path of the contract begins so.
const InBody = "$."

// Fault names the members of a failure for the caller, in its text and in its param. The
// failure is one that the core has reported: that of a body that the core could not decode
// has the caller's names already, and the words of an upstream are left unchanged.
func (s *Speller) Fault(f *fault.Error) {
	if path, ok := strings.CutPrefix(f.Param, InBody); ok {
		f.Message = strings.Replace(f.Message, f.Param, path, 1)
		f.Param = path
		return
	}
	if s.names == nil || f.NativeType != "" || f.NativeCode != "" || f.UpstreamRequestID != "" {
		return
	}
	if _, err := s.plain(); err != nil {
		return
	}
	path := f.Param
	if path != "" {
		f.Param = s.Member(path)
	}
	if rest, ok := strings.CutPrefix(f.Message, path); ok && path != "" && !startsWord(rest) {
		f.Message = f.Param + s.text(rest)
		return
	}
	f.Message = s.text(f.Message)
}

// text returns a text with the paths in it as the caller knows them.
func (s *Speller) text(text string) string {
	return pathInText().ReplaceAllStringFunc(text, func(path string) string {
		if !strings.ContainsAny(path, "_[.") {
			return path
		}
		return s.Member(path)
	})
}

// startsWord reports whether a text goes on with the word before it.
func startsWord(text string) bool {
	return text != "" && (text[0] == '_' || text[0] == '[' || text[0] >= '0' && text[0] <= '9' || text[0]|0x20 >= 'a' && text[0]|0x20 <= 'z')
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

// predicates begin texts whose subject is the member at fault.
var predicates = []string{"must ", "is ", "are ", "has ", "have ", "cannot "}

// Subject makes sure that a failure's text says what it is about: not every protocol has
// a place for the member but the text. Sentences with a capital are a vendor's own.
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
