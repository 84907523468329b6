package config

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/genway/genway/core/config/strict"
	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/token"
)

// masked replaces a value that may be a secret.
const masked = "(masked)"

// secrets are the keys whose values may be secrets, with all that is below them.
var secrets = map[string]bool{
	"api_key": true, "client_secret": true, "access_key_id": true, "secret_access_key": true, "session_token": true,
	"headers": true, "query": true, "run": true,
}

// reference is a value that the environment has.
var reference = regexp.MustCompile(`^(\$\{[A-Za-z_][A-Za-z0-9_]*\})+$`)

// Masked returns a file in which each value that may be a secret is replaced, and so is each comment that may have one.
// References to the environment stay as they are.
func Masked(file string) ([]byte, error) {
	text, err := os.ReadFile(file) //nolint:gosec // the operator names the file
	if err != nil {
		return nil, fmt.Errorf("config: %s cannot be read", file)
	}
	shown, err := MaskedText(text)
	if err != nil {
		return nil, fmt.Errorf("config: %s %w", file, err)
	}
	return shown, nil
}

// MaskedText is Masked of a file's text. A text whose values cannot be replaced where they are, as blocks and aliases of secrets, is
// written anew, without comments.
func MaskedText(text []byte) ([]byte, error) {
	body, err := strict.Value("", text)
	mapping, is := body.(yaml.MapSlice)
	if err != nil || !is && body != nil {
		return nil, errors.New("is no YAML") // the error would show the text
	}
	want := mask(mapping, false)
	if shown, ok := maskedInPlace(text, want); ok {
		return shown, nil
	}
	shown, err := yaml.Marshal(want)
	if err != nil {
		return nil, errors.New("cannot be shown")
	}
	_, found, err := secretsIn(text)
	for _, value := range valuesOf(found) {
		if repeats(string(shown), value) {
			shown = bytes.ReplaceAll(shown, []byte(value), []byte(masked))
		}
	}
	return shown, err
}

// piece is a part of a text, from one byte to before another.
type piece struct{ from, to int }

// maskedInPlace returns the text with masks for values and comments; false where the values would not be those that are wanted.
func maskedInPlace(text []byte, want any) ([]byte, bool) {
	source, found, err := secretsIn(text)
	if err != nil {
		return nil, false
	}
	text = source.text
	values, edits := valuesOf(found), map[piece]string{}
	for _, t := range found {
		p, ok := source.scalar(t)
		if !ok {
			return nil, false
		}
		edits[p] = masked
	}
	for i, p := range source.comments(values) {
		edits[p] = fmt.Sprintf("# (masked comment %d)", i+1)
	}
	var out []byte
	at := 0
	for _, p := range slices.SortedFunc(maps.Keys(edits), func(a, b piece) int { return a.from - b.from }) {
		if p.from < at {
			return nil, false
		}
		out = append(append(out, text[at:p.from]...), edits[p]...)
		at = p.to
	}
	out = append(out, text[at:]...)
	got, err := ordered(out)
	if err != nil || want == nil || !reflect.DeepEqual(got, want) || len(written.FindAllIndex(out, -1)) != len(values) {
		return nil, false
	}
	return out, !slices.ContainsFunc(values, func(value string) bool { return repeats(string(out), value) })
}

// repeats reports whether a text has a secret, too.
func repeats(text, secret string) bool {
	return len(secret) >= minRepeated && secret != masked && strings.Contains(text, secret)
}

// secretsIn returns the tokens of the values that are masked in a text, those of an alias again for each use, and the text with lines that
// end in LF alone.
func secretsIn(text []byte) (s *source, found []*token.Token, err error) {
	text = bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n")) // which the lexer may count as two lines
	node, err := strict.Parse("", text)
	if err != nil {
		return s, nil, errors.New("it is no YAML")
	}
	w := memberWalk{anchors: map[string]ast.Node{}, onMasked: func(t *token.Token) { found = append(found, t) }}
	w.walk("", node, false)
	return newSource(text), found, nil
}

