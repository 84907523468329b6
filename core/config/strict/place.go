package strict

import (
	"errors"
	"fmt"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
)

// problem is what is wrong at a place: a YAML path ($.routes[0].model).
type problem struct {
	path, text string
	cause      error // nil for none
}

func (p *problem) Unwrap() error { return p.cause }

func (p *problem) Error() string { return strings.TrimPrefix(p.path, "$.") + ": " + p.text }

// Wrong is an error at a place, a YAML path: $.routes[0].model.
func Wrong(path, format string, args ...any) error {
	return &problem{path: path, text: fmt.Sprintf(format, args...)}
}

// Because is Wrong with a cause, for errors.Is.
func Because(cause error, path, format string, args ...any) error {
	return &problem{path: path, text: fmt.Sprintf(format, args...), cause: cause}
}

// Quoted returns a name as a step of a YAML path.
func Quoted(name string) string {
	if strings.ContainsAny(name, ".[]*$ ") {
		return "'" + name + "'"
	}
	return name
}

// Locate returns an error of Wrong its line and column; others stay as they are.
func Locate(file string, body ast.Node, err error) error {
	var p *problem
	if !errors.As(err, &p) {
		return err
	}
	e := &Error{File: file, Text: p.Error()}
	if where, err := yaml.PathString(p.path); err == nil {
		if node, err := where.FilterNode(body); err == nil && node != nil {
			at := node.GetToken().Position
			e.Line, e.Column = at.Line, at.Column
		}
	}
	return e
}
