package main

import (
	_ "embed" // the mutants
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/goccy/go-yaml"
)

//go:embed mutants.yaml
var embedded []byte

// mutant is one way to break the gateway.
type mutant struct {
	// Name is unique: letters, digits and hyphens.
	Name string `yaml:"name"`
	// Breaks says in one sentence what goes wrong.
	Breaks string `yaml:"breaks"`
	// File is what is broken, from the root of the repository.
	File string `yaml:"file"`
	// Package is the one whose tests must notice, where it is not File's folder.
	Package string `yaml:"package"`
	// Search is what occurs exactly once in File, whole lines or a part of one.
	Search string `yaml:"search"`
	// Replace takes its place.
	Replace string `yaml:"replace"`
}

// folder is the folder of the package whose tests must notice.
func (m *mutant) folder() string {
	if m.Package != "" {
		return m.Package
	}
	return filepath.Dir(m.File)
}

// parse reads mutants. Two of a name, and one that lacks something, are errors.
func parse(text []byte) ([]mutant, error) {
	var list []mutant
	if err := yaml.UnmarshalWithOptions(text, &list, yaml.Strict()); err != nil {
		return nil, fmt.Errorf("mutants.yaml: %w", err)
	}
	seen := map[string]bool{}
	for _, m := range list {
		switch {
		case m.Name == "" || strings.Trim(m.Name, "abcdefghijklmnopqrstuvwxyz0123456789-") != "":
			return nil, fmt.Errorf("mutants.yaml: %q is no name; write letters, digits and hyphens", m.Name)
		case seen[m.Name]:
			return nil, fmt.Errorf("mutants.yaml: %s is there twice", m.Name)
		case m.Breaks == "" || m.File == "" || m.Search == "" || m.Search == m.Replace:
			return nil, fmt.Errorf("mutants.yaml: %s lacks breaks, file or search, or changes nothing", m.Name)
		}
		seen[m.Name] = true
	}
	return list, nil
}

// errStale is a mutant whose search text is not, or not once, in its file.
var errStale = errors.New("its search text must occur exactly once; adapt it to the code as it is now")

// broken returns the file of a mutant as the mutant has it.
func (m *mutant) broken(root string) ([]byte, error) {
	text, err := os.ReadFile(filepath.Join(root, m.File)) //nolint:gosec // files of our own
	if err != nil {
		return nil, fmt.Errorf("%s: %w", m.Name, err)
	}
	if n := strings.Count(string(text), m.Search); n != 1 {
		return nil, fmt.Errorf("%s: %s has it %d times: %w", m.Name, m.File, n, errStale)
	}
	return []byte(strings.Replace(string(text), m.Search, m.Replace, 1)), nil
}
