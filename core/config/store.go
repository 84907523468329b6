package config

import (
	"fmt"
	"os"
	"strings"
	"unicode"

	"github.com/genway/genway/core/config/strict"
	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
)

// LoadStore reads only the file's store, for commands that need nothing else of it:
// the rest is not checked, and its environment variables need not be set. Empty where
// the file has none.
func LoadStore(file string, getenv func(string) (string, bool)) (string, error) {
	text, err := os.ReadFile(file) //nolint:gosec // the operator names the file
	if err != nil {
		return "", fmt.Errorf("config: %w", err)
	}
	body, err := strict.Parse(file, text)
	if err != nil || body == nil {
		return "", err
	}
	at, err := yaml.PathString("$.store")
	if err != nil {
		return "", err
	}
	node, err := at.FilterNode(body)
	if err != nil || node == nil {
		return "", nil //nolint:nilerr // what is no mapping, or has no such key, has no store
	}
	problems := strict.NewProblems(file, body)
	ast.Walk(&expander{file: file, getenv: getenv, problems: problems}, node)
	if err := problems.Err(); err != nil {
		return "", err
	}
	var location string
	if err := strict.Decode(file, node, &location); err != nil {
		return "", err
	}
	if err := checkStore(location); err != nil {
		return "", strict.Locate(file, body, err)
	}
	return location, nil
}

// checkStore does not repeat the value, which may have a password.
func checkStore(location string) error {
	if err := checkPath("store", location); err != nil {
		return err
	}
	kind, _, isURL := strings.Cut(location, "://")
	if location != "" && strings.TrimSpace(location) == "" || isURL && kind != "postgres" && kind != "postgresql" {
		return wrong("$.store", "expected postgres://USER:PASSWORD@HOST:PORT/DATABASE, or the path of a file")
	}
	return nil
}

// checkPath refuses what names no file, by its key.
func checkPath(key, path string) error {
	if strings.ContainsFunc(path, unicode.IsControl) {
		return wrong("$."+key, "control characters are no part of a file's name")
	}
	return nil
}
