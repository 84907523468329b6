package config

import (
	"fmt"
	"unicode"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
)

// Discover is the word of Upstream.Models for an upstream that is asked.
const Discover = "discover"

// maxModelName is the most bytes of a model's name that is listed.
const maxModelName = 256

// Models are the names that an upstream is listed with: a list, or the word discover. The
// zero value lists none.
type Models struct {
	// Discover has the upstream asked for its list; Names is empty then.
	Discover bool
	Names    []string
}

// UnmarshalYAML reads a list of names, or the word discover.
func (m *Models) UnmarshalYAML(node ast.Node) error {
	*m = Models{}
	switch n := node.(type) {
	case *ast.SequenceNode:
		return yaml.NodeToValue(n, &m.Names)
	case *ast.StringNode:
		if m.Discover = n.Value == Discover; m.Discover {
			return nil
		}
	}
	return &yaml.SyntaxError{Token: node.GetToken(), Message: "expected a list of names, as in [gpt-4o], or the word discover"}
}

// check demands names that a request can have.
func (m Models) check(all *checks, at string) {
	for i, name := range m.Names {
		if name == "" || len(name) > maxModelName {
			all.wrongf(fmt.Sprintf("%s[%d]", at, i), "expected a name of 1 to %d bytes, got one of %d", maxModelName, len(name))
		}
		for _, c := range name {
			if !unicode.IsPrint(c) {
				all.wrongf(fmt.Sprintf("%s[%d]", at, i), "%q has a character that cannot be shown", name)
				break
			}
		}
	}
}
