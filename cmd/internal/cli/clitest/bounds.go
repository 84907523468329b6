package clitest

import (
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/alecthomas/kong"
	"github.com/genway/genway/cmd/internal/cli"
)

// Bounds sets each number and duration among the flags of a command to what a stranger would:
// nothing, words, NaN, numbers that are too large, below zero. What is no value of the flag must
// be refused in words that name the flag, its variable and what was given; of words in a variable,
// which may be a secret, all but what was given. A value below zero is
// taken only where the help says what that is.
func Bounds(t *testing.T, program func() cli.Program, command []string, arguments ...string) {
	t.Helper()
	model, err := program().Model()
	if err != nil {
		t.Fatal(err)
	}
	node := model.Node
	for _, name := range command {
		node = node.Children[slices.IndexFunc(node.Children, func(n *kong.Node) bool { return n.Name == name })]
	}
	tried := 0
	for _, flag := range node.Flags {
		name, kind := flag.Name, flag.Target.Type()
		var bad []string
		switch {
		case kind == reflect.TypeFor[time.Duration]():
			bad = []string{"", "x", "NaN", "5", "1e3", "1.5d", "2562048h", "inf", "-1s"}
		case kind.Kind() == reflect.Int || kind.Kind() == reflect.Int64:
			bad = []string{"", "x", "NaN", "1.5", "1e3", "9223372036854775808", "64MiB", "-1"}
			if flag.Tag.Type == "bytes" {
				bad[slices.Index(bad, "64MiB")] = "64M"
			}
		default:
			continue
		}
		tried++
		for _, value := range bad {
			if strings.HasPrefix(value, "-") && strings.Contains(flag.Help, "negative") {
				continue
			}
			_, err := program().Parse(slices.Concat(command, arguments, []string{"--" + name + "=" + value}))
			if err == nil || !strings.Contains(err.Error(), "--"+name) || !strings.Contains(err.Error(), value) {
				t.Errorf("--%s=%s: %v", name, value, err)
			}
			if len(flag.Envs) == 0 {
				continue
			}
			t.Run(flag.Envs[0]+"="+value, func(t *testing.T) {
				t.Setenv(flag.Envs[0], value)
				_, err := program().Parse(slices.Concat(command, arguments))
				if err == nil || !strings.Contains(err.Error(), "--"+name) || !strings.Contains(err.Error(), flag.Envs[0]) || strings.ContainsAny(value, "0123456789") && !strings.Contains(err.Error(), value) {
					t.Errorf("%v", err)
				}
				if err := os.Unsetenv(flag.Envs[0]); err != nil {
					t.Error(err)
				}
			})
		}
	}
	if tried == 0 {
		t.Error("no flag is a number or a duration")
	}
}
