package config_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/genway/genway/core/config"
)

// Every configuration that the documents show is valid. A block that begins with a list of prices is a file of its own.
func TestDocumentedConfigurations(t *testing.T) {
	anything := func(string) (string, bool) { return "x", true }
	for _, name := range []string{"README.md", "docs/configuration.md", "docs/models.md", "docs/access.md", "docs/observability.md"} {
		text, err := os.ReadFile(filepath.Join("..", "..", filepath.FromSlash(name)))
		if err != nil {
			t.Fatal(err)
		}
		shown := 0
		for i, piece := range strings.Split(string(text), "\n```") {
			if block, ok := strings.CutPrefix(piece, "yaml\n"); ok && i%2 == 1 && !strings.HasPrefix(block, "prices:\n") {
				shown++
				if _, err := config.Parse(name, []byte(block), anything); err != nil {
					t.Errorf("%v\n%s", err, block)
				}
			}
		}
		if shown == 0 {
			t.Errorf("%s shows none", name)
		}
	}
}
