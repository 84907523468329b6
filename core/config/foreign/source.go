package foreign

import (
	"cmp"
	"fmt"
	"strconv"

	"github.com/genway/genway/core/config"
	"github.com/goccy/go-yaml/ast"
)

// node is a value of the source, with its place. JSON is YAML too.
type node struct {
	path         string
	line, column int
	keys         []string // of a mapping, in its order
	members      map[string]*node
	items        []*node
	text         string // of a scalar
	null         bool
	shape        shape
}

type shape uint8

const (
	scalar shape = iota
	mapping
	sequence
)

// get returns a member by its path; nil where there is none, or a null.
func (n *node) get(path ...string) *node {
	for _, key := range path {
		if n == nil {
			return nil
		}
		n = n.members[key]
	}
	if n == nil || n.null {
		return nil
	}
	return n
}

// value is the text of a scalar; empty for none.
func (n *node) value() string {
	if n == nil || n.shape != scalar {
		return ""
	}
	return n.text
}

// figure is the number of a scalar, also of one in quotes.
func (n *node) figure() (float64, bool) {
	f, err := strconv.ParseFloat(n.value(), 64)
	return f, err == nil && f-f == 0
}

// leaf reports whether there is nothing below a node.
func (n *node) leaf() bool { return len(n.members) == 0 && len(n.items) == 0 }

// walk visits a node and what is below it, in the order of the source, where visit says so.
func (n *node) walk(visit func(*node) (within bool)) {
	if !visit(n) {
		return
	}
	for _, key := range n.keys {
		n.members[key].walk(visit)
	}
	for _, item := range n.items {
		item.walk(visit)
	}
}

// reader makes nodes of a tree of YAML.
type reader struct {
	file    string
	anchors map[string]ast.Node
	// aliases are what those that were read stand for, which a later anchor of the name does not change (YAML 1.2.2, 7.1).
	aliases map[*ast.AliasNode]ast.Node
	// within is the number of aliases whose value is being read. Its anchors were before them.
	within int
}

func read(file string, body ast.Node) (*node, error) {
	return (&reader{file: file, anchors: map[string]ast.Node{}, aliases: map[*ast.AliasNode]ast.Node{}}).node("", body)
}

func (r *reader) node(path string, from ast.Node) (*node, error) {
	n := &node{path: path}
	if at := from.GetToken(); at != nil && at.Position != nil {
		n.line, n.column = at.Position.Line, at.Position.Column
	}
	switch v := from.(type) {
	case *ast.AnchorNode:
		n, err := r.node(path, v.Value)
		if r.within == 0 {
			r.anchors[v.Name.GetToken().Value] = v.Value // no sooner: no value is within itself
		}
		return n, err
	case *ast.AliasNode:
		of := cmp.Or(r.aliases[v], r.anchors[v.Value.GetToken().Value])
		if of == nil {
			return nil, r.wrong(n, "there is no anchor of that name")
		}
		r.aliases[v] = of
		r.within++
		defer func() { r.within-- }()
		return r.node(path, of)
	case *ast.TagNode:
		return r.node(path, v.Value)
	case *ast.MappingNode:
		n.shape = mapping
		return n, r.mapping(n, v)
	case *ast.SequenceNode:
		n.shape = sequence
		for i, item := range v.Values {
			child, err := r.node(fmt.Sprintf("%s[%d]", path, i), item)
			if err != nil {
				return nil, err
			}
			n.items = append(n.items, child)
		}
	case *ast.NullNode:
		n.null = true
	case *ast.StringNode:
		n.text = v.Value
	case *ast.LiteralNode:
		n.text = v.Value.Value
	default:
		n.text = from.GetToken().Value
	}
	return n, nil
}

// mapping reads the members of a mapping. Those of a merge are members unless there are others of the name.
func (r *reader) mapping(n *node, from *ast.MappingNode) error {
	n.members = map[string]*node{}
	var merged []*node
	for _, v := range from.Values {
		key := v.Key.GetToken().Value
		path := key
		if n.path != "" {
			path = n.path + "." + key
		}
		if _, merge := v.Key.(*ast.MergeKeyNode); merge {
			path = n.path
		}
		child, err := r.node(path, v.Value)
		if err != nil {
			return err
		}
		if _, merge := v.Key.(*ast.MergeKeyNode); merge {
			merged = append(merged, child)
			continue
		}
		if at := v.Key.GetToken(); at != nil && at.Position != nil {
			child.line, child.column = at.Position.Line, at.Position.Column
		}
		if n.members[key] == nil {
			n.keys = append(n.keys, key)
		}
		n.members[key] = child
	}
	for _, of := range merged {
		for _, key := range of.keys {
			if n.members[key] == nil {
				n.keys, n.members[key] = append(n.keys, key), of.members[key]
			}
		}
	}
	return nil
}

func (r *reader) wrong(n *node, text string) error {
	return &config.Error{File: r.file, Line: n.line, Column: n.column, Text: text}
}
