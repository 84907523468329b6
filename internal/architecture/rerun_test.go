package architecture_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// flakyModule has tests that fail as the variables FIRST, ALWAYS and LEAK say: once, always, and beside all tests.
var flakyModule = map[string]string{
	"go.mod": "module m\n\ngo 1.26\n",
	"a/a_test.go": `package a

import ("os"; "testing")

func first(t *testing.T) {
	if dir := os.Getenv("FIRST"); dir != "" && os.MkdirAll(dir, 0o700) == nil && os.Mkdir(dir + "/" + t.Name()[len(t.Name())-1:], 0o700) == nil {
		t.Error("the first time")
	}
}

func TestOnce(t *testing.T) { t.Run("a", first) }
func TestTwo(t *testing.T) { for _, name := range []string{"b", "c", "d", "e", "f"} { if os.Getenv("MANY") != "" { t.Run(name, first) } } }
func TestAlways(t *testing.T) { if os.Getenv("ALWAYS") != "" { t.Error("always") } }
`,
	"b/b_test.go": `package b

import ("os"; "testing")

var ran bool

func TestFine(t *testing.T) { ran = true }
func TestMain(m *testing.M) {
	code := m.Run()
	if ran && os.Getenv("LEAK") != "" { code = 1 }
	os.Exit(code)
}
`,
}

// What fails once and then passes is named and ends nothing, five tests at most. What fails twice, beside tests, or more
// often than that is a failure.
func TestRerun(t *testing.T) {
	for name, c := range map[string]struct {
		variables []string
		fails     bool
		flaky     string
	}{
		"fine":               {nil, false, ""},
		"once":               {[]string{"FIRST"}, false, "m/a.TestOnce/a\n"},
		"many":               {[]string{"FIRST", "MANY"}, true, ""},
		"always":             {[]string{"ALWAYS"}, true, ""},
		"no test":            {[]string{"LEAK"}, true, ""},
		"once, beside those": {[]string{"FIRST", "LEAK"}, true, ""},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			for file, text := range flakyModule {
				file = filepath.Join(dir, file)
				if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			flaky := filepath.Join(dir, "flaky")
			cmd := exec.CommandContext(t.Context(), "test/scripts/rerun", dir, "./a", "./b", "--", "-count=1")
			cmd.Dir, cmd.Env = "../..", append(os.Environ(), "FLAKY="+flaky)
			for _, variable := range c.variables {
				cmd.Env = append(cmd.Env, variable+"="+filepath.Join(dir, "first"))
			}
			out, err := cmd.CombinedOutput()
			if (err != nil) != c.fails {
				t.Errorf("%v\n%s", err, out)
			}
			text, err := os.ReadFile(flaky)
			if err != nil || !c.fails && string(text) != c.flaky || strings.Count(string(text), "\n") > 5 {
				t.Errorf("%q, %v\n%s", text, err, out)
			}
		})
	}
}