func valuesOf(found []*token.Token) (values []string) {
	for _, t := range found {
		values = append(values, t.Value)
	}
	return values
}

// minRepeated is the least length of a secret that is looked for elsewhere in the text, in bytes.
const minRepeated = 6

// source is a text by its lines.
type source struct {
	text   []byte
	begins []int // of lines
	// line, column and last are of the token that was looked for last: the next is mostly further on in its line.
	line, column, last int
}

func newSource(text []byte) *source {
	s := &source{text: text, begins: []int{0}, line: -1}
	for i, c := range text {
		if c == '\n' {
			s.begins = append(s.begins, i+1)
		}
	}
	if bytes.HasPrefix(text, []byte("\ufeff")) { // columns are counted after it
		s.begins[0] = len("\ufeff")
	}
	return s
}

// at returns where a token begins.
func (s *source) at(t *token.Token) (int, bool) {
	line, column := t.Position.Line-1, t.Position.Column-1
	if line < 0 || line >= len(s.begins) || column < 0 {
		return 0, false
	}
	if line != s.line || column < s.column {
		s.line, s.column, s.last = line, 0, s.begins[line]
	}
	for ; s.column < column && s.last < len(s.text); s.column++ {
		_, size := utf8.DecodeRune(s.text[s.last:])
		s.last += size
	}
	return s.last, true
}

// scalar returns where a scalar is written, quotes included; false for a block.
func (s *source) scalar(t *token.Token) (piece, bool) {
	at, ok := s.at(t)
	is := strings.TrimSpace(t.Origin)
	return piece{at, at + len(is)}, ok && is != "" && bytes.HasPrefix(s.text[at:], []byte(is))
}

// secretComment is a comment that may have a secret: a value of a key that is named like one, a vendor's key, an address with a password.
var secretComment = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)(key|secret|token|passw(or)?d|authorization|bearer)[a-z_-]*["']?\s*[:= ]\s*["']?[^\s"'$]{6,}|\b(sk|gwk|pk|rk|gsk|xai|hf)[-_]\w{6,}|\bAIza\w|\bAKIA\w|://[^/\s]*@`)
})

// comments returns the comments that may have a secret, in their order: those that repeat one of the values, and those that look like it.
func (s *source) comments(values []string) (list []piece) {
	for _, t := range lexer.Tokenize(string(bytes.TrimPrefix(s.text, []byte("\ufeff")))) {
		if t.Type != token.CommentType {
			continue
		}
		at, ok := s.at(t)
		is := strings.TrimRight("#"+t.Value, "\r\n")
		if !ok || !bytes.HasPrefix(s.text[at:], []byte(is)) {
			continue
		}
		if secretComment().MatchString(t.Value) || slices.ContainsFunc(values, func(value string) bool { return repeats(t.Value, value) }) {
			list = append(list, piece{at, at + len(is)})
		}
	}
	return list
}

// mask masks what is below a key that may be a secret, and addresses with more than an address
// in them.
func mask(value any, secret bool) any {
	switch v := value.(type) {
	case yaml.MapSlice:
		for i := range v {
			name, _ := v[i].Key.(string)
			v[i].Value = mask(v[i].Value, secret || secrets[name])
		}
	case []any:
		for i := range v {
			v[i] = mask(v[i], secret)
		}
	case string:
		switch {
		case reference.MatchString(v):
		case secret, strings.ContainsAny(v, "@?") && strings.Contains(v, ":"):
			return masked
		}
	case nil:
	default:
		if secret {
			return masked
		}
	}
	return value
}

// errUnmask is a text whose masked values are not known.
var errUnmask = errors.New("a value is " + masked + " where the file has none at the same place; write it out, or as ${NAME}")

// written is how masked is written in YAML.
var written = regexp.MustCompile(`"\(masked\)"|'\(masked\)'|\(masked\)`)

