package config

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/genway/genway/core/config/strict"
	"github.com/goccy/go-yaml/ast"
)

// Member is a value of a file, and where it is from.
type Member struct {
	// Path names the member, as upstreams.openai.base_url or routes[0].model.
	Path string
	// Value is as the file has it: a value that may be a secret is masked, and references to the environment
	// stay as they are. An empty list or mapping is [] or {}.
	Value string
	Line  int
	// Variables are those of the environment that the value names. Referred says that it is nothing but
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
		m.Value = fmt.Sprint(mask(value, secret))
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
