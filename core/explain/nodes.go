package explain

import (
	"bytes"

	"github.com/genway/genway/codec/member"
	"github.com/go-json-experiment/json/jsontext"
)

// node is a value of a body. A leaf is one without others in it, or so deep that it is taken as a whole.
type node struct {
	path, name string
	value      []byte // with the white space in it
	at         int    // where the value begins in the body
	in         int    // the index of the object or the list that it is in
	end        int    // the index of the first node that is not in it
	leaf       bool

	// area and framing are what its protocol says of it, arrives where it arrives or why nothing is lost by it, and claimed
	// whether it is where another arrives.
	area    string
	framing bool
	arrives []string
	why     string
	claimed bool
}

// leavesOf returns the leaves by their paths.
func leavesOf(nodes []node) map[string]*node {
	leaves := make(map[string]*node, len(nodes))
	for i := range nodes {
		if nodes[i].leaf {
			leaves[nodes[i].path] = &nodes[i]
		}
	}
	return leaves
}

const (
	// maxDepth is the depth at which a value is taken as a whole.
	maxDepth = 32
	// maxNodes bounds those of one body.
	maxNodes = 20_000
)

// nodesOf lists the values of a body, each before those in it; truncated says that there are more. What is no JSON
// has those that it has up to there.
func nodesOf(body []byte) (nodes []node, truncated bool) {
	d := jsontext.NewDecoder(bytes.NewReader(body), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	var walk func(path, name string, in, depth int) bool
	inside := func(path string, in, depth int) bool {
		open, err := d.ReadToken()
		for i := 0; err == nil && d.PeekKind() != '}' && d.PeekKind() != ']'; i++ {
			below, name := member.Index(path, i), ""
			if open.Kind() == '{' {
				var read jsontext.Token
				if read, err = d.ReadToken(); err != nil {
					return false
				}
				name = read.String()
				below = member.Join(path, name)
			}
			if !walk(below, name, in, depth+1) {
				return false
			}
		}
		if err == nil {
			_, err = d.ReadToken()
		}
		return err == nil
	}
	walk = func(path, name string, in, depth int) bool {
		if len(nodes) == maxNodes {
			truncated = true
			return false
		}
		i, kind := len(nodes), d.PeekKind()
		nodes = append(nodes, node{path: path, name: name, in: in})
		whole := true
		if kind != '{' && kind != '[' || depth == maxDepth {
			value, err := d.ReadValue()
			if err != nil {
				nodes = nodes[:i]
				return false
			}
			nodes[i].at = int(d.InputOffset()) - len(value)
		} else {
			nodes[i].at = int(d.InputOffset()) + bytes.IndexByte(body[d.InputOffset():], byte(kind))
			whole = inside(path, i, depth)
		}
		nodes[i].value, nodes[i].end = body[nodes[i].at:d.InputOffset()], len(nodes)
		nodes[i].leaf = nodes[i].end == i+1 && path != ""
		return whole
	}
	walk("", "", 0, 0)
	return nodes, truncated
}

// without returns a body without the leaves that drop names, and without what is empty then.
func without(body []byte, drop func(n *node) bool) []byte {
	nodes, truncated := nodesOf(body)
	if truncated || len(nodes) == 0 {
		return body
	}
	var keep func(out []byte, i int) []byte
	keep = func(out []byte, i int) []byte {
		n := &nodes[i]
		if n.leaf {
			if drop(n) {
				return nil
			}
			return append(out, n.value...)
		}
		before := len(out) + 1
		out = append(out, n.value[0])
		for k := i + 1; k < n.end; k = nodes[k].end {
			next := out
			if len(out) > before {
				next = append(next, ',')
			}
			if n.value[0] == '{' {
				next = append(member.AppendQuote(next, nodes[k].name), ':')
			}
			if next = keep(next, k); next != nil {
				out = next
			}
		}
		if len(out) == before && i > 0 {
			return nil
		}
		return append(out, n.value[len(n.value)-1])
	}
	return keep(nil, 0)
}
