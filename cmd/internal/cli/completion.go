package cli

import (
	"embed"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

// scripts are the completion scripts of the shells, with {{Program}} for the program's name.
//
//go:embed completion
var scripts embed.FS

// completionFlag prints the completion script of a shell.
type completionFlag string

// BeforeReset prints the script in place of running a command.
func (f *completionFlag) BeforeReset(ctx *kong.Context, trace *kong.Path) error {
	shell, _ := ctx.FlagValue(trace.Flag).(completionFlag)
	script, err := scripts.ReadFile("completion/" + string(shell))
	if err != nil {
		return fmt.Errorf("--completion: must be one of bash, zsh, fish but got %q", string(shell))
	}
	_, err = io.WriteString(ctx.Stdout, strings.ReplaceAll(string(script), "{{Program}}", ctx.Model.Name))
	ctx.Exit(0)
	return err
}

// completeCommand is the first argument with which the scripts ask for candidates.
const completeCommand = "__complete"

// complete writes the candidates for the last of the words after the program's
// name: each on a line, with a tab and what it is. No line leaves the file names to the shell.
func (p Program) complete(out io.Writer, words []string) error {
	parser, err := p.parser()
	if err != nil {
		return err
	}
	if len(words) == 0 {
		words = []string{""}
	}
	last := words[len(words)-1]
	trace, err := kong.Trace(parser, words[:len(words)-1]) // which goes as far as the words make sense
	if err != nil {
		return err
	}
	node := parser.Model.Node
	if selected := trace.Selected(); selected != nil {
		node = selected
	}
	flags := slices.Concat(node.AllFlags(true)...)
	name, value, given := strings.Cut(last, "=")
	for _, flag := range flags {
		switch {
		case given && name == "--"+flag.Name:
			return choices(out, flag, name+"=", value)
		case len(words) > 1 && words[len(words)-2] == "--"+flag.Name && !flag.IsBool():
			return choices(out, flag, "", last)
		}
	}
	if !strings.HasPrefix(last, "-") {
		for _, child := range node.Children {
			if err := candidate(out, child.Name, last, child.Help); err != nil {
				return err
			}
		}
		return nil
	}
	for _, flag := range flags {
		if err := candidate(out, "--"+flag.Name, last, flag.Help); err != nil {
			return err
		}
		if flag.Tag.Negatable != "" {
			if err := candidate(out, "--no-"+flag.Name, last, flag.Help); err != nil {
				return err
			}
		}
	}
	return nil
}

// choices writes the values that a flag may have.
func choices(out io.Writer, flag *kong.Flag, prefix, begun string) error {
	all := flag.EnumSlice()
	if flag.Name == "completion" {
		all = []string{"bash", "zsh", "fish"}
	}
	for _, choice := range all {
		if choice == "" {
			continue
		}
		if err := candidate(out, prefix+choice, prefix+begun, ""); err != nil {
			return err
		}
	}
	return nil
}

func candidate(out io.Writer, word, begun, help string) error {
	if !strings.HasPrefix(word, begun) {
		return nil
	}
	sentence, _, _ := strings.Cut(help, ". ")
	_, err := fmt.Fprintf(out, "%s\t%s\n", word, strings.TrimSuffix(sentence, "."))
	return err
}
