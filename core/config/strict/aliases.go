package strict

import (
	"fmt"

	"github.com/goccy/go-yaml/ast"
)

// maxRepeated bounds what the aliases of a text may add to it, in bytes. Aliases of aliases grow exponentially:
// 300 bytes stand for gigabytes (the "billion laughs").
const maxRepeated = 4 << 20

// perValue is what a value counts beside its text.
const perValue = 16

// checkAliases demands that aliases do not repeat too much.
func checkAliases(file string, body ast.Node) error {
	e := expansion{anchors: map[string]int{}}
	e.size(body)
	if e.repeated <= maxRepeated {
		return nil
	}
	return &Error{File: file, Line: e.at.Line, Column: e.at.Column, Text: fmt.Sprintf("aliases repeat more than %d MiB by now", maxRepeated>>20)}
}

// expansion sums up what aliases repeat.
type expansion struct {
	anchors  map[string]int
	repeated int
	at       struct{ Line, Column int } // of the alias with which it is too much
}

// size is a node's size with its aliases expanded, at most a bit above maxRepeated for each alias in it.
func (e *expansion) size(node ast.Node) int {
	all := perValue
	switch n := node.(type) {
	case nil:
		return 0
	case *ast.MappingNode:
		for _, v := range n.Values {
			all += e.size(v)
		}
	case *ast.MappingValueNode:
		all += len(n.Key.GetToken().Value) + e.size(n.Value)
	case *ast.SequenceNode:
		for _, v := range n.Values {
			all += e.size(v)
		}
	case *ast.TagNode:
		all += e.size(n.Value)
	case *ast.AnchorNode:
		all = e.size(n.Value)
		e.anchors[n.Name.GetToken().Value] = min(all, 2*maxRepeated) // by now: an anchor within itself repeats nothing
	case *ast.AliasNode:
		all += e.anchors[n.Value.GetToken().Value]
		before := e.repeated
		e.repeated = min(before+all, 2*maxRepeated)
		if before <= maxRepeated && e.repeated > maxRepeated {
			at := n.GetToken().Position
			e.at.Line, e.at.Column = at.Line, at.Column
		}
	case *ast.LiteralNode:
		all += len(n.Value.Value)
	default:
		all += len(n.GetToken().Value)
	}
	return all
}
