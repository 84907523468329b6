// Package clitest holds a command's grammar to a file of command lines and of what each
// is read as.
package clitest

import (
	"encoding"
	"flag"
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/genway/genway/cmd/internal/cli"
)

var update = flag.Bool("update", false, "write what the command lines are read as")

// Run reads file: a line "$ VARIABLE=VALUE… ARGUMENT…" is a command line with its
// environment, and the line below it what it is read as: the command and its fields that
// are not empty, or "! " and the error. ␣ is a space in an argument, WD the directory.
func Run(t *testing.T, file string, program func() cli.Program) {
	t.Helper()
	for _, variable := range os.Environ() {
		if name, _, _ := strings.Cut(variable, "="); strings.HasPrefix(name, "GENWAY_") {
			t.Setenv(name, "")
			if err := os.Unsetenv(name); err != nil {
				t.Fatal(err)
			}
		}
	}
	directory, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(file) //nolint:gosec // a test names it
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
	for i := 0; i < len(lines); i++ {
		call, ok := strings.CutPrefix(lines[i], "$")
		if !ok {
			continue
		}
		if i+1 == len(lines) || strings.HasPrefix(lines[i+1], "$") {
			lines = append(lines[:i+1], append([]string{""}, lines[i+1:]...)...)
		}
		i++
		want := lines[i]
		t.Run(call, func(t *testing.T) {
			var args []string
			for word := range strings.FieldsSeq(call) {
				word = strings.ReplaceAll(word, "␣", " ")
				if name, value, ok := strings.Cut(word, "="); ok && args == nil && strings.HasPrefix(name, "GENWAY_") {
					t.Setenv(name, value)
					continue
				}
				args = append(args, word)
			}
			command, err := program().Parse(args)
			var got string
			if err != nil {
				got = "! " + err.Error()
			} else {
				chosen := reflect.ValueOf(command).Elem()
				got = chosen.Type().Name() + fields(chosen)
			}
			if got = strings.ReplaceAll(got, directory, "WD"); *update {
				lines[i] = got
			} else if got != want {
				t.Errorf("got  %s\nwant %s", got, want)
			}
		})
	}
	if *update {
		if err := os.WriteFile(file, []byte(strings.Join(lines, "\n")+"\n"), 0o600); err != nil { //nolint:gosec // a test names it
			t.Fatal(err)
		}
	}
}

// fields are the fields of a command, and of the structs that it embeds.
func fields(v reflect.Value) string {
	var b strings.Builder
	for i := range v.NumField() {
		field, member := v.Type().Field(i), v.Field(i)
		switch {
		case !field.IsExported() && !field.Anonymous, member.IsZero():
		case field.Anonymous && member.Kind() == reflect.Struct:
			b.WriteString(fields(member))
		default:
			for member.Kind() == reflect.Pointer {
				member = member.Elem()
			}
			fmt.Fprintf(&b, " %s=%s", field.Name, shown(member))
		}
	}
	return b.String()
}

func shown(v reflect.Value) string {
	if m, ok := reflect.TypeAssert[encoding.TextMarshaler](v); ok {
		text, err := m.MarshalText()
		if err != nil {
			return err.Error()
		}
		return string(text)
	}
	switch v.Kind() {
	case reflect.String:
		return fmt.Sprintf("%q", v.String())
	case reflect.Slice:
		var all []string
		for i := range v.Len() {
			all = append(all, shown(v.Index(i)))
		}
		return "[" + strings.Join(all, " ") + "]"
	}
	return fmt.Sprint(v.Interface())
}
