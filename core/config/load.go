package config

import (
	"errors"
	"fmt"
	"os"
	"reflect"
	"regexp"
	"strings"

	"github.com/agnivade/levenshtein"
	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
)

// Error is what is wrong with a file, and where.
type Error struct {
	File         string
	Line, Column int
	Text         string
}

func (e *Error) Error() string {
	if e.Line == 0 {
		return fmt.Sprintf("%s: %s", e.File, e.Text)
	}
	return fmt.Sprintf("%s:%d:%d: %s", e.File, e.Line, e.Column, e.Text)
}

// Load reads and checks a file. ${NAME} in a value is taken from the environment;
// a name that is not set is an error, $$ is a dollar sign. Unknown keys, wrong types
// and references to nothing are *Error values.
func Load(file string, getenv func(string) (string, bool)) (*Config, error) {
	text, err := os.ReadFile(file) //nolint:gosec // the operator names the file
	if err != nil {
		return nil, fmt.Errorf("config: %w", err)
	}
	return Parse(file, text, getenv)
}

// noRoutes is what a file lacks that was emptied, or is still being written.
const noRoutes = "there are no routes in it, so nothing would be served; leave the file out to be served by the sandbox"

// Parse is Load of a text; file names it in errors.
func Parse(file string, text []byte, getenv func(string) (string, bool)) (*Config, error) {
	tree, err := parser.ParseBytes(text, 0)
	if err != nil {
		return nil, positioned(file, err)
	}
	config := &Config{}
	if len(tree.Docs) == 0 || tree.Docs[0].Body == nil {
		return nil, &Error{File: file, Text: noRoutes}
	}
	if len(tree.Docs) > 1 {
		return nil, &Error{File: file, Text: "several documents in one file"}
	}
	body := tree.Docs[0].Body
	expansion := &expander{file: file, getenv: getenv}
	ast.Walk(expansion, body)
	if expansion.err != nil {
		return nil, expansion.err
	}
	if err := yaml.NodeToValue(body, config, yaml.Strict()); err != nil {
		return nil, positioned(file, err)
	}
	if err := readSecrets(config); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	if err := config.Validate(); err != nil {
		return nil, located(file, body, err)
	}
	if len(config.Routes) == 0 {
		return nil, &Error{File: file, Text: noRoutes}
	}
	return config, nil
}

// positioned gives a parser's or decoder's error with its place, and for a key that
// nobody knows the one that was meant.
func positioned(file string, err error) error {
	e := &Error{File: file, Text: err.Error()}
	if syntax, ok := errors.AsType[yaml.Error](err); ok {
		e.Text = syntax.GetMessage()
		if t := syntax.GetToken(); t != nil {
			e.Line, e.Column = t.Position.Line, t.Position.Column
		}
	}
	if m := wrongType.FindStringSubmatch(e.Text); m != nil {
		e.Text = fmt.Sprintf("expected %s, got %s", m[2], m[1])
	}
	if m := unknownKey.FindStringSubmatch(e.Text); m != nil {
		e.Text = fmt.Sprintf("unknown key %q", m[1])
		if near := nearest(m[1]); near != "" {
			e.Text += fmt.Sprintf("; did you mean %q?", near)
		}
	}
	return e
}

var (
	unknownKey = regexp.MustCompile(`unknown field "([^"]+)"`)
	wrongType  = regexp.MustCompile(`cannot unmarshal (\w+) into Go .* of type (\w+)$`)
)

// nearest gives the key of the schema that is spelled most like the given one;
// empty when none is close.
func nearest(key string) string {
	best, distance := "", len(key)/2+1
	for _, known := range keysOf(reflect.TypeFor[Config](), map[reflect.Type]bool{}) {
		if d := levenshtein.ComputeDistance(key, known); d < distance {
			best, distance = known, d
		}
	}
	return best
}

func keysOf(t reflect.Type, seen map[reflect.Type]bool) []string {
	for t.Kind() == reflect.Map || t.Kind() == reflect.Slice || t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct || seen[t] {
		return nil
	}
	seen[t] = true
	var keys []string
	for field := range t.Fields() {
		name, _, _ := strings.Cut(field.Tag.Get("yaml"), ",")
		keys = append(append(keys, name), keysOf(field.Type, seen)...)
	}
	return keys
}

// expander replaces ${NAME} in the tree's strings.
type expander struct {
	file   string
	getenv func(string) (string, bool)
	err    error
}

var variable = regexp.MustCompile(`\$\$|\$\{([A-Za-z_][A-Za-z0-9_]*)\}`)

func (x *expander) Visit(node ast.Node) ast.Visitor {
	s, ok := node.(*ast.StringNode)
	if !ok || x.err != nil {
		return x
	}
	s.Value = variable.ReplaceAllStringFunc(s.Value, func(match string) string {
		if match == "$$" {
			return "$"
		}
		name := match[2 : len(match)-1]
		value, set := x.getenv(name)
		if !set && x.err == nil {
			at := s.GetToken().Position
			x.err = &Error{File: x.file, Line: at.Line, Column: at.Column, Text: fmt.Sprintf("the environment variable %s is not set", name)}
		}
		return value
	})
	return x
}

// readSecrets reads the files that keys are kept in.
func readSecrets(config *Config) error {
	for name, u := range config.Upstreams {
		if u.APIKeyFile == "" {
			continue
		}
		if u.APIKey != "" {
			return fmt.Errorf("upstreams.%s: api_key and api_key_file exclude each other", name)
		}
		secret, err := os.ReadFile(u.APIKeyFile)
		if err != nil {
			return fmt.Errorf("upstreams.%s.api_key_file: %w", name, err)
		}
		if u.APIKey = strings.TrimSpace(string(secret)); u.APIKey == "" {
			return fmt.Errorf("upstreams.%s.api_key_file: %s is empty", name, u.APIKeyFile)
		}
		config.Upstreams[name] = u
	}
	return nil
}