// Unmask undoes Masked: it returns a text in which each masked value is what a file's text has at the
// same place, on the same line, and each masked comment is the file's of that number. secrets are those values, as they are written. Both texts must be
// YAML; neither is shown in an error.
func Unmask(text, file []byte) (whole []byte, secrets []string, err error) {
	shown, err := ordered(text)
	if err != nil {
		return nil, nil, err
	}
	actual, err := ordered(file)
	if err != nil {
		return nil, nil, err
	}
	filled, values, err := unmask(shown, actual)
	if err != nil {
		return nil, nil, err
	}
	if text, err = unmaskComments(text, file); err != nil {
		return nil, nil, err
	}
	// The values are in the order of the text. Where it has more, as in a comment, it is not known which
	// is which.
	if n := len(written.FindAllIndex(text, -1)); n != len(values) {
		return nil, nil, errors.New(masked + " is no value in some place, such as a comment; leave it out there")
	}
	whole = written.ReplaceAllFunc(text, func([]byte) []byte {
		value := values[0]
		values = values[1:]
		secrets = append(secrets, value)
		return []byte(value)
	})
	if got, err := ordered(whole); err != nil || !reflect.DeepEqual(got, filled) {
		return nil, nil, errors.New("the masked values do not fit where they are; write them out, or as ${NAME}")
	}
	return whole, secrets, nil
}

// maskedComment is how a masked comment is written.
var maskedComment = regexp.MustCompile(`# \(masked comment (\d+)\)`)

// unmaskComments puts the comments of a file in place of those that are masked.
func unmaskComments(text, file []byte) (whole []byte, err error) {
	if !maskedComment.Match(text) {
		return text, nil
	}
	source, found, err := secretsIn(file)
	if err != nil {
		return nil, err
	}
	comments := source.comments(valuesOf(found))
	return maskedComment.ReplaceAllFunc(text, func(found []byte) []byte {
		n, wrong := strconv.Atoi(string(maskedComment.FindSubmatch(found)[1]))
		if wrong != nil || n < 1 || n > len(comments) {
			err = fmt.Errorf("the file has no comment %q; write it out", found)
			return found
		}
		return source.text[comments[n-1].from:comments[n-1].to]
	}), err
}

// ordered reads YAML with its members in their order.
func ordered(text []byte) (any, error) {
	body, err := strict.Value("", text)
	if err != nil {
		return nil, errors.New("it is no YAML")
	}
	return body, nil
}

// unmask returns a value without masks, and what it has put in, in order and as JSON, which is YAML.
func unmask(shown, from any) (filled any, values []string, err error) {
	switch v := shown.(type) {
	case yaml.MapSlice:
		before, _ := from.(yaml.MapSlice)
		all := make(yaml.MapSlice, len(v))
		for i, item := range v {
			var there any
			for _, b := range before {
				if reflect.DeepEqual(b.Key, item.Key) {
					there = b.Value
				}
			}
			all[i].Key = item.Key
			var more []string
			if all[i].Value, more, err = unmask(item.Value, there); err != nil {
				return nil, nil, err
			}
			values = append(values, more...)
		}
		return all, values, nil
	case []any:
		before, _ := from.([]any)
		all := make([]any, len(v))
		for i, item := range v {
			var there any
			if len(before) == len(v) { // else it is not known which one it was
				there = before[i]
			}
			var more []string
			if all[i], more, err = unmask(item, there); err != nil {
				return nil, nil, err
			}
			values = append(values, more...)
		}
		return all, values, nil
	case string:
		if v != masked {
			return v, nil, nil
		}
		switch from.(type) {
		case nil, yaml.MapSlice, []any:
			return nil, nil, errUnmask
		}
		text, err := json.Marshal(from)
		if err != nil {
			return nil, nil, fmt.Errorf("config: %w", err)
		}
		return from, []string{string(text)}, nil
	}
	return shown, nil, nil
}

// Hide masks values that Unmask has put in, in a text such as an error.
func Hide(text string, secrets []string) string {
	for _, secret := range secrets {
		for _, form := range []string{secret, strings.Trim(secret, `"`)} {
			if form != "" {
				text = strings.ReplaceAll(text, form, masked)
			}
		}
	}
	return text
}

