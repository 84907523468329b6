// Package chart renders the chart as Helm does, and holds what it makes.
package chart

import (
	"flag"
	"io"
	"log"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	"helm.sh/helm/v3/pkg/lint"
	"helm.sh/helm/v3/pkg/lint/support"
)

var update = flag.Bool("update", false, "rewrite testdata/*.golden")

const directory = "../genway"

func TestMain(m *testing.M) {
	log.SetOutput(io.Discard) // Helm's, of links to files
	os.Exit(m.Run())
}

func load(t *testing.T) *chart.Chart {
	t.Helper()
	c, err := loader.Load(directory)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// sets are the sets of values in testdata, by their names.
func sets(t *testing.T) map[string]string {
	t.Helper()
	files, err := filepath.Glob("testdata/*.yaml")
	if err != nil || len(files) < 10 {
		t.Fatalf("%d sets of values: %v", len(files), err)
	}
	named := map[string]string{}
	for _, file := range files {
		named[strings.TrimSuffix(filepath.Base(file), ".yaml")] = file
	}
	return named
}

// render returns the documents of a set of values, those of each template in its order.
func render(t *testing.T, values map[string]any) ([]string, error) {
	t.Helper()
	c := load(t)
	release := chartutil.ReleaseOptions{Name: "genway", Namespace: "models", IsInstall: true, Revision: 1}
	rendering, err := chartutil.ToRenderValues(c, values, release, nil)
	if err != nil {
		return nil, err
	}
	files, err := engine.Render(c, rendering)
	if err != nil {
		return nil, err
	}
	var names, documents []string
	for name := range files {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		if filepath.Ext(name) != ".yaml" {
			continue
		}
		for document := range strings.SplitSeq(files[name], "\n---") {
			if strings.Contains(document, "kind:") {
				documents = append(documents, strings.TrimSpace(document)+"\n")
			}
		}
	}
	return documents, nil
}

func read(t *testing.T, file string) map[string]any {
	t.Helper()
	values, err := chartutil.ReadValuesFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return values
}

// Each set of values makes what its golden file has; `go test -update` writes them.
func TestGoldens(t *testing.T) {
	for name, file := range sets(t) {
		t.Run(name, func(t *testing.T) {
			documents, err := render(t, read(t, file))
			if err != nil {
				t.Fatal(err)
			}
			for i, d := range documents {
				documents[i] = shortened(d)
			}
			made, golden := strings.Join(documents, "---\n"), "testdata/"+name+".golden"
			if *update {
				if err := os.WriteFile(golden, []byte(made), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			want, err := os.ReadFile(golden)
			if err != nil || string(want) != made {
				t.Errorf("it is not what %s has, %v:\n%s", golden, err, made)
			}
		})
	}
}

// shortened is a document without what is held where it is written, rules and dashboards, and
// without the blank lines that templates leave.
func shortened(document string) string {
	for kind, member := range map[string]string{"kind: PrometheusRule": "\nspec:\n", "-dashboards\n": "\ndata:\n"} {
		if strings.Contains(document, kind) {
			document, _, _ = strings.Cut(document, member)
			document += "\n"
		}
	}
	lines := slices.DeleteFunc(strings.Split(document, "\n"), func(line string) bool { return strings.TrimSpace(line) == "" })
	return strings.Join(lines, "\n") + "\n"
}

// Helm's linter finds nothing with any set of values.
func TestLint(t *testing.T) {
	for name, file := range sets(t) {
		for _, message := range lint.All(directory, read(t, file), "models", true).Messages {
			if message.Severity > support.InfoSev {
				t.Errorf("%s: %v", name, message)
			}
		}
	}
}

// Values that cannot be meant are refused, and the error says which.
func TestRefusals(t *testing.T) {
	store := map[string]any{"url": "postgres://genway@db/genway"}
	for name, c := range map[string]struct {
		values map[string]any
		want   string
	}{
		"no store":                {nil, "store.existingSecret.name or store.url is missing"},
		"unknown member":          {map[string]any{"store": store, "replicas": 3}, "replicas"},
		"unknown mode":            {map[string]any{"store": store, "mode": "both"}, "mode"},
		"replicas of a text":      {map[string]any{"store": store, "core": map[string]any{"replicas": "3"}}, "replicas"},
		"replicas below zero":     {map[string]any{"store": store, "core": map[string]any{"replicas": -1}}, "replicas"},
		"ingress, no host":        {map[string]any{"store": store, "ingress": map[string]any{"enabled": true}}, "ingress.host is missing"},
		"route, no parent":        {map[string]any{"store": store, "httpRoute": map[string]any{"enabled": true}}, "httpRoute.parentRefs is missing"},
		"captures of no key":      {map[string]any{"store": store, "captures": map[string]any{"existingSecret": map[string]any{"name": "keys", "key": ""}}}, "captures"},
		"captures by a value":     {map[string]any{"store": store, "captures": map[string]any{"value": "secret"}}, "captures"},
		"a setting in lower case": {map[string]any{"store": store, "edge": map[string]any{"settings": map[string]any{"heartbeat": "5s"}}}, "heartbeat"},
	} {
		if _, err := render(t, c.values); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}
