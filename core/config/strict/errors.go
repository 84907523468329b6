package strict

import (
	"errors"
	"fmt"
	"io/fs"
	"reflect"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"
)

// Errors are all that is wrong with a file, in the order of their lines. As one error they
// are one line: the first, and how many more there are.
type Errors []*Error

func (e Errors) Error() string {
	if len(e) == 1 {
		return e[0].Error()
	}
	return fmt.Sprintf("%s (and %d more; genway config check lists all)", e[0], len(e)-1)
}

// Unwrap returns each of them.
func (e Errors) Unwrap() []error {
	all := make([]error, len(e))
	for i, one := range e {
		all[i] = one
	}
	return all
}

// Problems collects what is wrong with a document.
type Problems struct {
	file string
	body ast.Node
	// unknown are the values that are not known here: what is wrong with them is not reported.
	unknown map[token.Position]bool
	// left is what could not be decoded and was left out: that it is missing is not reported.
	left []leftOut
	// Absent says that files which are not there are no mistake.
	Absent bool
	// Advise says what to write in place of an unknown key of a mapping, whose schema is within; empty for no advice.
	// nil advises nothing.
	Advise func(within reflect.Type, key string) string
	all    Errors
}

// NewProblems collects for a file, whose body may be nil.
func NewProblems(file string, body ast.Node) *Problems {
	return &Problems{file: file, body: body, unknown: map[token.Position]bool{}}
}

// Unknown says that the value of a node is not known.
func (p *Problems) Unknown(node ast.Node) { p.unknown[place(node.GetToken())] = true }

// leftOut is a member that was left out. One with an unknown key may be any of those that
// are missing in the same mapping.
type leftOut struct {
	path    string
	unknown bool
}

// explains reports whether a problem is that the member is not there.
func (l leftOut) explains(p *problem) bool {
	at := max(strings.LastIndexByte(l.path, '.'), 0)
	parent, name := l.path[:at], strings.TrimPrefix(l.path[at:], ".")
	name, _, _ = strings.Cut(name, "[") // an element that is left out may leave none
	missing := strings.Contains(p.text, " is missing") || strings.Contains(p.text, " are missing")
	if l.unknown {
		return p.path == parent && (missing || strings.HasPrefix(p.text, "expected ")) // an empty mapping, perhaps
	}
	return p.path == parent && missing && strings.HasPrefix(p.text, name+" ")
}

// place is a token's place, as a key of maps.
func place(t *token.Token) token.Position {
	return token.Position{Line: t.Position.Line, Column: t.Position.Column}
}

// Add adds an error: an *Error or one of Wrong, single or joined.
func (p *Problems) Add(err error) {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		for _, one := range joined.Unwrap() {
			p.Add(one)
		}
		return
	}
	if wrong, ok := errors.AsType[*problem](err); ok {
		if p.Absent && errors.Is(err, fs.ErrNotExist) {
			return
		}
		for _, left := range p.left {
			if left.explains(wrong) {
				return
			}
		}
		err = Locate(p.file, p.body, err)
	}
	e, ok := errors.AsType[*Error](err)
	switch {
	case err == nil:
		return
	case !ok:
		e = &Error{File: p.file, Text: err.Error()}
	case p.unknown[token.Position{Line: e.Line, Column: e.Column}]:
		return
	}
	if !slices.ContainsFunc(p.all, func(o *Error) bool { return *o == *e }) {
		p.all = append(p.all, e)
	}
}

// Err returns what was added as Errors, or nil.
func (p *Problems) Err() error {
	if len(p.all) == 0 {
		return nil
	}
	slices.SortStableFunc(p.all, func(a, b *Error) int {
		if a.Line != b.Line {
			return a.Line - b.Line
		}
		return a.Column - b.Column
	})
	return p.all
}

// For each mistake the whole document is decoded again. So the search for more of them ends after maxMistakes, or
// after maxDecoded values were decoded, but not before minMistakes.
const (
	minMistakes, maxMistakes = 5, 100
	maxDecoded               = 500_000
)

// sought is how many mistakes are looked for.
func (p *Problems) sought() int {
	values := counter(0)
	ast.Walk(&values, p.body)
	return max(minMistakes, min(maxMistakes, maxDecoded/max(1, int(values))))
}

// counter counts nodes.
type counter int

func (c *counter) Visit(ast.Node) ast.Visitor {
	*c++
	return c
}

// Decode is the package's Decode that adds all that cannot be decoded, and leaves it out.
// It reports whether into can be used. In a large document it does not look for all mistakes: the last one says so.
func (p *Problems) Decode(fresh func() any) bool {
	for range p.sought() {
		into := fresh()
		err := decode(p.body, into)
		if err == nil {
			return true
		}
		doc := &document{body: p.body, schema: reflect.TypeOf(into)}
		p.Add(positioned(p.file, err, doc, p.Advise))
		syntax, ok := errors.AsType[yaml.Error](err)
		if !ok || syntax.GetToken() == nil || !p.leaveOut(doc.find(syntax.GetToken()), unknownKey().MatchString(err.Error())) {
			return false
		}
	}
	last := *p.all[len(p.all)-1]
	last.Text = fmt.Sprintf("there may be more mistakes: the search ended after %d", len(p.all))
	p.Add(&last)
	return false
}

// leaveOut takes a value out of the document, with its key.
func (p *Problems) leaveOut(m *member, unknown bool) bool {
	if m == nil || m.remove == nil {
		return false
	}
	p.left = append(p.left, leftOut{"$." + m.path, unknown})
	m.remove()
	return true
}
