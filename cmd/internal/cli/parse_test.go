package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/alecthomas/kong"
)

// sample has every tag.
type sample struct {
	Groups struct {
		Do   do   `cmd:"" help:"Does it."`
		Ends ends `cmd:"" help:"Succeeds."`
	} `cmd:"" name:"group" help:"Commands."`
	Ends ends `cmd:"" help:"Succeeds."`
}

type do struct {
	lent
	Wait     time.Duration  `env:"TEST_WAIT" default:"20s" help:"How long."`
	Networks []netip.Prefix `env:"TEST_NETWORKS" placeholder:"CIDR" help:"Where."`
	Format   string         `required:"" enum:"table,json" help:"How."`
	Kind     string         `enum:",one,two" default:"" placeholder:"KIND" help:"The kind."`
	Order    string         `enum:"up,down" default:"up" help:"up, or down."`
	Strict   *bool          `negatable:"" xor:"manner" help:"Refuse."`
	Lax      bool           `xor:"manner" help:"Do not refuse. This text is long enough to take more than one line of the help."`
	File     string         `env:"TEST_FILE" type:"existingfile" placeholder:"FILE" help:"From where."`
	Pairs    []string       `sep:"none" help:"What."`
	What     string         `arg:"" help:"The thing."`
}

type lent struct {
	Most int `default:"3" help:"How many."`
}

func (do) Run(context.Context, io.Writer) error { return nil }

func parsed(t *testing.T, line string) (out string, err error) {
	t.Helper()
	command, err := Program{Name: "test", Description: "A test.", Grammar: &sample{}}.Parse(strings.Fields(line))
	if err != nil {
		return "", err
	}
	var b strings.Builder
	err = command.Run(t.Context(), &b)
	return b.String(), err
}

func TestHelp(t *testing.T) {
	for line, want := range map[string]string{
		"group do --help": `Usage: test group do --format=STRING <what> [flags]

Does it.

Arguments:
  <what>    The thing.

Flags:
  -h, --help                 Show context-sensitive help.
      --version              Print the version.
      --completion=SHELL     Print a script for tab completion: bash, zsh or
                             fish.

      --most=3               How many.
      --wait=20s             How long. ($TEST_WAIT)
      --networks=CIDR,...    Where. ($TEST_NETWORKS)
      --format=STRING        How. (one of table, json)
      --kind=KIND            The kind.
      --order="up"           up, or down.
      --[no-]strict          Refuse.
      --lax                  Do not refuse. This text is long enough to take
                             more than one line of the help.
      --file=FILE            From where. ($TEST_FILE)
      --pairs=PAIRS          What.
`,
		"group -h": `Usage: test group <command> [flags]

Commands.

Flags:
  -h, --help                Show context-sensitive help.
      --version             Print the version.
      --completion=SHELL    Print a script for tab completion: bash, zsh or
                            fish.

Commands:
  group do --format=STRING <what> [flags]
    Does it.

  group ends
    Succeeds.
`,
	} {
		if got, err := parsed(t, line); err != nil || got != want {
			t.Errorf("%s: %v, got\n%s\nwant\n%s", line, err, got, want)
		}
	}
}

// The help and the version are there at every level, before or behind a command's name,
// but not in place of what is wrong with the arguments.
func TestHelpAndVersionAtEveryLevel(t *testing.T) {
	for line, want := range map[string]string{
		"--help":                          "Usage: test <command>",
		"-h":                              "Usage: test <command>",
		"--help group":                    "Usage: test group <command>",
		"--help group do":                 "Usage: test group do ",
		"group --help do":                 "Usage: test group do ",
		"group do --format=json --help x": "Usage: test group do ",
		"--version":                       Version() + "\n",
		"group --version":                 Version() + "\n",
		"group do --version":              Version() + "\n",
		"--version --help":                Version() + "\n",
	} {
		if got, err := parsed(t, line); err != nil || !strings.HasPrefix(got, want) {
			t.Errorf("%s: %q, %v", line, got, err)
		}
	}
	for _, line := range []string{"--nope --help", "--help nope", "group nope --help", "group do --help --nope", "group do x y --help", "group do --wait --help"} {
		if got, err := parsed(t, line); err == nil {
			t.Errorf("%s: %q", line, got)
		}
	}
}

