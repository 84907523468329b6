package config

import (
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/genway/genway/core/config/strict"
	"github.com/goccy/go-yaml/ast"
)

// Error is what is wrong with a file, and where.
type Error = strict.Error

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
	body, err := strict.Parse(file, text)
	if err != nil {
		return nil, err
	}
	config := &Config{}
	if body == nil {
		return nil, &Error{File: file, Text: noRoutes}
	}
	expansion := &expander{file: file, getenv: getenv}
	ast.Walk(expansion, body)
	if expansion.err != nil {
		return nil, expansion.err
	}
	if err := strict.Decode(file, body, config); err != nil {
		return nil, err
	}
	if err := config.Validate(); err != nil {
		return nil, strict.Locate(file, body, err)
	}
	if err := readSecrets(config); err != nil {
		return nil, strict.Locate(file, body, err)
	}
	if len(config.Routes) == 0 {
		return nil, &Error{File: file, Text: noRoutes}
	}
	return config, nil
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
	for _, name := range slices.Sorted(maps.Keys(config.Upstreams)) {
		u := config.Upstreams[name]
		if u.APIKeyFile == "" {
			continue
		}
		at := "$.upstreams." + quoted(name) + ".api_key_file"
		secret, err := os.ReadFile(u.APIKeyFile)
		if err != nil {
			return wrong(at, "%v", err)
		}
		if u.APIKey = strings.TrimSpace(string(secret)); u.APIKey == "" {
			return wrong(at, "%s is empty", u.APIKeyFile)
		}
		config.Upstreams[name] = u
	}
	return nil
}
