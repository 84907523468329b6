package price_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/genway/genway/core/price"
)

// Every catalogue the document shows is a good one.
func TestDocumentedPrices(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "access.md"))
	if err != nil {
		t.Fatal(err)
	}
	shown := 0
	for i, piece := range strings.Split(string(text), "\n```") {
		if block, ok := strings.CutPrefix(piece, "yaml\n"); ok && i%2 == 1 && strings.HasPrefix(block, "prices:\n") {
			shown++
			if _, err := price.Parse("docs/access.md", []byte(block)); err != nil {
				t.Errorf("%v\n%s", err, block)
			}
		}
	}
	if shown == 0 {
		t.Error("it shows none")
	}
}