// A text from the environment, or one that looks like a key, may be a secret at the wrong place:
// an error names the flag and the variable, and does not repeat it.
func TestErrorsKeepSecrets(t *testing.T) {
	for _, c := range []struct{ name, value, line, want string }{
		{"TEST_WAIT", "canary", "group do --format=json x", "--wait: [REDACTED] is no duration; write 90s, 5m, 1h30m or 30d (from TEST_WAIT) (see test group do --help)"},
		{"TEST_WAIT", "e", "group do --format=json x", "--wait: its value is not valid (from TEST_WAIT)"},
		{"TEST_NETWORKS", "10.0.0.0/8,canary", "group do --format=json x", `--networks: netip.ParsePrefix([REDACTED]): no '/' (from TEST_NETWORKS)`},
		{"TEST_FILE", "canary", "group do --format=json x", "--file: [REDACTED]: no such file or directory (from TEST_FILE)"},
		{"TEST_OTHER", "", "group do --format=json --most=gwk_canary x", "--most: expected a valid 64 bit int but got [REDACTED]"},
		{"TEST_OTHER", "", "group do --format=gwk_canary x", `--format must be one of "table","json" but got [REDACTED]`},
		{"TEST_OTHER", "", "group do --format=json --networks=10.0.0.0/8,gwk_canary x", "--networks: netip.ParsePrefix([REDACTED])"},
		{"TEST_OTHER", "", "group do --format=json --file=gwk_canary x", "--file: [REDACTED]: no such file"},
		{"TEST_OTHER", "", "group do --format=json x gwk_canary", "unexpected argument [REDACTED]"},
		{"TEST_OTHER", "", "group do --format=json --gwk_canary=x", "unknown flag [REDACTED]"},
		{"TEST_OTHER", "", "group do --format=json --most -gwk_canary x", "--most: expected int value but got [REDACTED]"},
	} {
		t.Run(c.want, func(t *testing.T) {
			t.Setenv(c.name, c.value)
			_, err := parsed(t, c.line)
			if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "canary") {
				t.Errorf("got %v", err)
			}
			if _, ok := errors.AsType[UsageError](err); !ok {
				t.Errorf("%v is not a usage error", err)
			}
		})
	}
}

// A command is parsed, refused and explained alike whether the others are read or not.
func TestChosen(t *testing.T) {
	type mixed struct {
		Verbose bool `help:"Say more."`
		Ends    ends `cmd:"" help:"Succeeds."`
	}
	for name, want := range map[string]int{"ends": 1, "group": 1, "groups": 2, "Ends": 2, "": 2, "--help": 2} {
		if got := reflect.TypeOf(Program{Grammar: &sample{}}.chosen([]string{name}).Grammar).Elem().NumField(); got != want {
			t.Errorf("%q chooses %d commands, not %d", name, got, want)
		}
	}
	if got := (Program{Grammar: &mixed{}}).chosen([]string{"ends"}); reflect.TypeOf(got.Grammar) != reflect.TypeFor[*mixed]() {
		t.Errorf("a grammar with flags of its own became %T", got.Grammar)
	}
	if got := (Program{Grammar: &sample{}}).chosen(nil); reflect.TypeOf(got.Grammar) != reflect.TypeFor[*sample]() {
		t.Errorf("without arguments the grammar became %T", got.Grammar)
	}
	for _, line := range []string{"ends", "ends --help", "ends more", "ends --unknown", "group", "group --help", "group do --help", "group do x --format=table", "group do x", "group du x", "group do x --format=csv"} {
		args := strings.Fields(line)
		var said [2]string
		whole := Program{Name: "test", Grammar: &sample{}}
		for i, p := range []Program{whole, whole.chosen(args)} {
			var out strings.Builder
			parser, err := p.parser(kong.Writers(&out, &out), kong.Exit(func(int) {}))
			if err != nil {
				t.Fatal(err)
			}
			chosen, err := parser.Parse(args)
			command := ""
			if chosen != nil && err == nil {
				command = chosen.Command()
			}
			said[i] = fmt.Sprintf("%s\n%v\n%s", out.String(), err, command)
		}
		if said[0] != said[1] {
			t.Errorf("%s: with all commands %s\nalone %s", line, said[0], said[1])
		}
	}
}

// What is not UTF-8 is refused: the parser would replace its bytes, and a name or a folder would be another.
func TestArgumentsAreUTF8(t *testing.T) {
	for _, args := range [][]string{
		{"group", "do", "--format=table", "a\xffb"}, {"group", "do", "--format=table", "--kind=\xff", "a"}, {"group", "do", "--format=table", "--pairs", "\xc3", "a"}, {"\xff"}, {"group", "\xed\xa0\x80"},
	} {
		_, err := Program{Name: "test", Description: "A test.", Grammar: &sample{}}.Parse(args)
		if _, usage := errors.AsType[UsageError](err); !usage || !strings.Contains(err.Error(), "is not UTF-8") {
			t.Errorf("%q: %v", args, err)
		}
	}
	t.Setenv("TEST_NETWORKS", "\xff")
	if _, err := parsed(t, "group do --format=table a"); err == nil || !strings.Contains(err.Error(), "it is not UTF-8 (from TEST_NETWORKS)") {
		t.Errorf("a variable: %v", err)
	}
	t.Setenv("TEST_NETWORKS", "10.0.0.0/8")
	if _, err := parsed(t, "group do --format=table é\ufffd"); err != nil {
		t.Error(err)
	}
}
