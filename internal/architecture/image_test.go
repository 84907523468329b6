package architecture_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// The images are built of what .dockerignore keeps: each file that the programs are made of is
// below a folder that it names.
func TestImagesAreBuiltOfAllTheProgramsNeed(t *testing.T) {
	ignored, err := os.ReadFile("../../.dockerignore")
	if err != nil {
		t.Fatal(err)
	}
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	kept := keptFolders(string(ignored))
	list := exec.CommandContext(t.Context(), "go", "list", "-C", root, "-deps",
		"-f", "{{if .Module}}{{if .Module.Main}}{{$dir := .Dir}}{{range .GoFiles}}{{$dir}}/{{.}}\n{{end}}{{range .EmbedFiles}}{{$dir}}/{{.}}\n{{end}}{{end}}{{end}}", "./cmd/...")
	list.Env = append(os.Environ(), "GOWORK=off", "GOOS=linux")
	output, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	files := strings.Fields(string(output))
	if len(files) < 100 {
		t.Fatalf("the programs are made of %d files", len(files))
	}
	for _, missing := range left(files, root, kept) {
		t.Errorf(".dockerignore keeps no folder %s", missing)
	}
}

// keptFolders returns the folders and files that the lines of a .dockerignore keep.
func keptFolders(ignored string) []string {
	var kept []string
	for line := range strings.Lines(ignored) {
		if name, ok := strings.CutPrefix(strings.TrimSpace(line), "!"); ok {
			kept = append(kept, name)
		}
	}
	return kept
}

// left returns the first folders, below a root, of the files that are not kept, each once.
func left(files []string, root string, kept []string) []string {
	var missing []string
	for _, file := range files {
		folder, _, _ := strings.Cut(strings.TrimPrefix(file, root+"/"), "/")
		if !slices.Contains(kept, folder) && !slices.Contains(missing, folder) {
			missing = append(missing, folder)
		}
	}
	return missing
}

func TestLeft(t *testing.T) {
	kept := keptFolders("# words\n*\n!go.mod\n!core\n**/testdata\n")
	got := left([]string{"/r/core/a.go", "/r/console/b.go", "/r/console/assets/c.js", "/r/corex/d.go"}, "/r", kept)
	if !slices.Equal(got, []string{"console", "corex"}) {
		t.Errorf("%q", got)
	}
}
