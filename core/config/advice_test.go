package config_test

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/genway/genway/core/config"
)

// Mistakes that people make who come from another gateway, or from another YAML, each with what the check says: where it is
// and what to write instead. Warnings are marked; what is accepted is said so.
func TestMistakesOfNewcomers(t *testing.T) {
	t.Parallel()
	file := filepath.Join("testdata", "mistakes.txt")
	golden, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	getenv := func(name string) (string, bool) { return "", name == "EMPTY" }
	internal := regexp.MustCompile(`\bint\b|int64|float64|\bstring\b|Go |is expected|in this context|yaml`)
	var got bytes.Buffer
	for block := range strings.SplitSeq(strings.TrimSuffix(string(golden), "\n"), "\n\n") {
		text, _, _ := strings.Cut(block, "=>\n")
		parsed, err := config.Parse("f", []byte(text), getenv)
		says := lines(err)
		if err == nil {
			said := []string{"accepted"}
			if warnings := parsed.Warnings(); len(warnings) > 0 {
				said = nil
				for _, w := range warnings {
					said = append(said, "warning: "+w.Error())
				}
			}
			says = strings.Join(said, "\n")
		}
		if internal.MatchString(says) {
			t.Errorf("%s: %s has words of the program's", text, says)
		}
		got.WriteString(text + "=>\n" + says + "\n\n")
	}
	if *update {
		if err := os.WriteFile(file, got.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
	} else if !bytes.Equal(got.Bytes(), golden) {
		t.Errorf("the messages have changed: go test ./core/config -run TestMistakesOfNewcomers -update\n%s", got.String())
	}
}
