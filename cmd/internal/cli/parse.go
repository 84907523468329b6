package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"

	"github.com/agnivade/levenshtein"
	"github.com/spf13/pflag"
)

// Parse reads the arguments and the environment into the grammar, and gives the command
// that they choose, or one that prints the help or the version. The error is a UsageError.
// A flag comes before the environment, and that before the default.
func (p Program) Parse(args []string) (Command, error) {
	n := newNode(p.Name, p.Description, reflect.ValueOf(p.Grammar).Elem())
	help := &value{name: "--help", field: reflect.ValueOf(new(bool)).Elem()}
	version := &value{name: "--version", field: reflect.ValueOf(new(bool)).Elem()}
	for {
		rest, err := n.parse(args, help, version)
		var next *node
		if len(rest) > 0 {
			next = n.child(rest[0])
		}
		switch {
		case err != nil:
		case next != nil:
			n, args = next, rest[1:]
			continue
		case len(rest) > len(n.args):
			extra := rest[len(n.args)]
			err = fmt.Errorf("unexpected argument %s%s", shown(extra), meant(extra, n.names))
		case help.given:
			return told(n.text()), nil
		case version.given:
			return told(Version() + "\n"), nil
		default:
			err = n.fill(rest)
		}
		if err != nil {
			return nil, UsageError{fmt.Errorf("%w (see %s --help)", err, n.path)}
		}
		return n.command, nil
	}
}

// told is a text that was asked for in place of a command.
type told string

// Run prints it.
func (t told) Run(_ context.Context, stdout io.Writer) error {
	_, err := io.WriteString(stdout, string(t))
	return err
}

// parse reads the flags of a node, and gives the arguments that are none. Those of a group
// end where a command's name is.
func (n *node) parse(args []string, help, version *value) ([]string, error) {
	set := pflag.NewFlagSet(n.path, pflag.ContinueOnError)
	set.SetInterspersed(n.command != nil)
	set.VarPF(help, "help", "h", "").NoOptDefVal = "true"
	set.VarPF(version, "version", "", "").NoOptDefVal = "true"
	for _, v := range n.flags {
		name := strings.TrimPrefix(v.name, "--")
		flag := set.VarPF(v, name, "", "")
		if v.isBool() {
			flag.NoOptDefVal = "true"
		}
		if v.has("negatable") {
			set.VarPF(negation{v}, "no-"+name, "", "").NoOptDefVal = "true"
		}
	}
	err := set.Parse(args)
	if forgotten := valueForgotten(set, args); forgotten != nil {
		err = forgotten
	} else if _, ok := errors.AsType[*pflag.ValueRequiredError](err); ok {
		err = fmt.Errorf("%s: its value is missing", args[len(args)-1])
	}
	if unknown, ok := errors.AsType[*pflag.NotExistError](err); ok {
		if unknown.GetSpecifiedShortnames() != "" {
			err = fmt.Errorf("unknown flag -%.1s", unknown.GetSpecifiedName())
		} else {
			var names []string
			set.VisitAll(func(f *pflag.Flag) { names = append(names, "--"+f.Name) })
			flag := "--" + unknown.GetSpecifiedName()
			err = fmt.Errorf("unknown flag %s%s", shown(flag), meant(flag, names))
		}
	}
	if invalid, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
		err = invalid.Unwrap() // which names the flag, and does not repeat what it should not
	}
	return set.Args(), err
}

// negation is the flag --no-NAME.
type negation struct{ *value }

func (n negation) Set(text string) error {
	no, err := parseBool(text)
	if err != nil {
		return fmt.Errorf("--no-%s: %w", strings.TrimPrefix(n.name, "--"), err)
	}
	return n.value.Set(map[bool]string{true: "false", false: "true"}[no])
}

// valueForgotten finds a flag without its value, which would take the next flag for it.
func valueForgotten(set *pflag.FlagSet, args []string) error {
	for i := 0; i+1 < len(args) && args[i] != "--"; i++ {
		name, ok := strings.CutPrefix(args[i], "--")
		flag := set.Lookup(name)
		if ok && flag != nil && flag.NoOptDefVal == "" && len(args[i+1]) > 1 && args[i+1][0] == '-' {
			return fmt.Errorf("--%s: its value is missing; one that begins with - is written --%s=-…", name, name)
		}
	}
	return nil
}

// fill reads the arguments that are no flags, and has flags that were not given fall back.
func (n *node) fill(args []string) error {
	if n.command == nil {
		return fmt.Errorf("expected one of %s", strings.Join(n.names, ", "))
	}
	for i, v := range n.args {
		if i == len(args) {
			return fmt.Errorf("expected %s", v.name)
		}
		if err := v.Set(args[i]); err != nil {
			return err
		}
	}
	var missing []string
	given := map[string]string{}
	for _, v := range n.flags {
		if err := v.fallBack(); err != nil {
			return err
		}
		if !v.given {
			if v.has("required") {
				missing = append(missing, v.summary())
			}
			continue
		}
		if xor := v.tag.Get("xor"); xor != "" {
			if other := given[xor]; other != "" {
				return fmt.Errorf("%s and %s can't be used together", other, v.name)
			}
			given[xor] = v.name
		}
	}
	if len(missing) > 0 {
		return fmt.Errorf("missing flags: %s", strings.Join(missing, ", "))
	}
	return nil
}

// meant is a hint at the names that a wrong one is close to.
func meant(wrong string, names []string) string {
	var near []string
	for _, name := range names {
		if strings.HasPrefix(name, wrong) || levenshtein.ComputeDistance(name, wrong) <= 2 {
			near = append(near, name)
		}
	}
	if len(near) == 0 {
		return ""
	}
	return fmt.Sprintf(", did you mean %s?", strings.Join(near, " or "))
}

// shown is an argument that nobody expected, unless a key may be in it.
func shown(arg string) string {
	if strings.Contains(arg, keyPrefix) {
		return "[REDACTED]"
	}
	return arg
}
