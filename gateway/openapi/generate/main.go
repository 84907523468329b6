// Command generate writes the OpenAPI document of the edge: paths from the table of protocols,
// schemas from the structs in which the codecs have their members, and what neither says from
// document.yaml.
//
//	generate [-check] DIRECTORY
//
// DIRECTORY is package openapi's. With -check nothing is written: the exit code is 1 if
// openapi.json or openapi.json.gz is not what generate would write.
package main

import (
	"bytes"
	"compress/gzip"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/goccy/go-yaml"
)

// object is an object of the document. Its members are written in the order of their names.
type object = map[string]any

func main() {
	check := flag.Bool("check", false, "fail if openapi.json is stale, and write nothing")
	flag.Parse()
	if flag.NArg() != 1 {
		flag.Usage()
		os.Exit(2)
	}
	if err := run(flag.Arg(0), *check); err != nil {
		fmt.Fprintln(os.Stderr, "openapi:", err)
		os.Exit(1)
	}
}

func run(dir string, check bool) error {
	document, err := generate(dir)
	if err != nil {
		return err
	}
	file, packed := filepath.Join(dir, "openapi.json"), filepath.Join(dir, "openapi.json.gz")
	if !check {
		text, err := pack(document)
		if err != nil {
			return err
		}
		return errors.Join(os.WriteFile(file, document, 0o644), os.WriteFile(packed, text, 0o644)) //nolint:gosec // they are source code
	}
	if present, err := os.ReadFile(file); err != nil || !bytes.Equal(present, document) { //nolint:gosec // likewise
		return fmt.Errorf("%s is stale: run make gen and commit it", file)
	}
	// Another release of Go may pack it otherwise.
	if present, err := unpack(packed); err != nil || !bytes.Equal(present, document) {
		return fmt.Errorf("%s is stale: run make gen and commit it", packed)
	}
	return nil
}

// pack compresses a document, as the products have it.
func pack(document []byte) ([]byte, error) {
	var packed bytes.Buffer
	w, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	_, err = w.Write(document)
	err = errors.Join(err, w.Close())
	return packed.Bytes(), err
}

// unpack returns what a file has that was written by pack.
func unpack(file string) ([]byte, error) {
	packed, err := os.ReadFile(file) //nolint:gosec // it is source code
	if err != nil {
		return nil, err
	}
	text, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(text)
}

// generate returns the document.
func generate(dir string) ([]byte, error) {
	text, err := os.ReadFile(filepath.Join(dir, "document.yaml")) //nolint:gosec // it is source code
	if err != nil {
		return nil, err
	}
	var sections struct {
		Document   object            `yaml:"document"`
		Schemas    map[string]object `yaml:"schemas"`
		Operations map[string]object `yaml:"operations"`
		Titles     map[string]string `yaml:"titles"`
	}
	if err := yaml.UnmarshalWithOptions(text, &sections, yaml.Strict()); err != nil {
		return nil, fmt.Errorf("document.yaml: %w", err)
	}
	schemas := &schemas{
		codecs: filepath.Join(dir, "..", "..", "codec"), types: map[string]map[string]declared{},
		descriptions: sections.Schemas, titles: sections.Titles, used: map[string]bool{}, made: object{},
	}
	paths, err := pathsOf(sections.Operations, schemas)
	if err != nil {
		return nil, err
	}
	for name := range sections.Schemas {
		if !schemas.used[name] {
			return nil, fmt.Errorf("document.yaml: schema %s is of no path", name)
		}
	}
	document := sections.Document
	document["paths"] = paths
	components, _ := document["components"].(object)
	if own, ok := components["schemas"].(object); ok {
		maps.Copy(schemas.made, own)
	}
	components["schemas"] = schemas.made
	return json.Marshal(document, json.Deterministic(true), jsontext.WithIndent(" "))
}
