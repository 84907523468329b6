package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Commands, flags and the values of flags complete at the place that the words before name.
func TestCompletion(t *testing.T) {
	for words, want := range map[string]string{
		"":                          "group ends",
		"gr":                        "group",
		"nope":                      "",
		"group ":                    "do ends",
		"group nope ":               "do ends",
		"group do --f":              "--format --file",
		"group do --format=":        "--format=table --format=json",
		"group do --format=j":       "--format=json",
		"group do --format ":        "table json",
		"group do --format x --wa":  "--wait",
		"group do --no":             "--no-strict",
		"group do --lax ":           "",
		"group do --file ":          "",
		"group do --completion ":    "bash zsh fish",
		"--completion=f":            "--completion=fish",
		"group do --nope --format=": "--format=table --format=json",
		"--v":                       "--version",
	} {
		var out strings.Builder
		program := Program{Name: "test", Description: "A test.", Grammar: &sample{}}
		args := append([]string{completeCommand}, strings.Split(words, " ")...)
		if code := program.run(t.Context(), args, &out, &out); code != 0 {
			t.Errorf("%q: exit code %d", words, code)
		}
		var got []string
		for line := range strings.Lines(out.String()) {
			candidate, _, ok := strings.Cut(line, "\t")
			if !ok {
				t.Errorf("%q: the line %q has no tab", words, line)
			}
			got = append(got, candidate)
		}
		if text := strings.Join(got, " "); text != want {
			t.Errorf("%q completes to %q, want %q", words, text, want)
		}
	}
}

// bash reads the script and completes with it, behind = as well.
func TestCompletionInBash(t *testing.T) {
	script, err := parsed(t, "--completion=bash")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	stub := "#!/bin/sh\nfor word; do echo \"[$word]\" >>" + filepath.Join(dir, "words") + "; done\nprintf -- '--format=table\\tA table\\n'\n"
	if err := os.WriteFile(filepath.Join(dir, "test"), []byte(stub), 0o700); err != nil {
		t.Fatal(err)
	}
	shell := exec.CommandContext(t.Context(), "bash", "-c", script+`
COMP_LINE='test group do --format=ta'; COMP_POINT=${#COMP_LINE}; enable -n test
_test; echo "${COMPREPLY[@]}"
COMP_LINE='test '; COMP_POINT=5
_test; echo "${COMPREPLY[@]}"`)
	shell.Env = append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH"))
	out, err := shell.CombinedOutput()
	if err != nil || string(out) != "table\n--format=table\n" {
		t.Errorf("got %q, %v", out, err)
	}
	words, err := os.ReadFile(filepath.Join(dir, "words"))
	if want := "[__complete]\n[group]\n[do]\n[--format=ta]\n[__complete]\n[]\n"; err != nil || string(words) != want {
		t.Errorf("asked for %q, %v", words, err)
	}
}

// A shell that is not known is refused with those that are.
func TestCompletionOfUnknownShells(t *testing.T) {
	for _, line := range []string{"--completion=tcsh", "--completion=", "--completion=../x", "group --completion=x"} {
		if _, err := parsed(t, line); err == nil || !strings.Contains(err.Error(), "must be one of bash, zsh, fish") {
			t.Errorf("%s: %v", line, err)
		}
	}
}
