package codectest

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/tools/txtar"
)

// SeedFrames adds the data of each event in the golden files.
func SeedFrames(f *testing.F) {
	f.Helper()
	files, err := filepath.Glob("testdata/*.txtar")
	deeper, _ := filepath.Glob("testdata/*/*.txtar")
	if files = append(files, deeper...); err != nil || len(files) == 0 {
		f.Fatalf("no golden files: %v", err)
	}
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		for _, section := range txtar.Parse(raw).Files {
			for _, frame := range ParseFrames(string(section.Data)) {
				f.Add(frame.Data)
			}
		}
	}
}
