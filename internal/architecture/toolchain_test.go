package architecture_test

import (
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

// All modules name one language version and one toolchain, so that a developer who may fetch
// toolchains builds each with the same patch release. The contract is for modules of others: it
// demands the first release of a language version, and no toolchain.
func TestModulesAgreeOnGo(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), "git", "-C", "../..", "ls-files", "*go.mod").Output()
	if err != nil {
		t.Fatal(err)
	}
	lines := regexp.MustCompile(`(?m)^(go|toolchain) .*$`)
	want := ""
	for file := range strings.FieldsSeq(string(out)) {
		text, err := os.ReadFile("../../" + file)
		if err != nil {
			t.Fatal(err)
		}
		got := strings.Join(lines.FindAllString(string(text), -1), ", ")
		if file == "contract/go.mod" {
			if !regexp.MustCompile(`^go 1\.\d+\.0$`).MatchString(got) {
				t.Errorf("%s says %q", file, got)
			}
			continue
		}
		if want == "" {
			want = got
		}
		if got != want || !strings.Contains(got, "toolchain") {
			t.Errorf("%s says %q, another module %q", file, got, want)
		}
	}
}