// Member is a value of a file, and where it is from.
type Member struct {
	// Path names the member, as upstreams.openai.base_url or routes[0].model.
	Path string
	// Value is as the file has it: a value that may be a secret is masked, and references to the environment
	// stay as they are. An empty list or mapping is [] or {}.
	Value string
	Line  int
	// Variables are the environment variables that the value names. Referred says that it is nothing but
	// their values.
	Variables []string
	Referred  bool
}

// Members returns the values of a file's text in their order, at most 5000. A member that is repeated by an alias
// has the line of its anchor. The error does not show the text.
func Members(text []byte) ([]Member, error) {
	body, err := strict.Parse("", text)
	if err != nil {
		return nil, errors.New("config: the text is no YAML") // the error would show it
	}
	w := memberWalk{anchors: map[string]ast.Node{}}
	w.walk("", body, false)
	return w.members, nil
}

// maxMembers bounds what aliases can make of a file.
const maxMembers = 5000

type memberWalk struct {
	anchors map[string]ast.Node
	members []Member
	// onMasked gets the token of each value that is masked; nil for none.
	onMasked func(*token.Token)
}

func (w *memberWalk) walk(path string, node ast.Node, secret bool) {
	if len(w.members) >= maxMembers {
		return
	}
	switch n := node.(type) {
	case nil:
	case *ast.MappingNode:
		if len(n.Values) == 0 {
			w.leaf(path, n, "{}", false)
		}
		for _, v := range n.Values {
			w.member(path, v, secret)
		}
	case *ast.MappingValueNode:
		w.member(path, n, secret)
	case *ast.SequenceNode:
		if len(n.Values) == 0 {
			w.leaf(path, n, "[]", false)
		}
		for i, v := range n.Values {
			w.walk(path+"["+strconv.Itoa(i)+"]", v, secret)
		}
	case *ast.AnchorNode:
		w.walk(path, n.Value, secret)
		w.anchors[n.Name.GetToken().Value] = n.Value // by now: an anchor within itself repeats nothing
	case *ast.AliasNode:
		w.walk(path, w.anchors[n.Value.GetToken().Value], secret)
	case *ast.TagNode:
		w.walk(path, n.Value, secret)
	case *ast.StringNode:
		w.leaf(path, n, n.Value, secret)
	case *ast.LiteralNode:
		w.leaf(path, n, n.Value.Value, secret)
	case *ast.NullNode:
		w.leaf(path, n, "", false)
	default:
		w.leaf(path, n, n.GetToken().Value, secret)
	}
}

// member walks on with a member of a mapping. One that is merged in has its own names.
func (w *memberWalk) member(path string, v *ast.MappingValueNode, secret bool) {
	if v.Key.IsMergeKey() {
		w.walk(path, v.Value, secret)
		return
	}
	name := v.Key.GetToken().Value
	if s, ok := v.Key.(*ast.StringNode); ok {
		name = s.Value
	}
	w.walk(join(path, name), v.Value, secret || secrets[name])
}

func (w *memberWalk) leaf(path string, node ast.Node, value string, secret bool) {
	m := Member{Path: path, Line: node.GetToken().Position.Line, Referred: reference.MatchString(value)}
	for _, found := range variable.FindAllStringSubmatch(value, -1) {
		if name := found[1]; name != "" && !slices.Contains(m.Variables, name) {
			m.Variables = append(m.Variables, name)
		}
	}
	if value != "" {
		if m.Value = fmt.Sprint(mask(value, secret)); m.Value == masked && w.onMasked != nil {
			w.onMasked(node.GetToken())
		}
	}
	w.members = append(w.members, m)
}

// join names a member of a mapping.
func join(path, name string) string {
	if name == "" || strings.ContainsAny(name, ".[] \t") {
		name = strconv.Quote(name)
	}
	if path == "" {
		return name
	}
	return path + "." + name
}

// MaskedValue is a value from elsewhere, masked where it may be a secret, as an address with a password.
func MaskedValue(value string) string { return fmt.Sprint(mask(value, false)) }
