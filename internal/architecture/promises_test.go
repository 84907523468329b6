package architecture_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// docs/promises.md says that a line without a test is no promise: each package that it names exists and has
// each test that it names, and each case, such as `TestCases/N1`, is in a package's tests by its identifier.
func TestPromisesNameTests(t *testing.T) {
	text, err := os.ReadFile("../../docs/promises.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, wrong := range unheld(string(text), testsOf(t, "../../")) {
		t.Error(wrong)
	}
}

var (
	quoted = regexp.MustCompile("`([^`]+)`")
	isTest = regexp.MustCompile(`^(Test|Fuzz)`)
)

// unheld returns what is wrong with the last column of the table: names in backquotes, of which each test is
// one of the package before it. A name that ends in … is the beginning of several. tests gives the text of
// a folder's Go files; false if it has none.
func unheld(text string, tests func(folder string) (string, bool)) []string {
	var wrong []string
	for line := range strings.Lines(text) {
		cells := strings.Split(strings.TrimSpace(line), " | ")
		if len(cells) != 2 || cells[0] == "| promise" {
			continue
		}
		names := quoted.FindAllStringSubmatch(cells[1], -1)
		if len(names) == 0 && !strings.HasPrefix(cells[1], "each codec's") {
			wrong = append(wrong, "no test is named: "+cells[0])
		}
		folder, source := "", ""
		for _, name := range names {
			switch name := name[1]; {
			case strings.HasPrefix(name, "make "):
			case !isTest.MatchString(name):
				var found bool
				folder = name
				if source, found = tests(folder); !found {
					wrong = append(wrong, folder+" has no Go files")
				}
			case folder != "" && !has(source, name):
				wrong = append(wrong, folder+" has no "+name)
			}
		}
	}
	return wrong
}

// has reports whether the source of tests has the function, or the case, of this name.
func has(source, name string) bool {
	if beginning, several := strings.CutSuffix(name, "…"); several {
		return strings.Contains(source, "func "+beginning)
	}
	function, id, isCase := strings.Cut(name, "/")
	return strings.Contains(source, "func "+function+"(") && (!isCase || strings.Contains(source, `"`+id+`"`))
}

// testsOf returns the text of folders below a root, with that of the folders in them. Files other than tests count too:
// core/store/storetest has its suite in them.
func testsOf(t *testing.T, root string) func(folder string) (string, bool) {
	return func(folder string) (string, bool) {
		var source strings.Builder
		for _, pattern := range []string{"*.go", "*/*.go"} {
			paths, err := filepath.Glob(filepath.Join(root, folder, pattern))
			if err != nil {
				t.Fatal(err)
			}
			for _, path := range paths {
				text, err := os.ReadFile(path)
				if err != nil {
					t.Fatal(err)
				}
				source.Write(text)
			}
		}
		return source.String(), source.Len() > 0
	}
}

func TestUnheld(t *testing.T) {
	text := "| promise | held by |\n|---|---|\n" +
		"| one | `a` `TestA`, `TestGone` |\n| two | `b` |\n| three | `a` `TestCases/X1`, `TestCases/X2`, `make check` |\n" +
		"| four | each codec's `TestA…`, `a` `TestA…`, `TestB…` |\n| five | a word |\n"
	got := unheld(text, func(folder string) (string, bool) {
		return "func TestA(t) {}\nfunc TestCases(t) { {\"X1\", …} }", folder == "a"
	})
	want := []string{"a has no TestGone", "b has no Go files", "a has no TestCases/X2", "a has no TestB…", "no test is named: | five"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
