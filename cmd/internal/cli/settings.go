package cli

import (
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

// Configured is a command that wants to know where the values of its flags are from.
type Configured interface {
	// TakeSettings is called once, ahead of Run.
	TakeSettings(settings []Setting)
}

// Setting is a flag of a command that is to be run: its value, and where that is from.
type Setting struct {
	// Flag is its name with its dashes: --grpc.
	Flag string
	// Value is as a command line has it; a list has commas. It is empty for a default that is none of the
	// flag's own. It may be a secret.
	Value string
	// Given says that an argument gave it. Variable is the environment variable that did otherwise; empty
	// for a default.
	Given    bool
	Variable string
}

// settings are the flags of a command that was chosen, in the order of its help.
func settings(chosen *kong.Context, node *kong.Node) []Setting {
	given := map[*kong.Flag]bool{}
	for _, p := range chosen.Path {
		if p.Flag != nil && !p.Resolved {
			given[p.Flag] = true
		}
	}
	var all []Setting
	for _, flag := range node.Flags {
		if slices.Contains([]string{"help", "version", "completion"}, flag.Name) {
			continue
		}
		s := Setting{Flag: "--" + flag.Name, Value: written(flag.Target), Given: given[flag]}
		for _, variable := range flag.Envs {
			if _, set := os.LookupEnv(variable); set && !s.Given && s.Variable == "" {
				s.Variable = variable
			}
		}
		if !s.Given && s.Variable == "" && !flag.HasDefault && flag.Target.IsZero() && !flag.IsBool() {
			s.Value = ""
		}
		all = append(all, s)
	}
	return all
}

// written is a flag's value as text.
func written(value reflect.Value) string {
	switch {
	case value.Kind() == reflect.Pointer && value.IsNil():
		return ""
	case value.Kind() == reflect.Pointer:
		return written(value.Elem())
	case value.Kind() != reflect.Slice:
		return fmt.Sprint(value.Interface())
	}
	var each []string
	for i := range value.Len() {
		each = append(each, fmt.Sprint(value.Index(i).Interface()))
	}
	return strings.Join(each, ",")
}
