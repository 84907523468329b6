package architecture_test

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// CONTRIBUTING has a row for each package, and each of its rows is a folder that exists.
func TestContributingListsPackages(t *testing.T) {
	text, err := os.ReadFile("../../CONTRIBUTING.md")
	if err != nil {
		t.Fatal(err)
	}
	var packages []string
	module := load(t)
	for _, pkg := range module.own {
		packages = append(packages, strings.TrimPrefix(pkg.ImportPath, module.path+"/"))
	}
	for _, wrong := range unlisted(string(text), packages, func(folder string) bool {
		info, err := os.Stat("../../" + folder)
		return err == nil && info.IsDir()
	}) {
		t.Error(wrong)
	}
}

var row = regexp.MustCompile("(?m)^\\| `([^`]+)` \\| (.*) \\|$")

// unlisted gives what is wrong with the rows of a document.
func unlisted(text string, packages []string, exists func(folder string) bool) []string {
	rows := map[string]bool{}
	var wrong []string
	for _, r := range row.FindAllStringSubmatch(text, -1) {
		folder := r[1]
		switch {
		case rows[folder]:
			wrong = append(wrong, folder+" has two rows")
		case !exists(folder):
			wrong = append(wrong, folder+" has a row, and does not exist")
		case strings.TrimSpace(r[2]) == "":
			wrong = append(wrong, folder+": its row is empty")
		}
		rows[folder] = true
	}
	for _, pkg := range packages {
		if !rows[pkg] {
			wrong = append(wrong, pkg+" has no row in CONTRIBUTING.md, under Where things are")
		}
	}
	return wrong
}

func TestUnlisted(t *testing.T) {
	text := "| folder | what |\n|---|---|\n| `a` | one |\n| `b` | two |\n| `b` | three |\n| `removed` | four |\n"
	got := unlisted(text, []string{"a", "b", "c"}, func(folder string) bool { return folder != "removed" })
	if len(got) != 3 || !strings.HasPrefix(got[0], "b has two") || !strings.HasPrefix(got[1], "removed ") || !strings.HasPrefix(got[2], "c has no row") {
		t.Errorf("%q", got)
	}
}
