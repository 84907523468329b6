package architecture_test

import (
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

// All modules name one language version and one toolchain, so that a developer who may fetch
// toolchains builds each with the same patch release.
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
		if want == "" {
			want = got
		}
		if got != want || !strings.Contains(got, "toolchain") {
			t.Errorf("%s says %q, another module %q", file, got, want)
		}
	}
}

// The modules whose tests `make test` runs have the same version of what they share with the root module: a
// package is compiled once for each version, and so is all that imports it.
func TestModulesShareVersions(t *testing.T) {
	versions := func(file string) map[string]string {
		text, err := os.ReadFile("../../" + file)
		if err != nil {
			t.Fatal(err)
		}
		found := map[string]string{}
		for _, m := range regexp.MustCompile(`(?m)^\t(\S+) (v\S+)`).FindAllStringSubmatch(string(text), -1) {
			found[m[1]] = m[2]
		}
		return found
	}
	root := versions("go.mod")
	for _, file := range []string{"test/conformance/go.mod", "test/bench/go.mod", "test/tools/crossing/go.mod"} {
		for module, version := range versions(file) {
			if want := root[module]; want != "" && version != want {
				t.Errorf("%s has %s %s, the root module %s: go get -C %s %[2]s@%[4]s", file, module, version, want, strings.TrimSuffix(file, "/go.mod"))
			}
		}
	}
}
