package readme

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"mvdan.cc/sh/v3/syntax"
)

const root = "../../.."

// read returns a file of the repository.
func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// consoleLines returns the commands of a README's console blocks: what follows the prompt, with the
// lines that continue it.
func consoleLines(text string) []string {
	var found []string
	for i, piece := range strings.Split(text, "\n```") {
		block, ok := strings.CutPrefix(piece, "console\n")
		if !ok || i%2 == 0 {
			continue
		}
		for line := range strings.Lines(strings.ReplaceAll(block, "\\\n", " ")) {
			if command, ok := strings.CutPrefix(line, "$ "); ok {
				found = append(found, command)
			}
		}
	}
	return found
}

// calls returns the words of each program that a line runs, without quotes, pipes and substitutions.
func calls(t *testing.T, line string) [][]string {
	t.Helper()
	file, err := syntax.NewParser().Parse(strings.NewReader(line), "")
	if err != nil {
		t.Fatalf("%s: %v", line, err)
	}
	var found [][]string
	syntax.Walk(file, func(node syntax.Node) bool {
		call, ok := node.(*syntax.CallExpr)
		if !ok || len(call.Args) == 0 {
			return true
		}
		var words []string
		for _, word := range call.Args {
			var text strings.Builder
			if err := syntax.NewPrinter().Print(&text, word); err != nil {
				t.Fatal(err)
			}
			words = append(words, strings.Trim(text.String(), `'"`))
		}
		if words[0] == "sudo" {
			words = words[1:]
		}
		found = append(found, words)
		return true
	})
	return found
}

var (
	variable = regexp.MustCompile(`GENWAY_[A-Z_]+`)
	port     = regexp.MustCompile("localhost:([0-9]+)")
	run      = regexp.MustCompile(`docker compose run --rm ([a-z]+)`)
)

// TestDeployCommands holds the commands that the READMEs of deploy/ show to what is there: targets,
// files, services, profiles, stages, values, units, subcommands, flags and variables. A program that
// no case knows is an error, so that a new command comes with its check.
func TestDeployCommands(t *testing.T) {
	t.Parallel()
	have := deployed{
		makefile: read(t, "Makefile"), compose: read(t, "deploy/compose/compose.yaml"),
		dockerfile: read(t, "deploy/image/Dockerfile"), values: read(t, "deploy/chart/genway/values.yaml"),
	}
	for _, program := range []string{"genway", "genway-core", "genway-edge"} {
		have.flags += read(t, "cmd/"+program+"/testdata/flags.txt")
	}
	readmes, err := filepath.Glob(filepath.Join(root, "deploy", "*", "README.md"))
	if err != nil || len(readmes) != 6 {
		t.Fatalf("%d READMEs: %v", len(readmes), err)
	}
	for _, name := range readmes {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		t.Run(filepath.Base(filepath.Dir(name)), func(t *testing.T) {
			t.Parallel()
			lines := consoleLines(string(text))
			if len(lines) < 2 {
				t.Fatalf("only %d commands", len(lines))
			}
			folder := "."
			for _, line := range lines {
				for _, words := range calls(t, line) {
					if problem := have.check(words, folder); problem != "" {
						t.Errorf("%s: %s", strings.TrimSpace(line), problem)
					}
					if words[0] == "cd" {
						folder = filepath.Join(folder, words[1])
					}
				}
				for _, name := range variable.FindAllString(line, -1) {
					if !strings.Contains(have.flags+have.compose, name) && name != "GENWAY_BUILD_" {
						t.Errorf("%s: nothing reads %s", strings.TrimSpace(line), name)
					}
				}
				for _, found := range port.FindAllStringSubmatch(line, -1) {
					if !strings.Contains(have.compose, ":"+found[1]) && !strings.Contains(have.compose, ":-"+found[1]+"}") {
						t.Errorf("%s: nothing listens", strings.TrimSpace(line))
					}
				}
			}
		})
	}
}

// TestComposeBuildsBeforeItRuns demands that the image of a service exists before `docker compose run`
// starts it: a build writes its progress to standard output, which the shell would take for the key.
func TestComposeBuildsBeforeItRuns(t *testing.T) {
	t.Parallel()
	have := deployed{compose: read(t, "deploy/compose/compose.yaml")}
	lines, ran := consoleLines(read(t, "deploy/compose/README.md")), 0
	for i, line := range lines {
		found := run.FindStringSubmatch(line)
		if found == nil {
			continue
		}
		ran++
		in := profile.FindStringSubmatch(have.service(found[1]))
		if in == nil {
			t.Fatalf("service %s has no profile", found[1])
		}
		if !strings.Contains(strings.Join(lines[:i], ""), "docker compose --profile "+in[1]+" build") {
			t.Errorf("%s: nothing has built the images of profile %s before", strings.TrimSpace(line), in[1])
		}
	}
	if ran == 0 {
		t.Error("no command runs a service")
	}
}
