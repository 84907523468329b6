package cli

import (
	"fmt"
	"reflect"
	"strings"
	"time"
	"unicode/utf8"
)

// width is that of the help, in characters.
const width = 80

// text is what --help prints.
func (n *node) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "Usage: %s\n\n%s\n", n.usage(), wrapped(n.help, 0))
	if len(n.args) > 0 {
		b.WriteString("\nArguments:\n")
		for _, v := range n.args {
			b.WriteString(v.text())
		}
	}
	b.WriteString("\nFlags:\n  -h, --help\n      Print this help.\n  --version\n      Print the version.\n")
	for _, v := range n.flags {
		b.WriteString(v.text())
	}
	if n.command != nil {
		return b.String()
	}
	b.WriteString("\nCommands:\n")
	for _, leaf := range n.leaves() {
		fmt.Fprintf(&b, "  %s\n%s\n", leaf.usage(), wrapped(leaf.help, 6))
	}
	fmt.Fprintf(&b, "\nEach says more with --help, as in: %s --help\n", n.leaves()[0].path)
	return b.String()
}

// usage is a command with what must be given.
func (n *node) usage() string {
	words := []string{n.path}
	if n.command == nil {
		words = append(words, "COMMAND")
	}
	for _, v := range n.args {
		words = append(words, v.name)
	}
	for _, v := range n.flags {
		if v.has("required") {
			words = append(words, v.summary())
		}
	}
	return strings.Join(append(words, "[flags]"), " ")
}

// summary is a flag with what stands for its value.
func (v *value) summary() string {
	if v.isBool() {
		return v.name
	}
	return v.name + "=" + v.placeholder()
}

func (v *value) placeholder() string {
	word := v.tag.Get("placeholder")
	switch {
	case word != "":
	case v.has("enum"):
		word = strings.Join(v.choices(), "|")
	case v.field.Type() == reflect.TypeFor[time.Duration]():
		word = "D"
	case v.field.CanInt():
		word = "N"
	default:
		word = "TEXT"
	}
	if v.field.Kind() == reflect.Slice && v.tag.Get("sep") != "none" {
		word += ",..."
	}
	return word
}

// text is the help's entry of a flag or an argument.
func (v *value) text() string {
	title, help := v.name, v.tag.Get("help")
	if strings.HasPrefix(title, "--") {
		title = v.summary()
	}
	if v.has("negatable") {
		title += ", --no-" + strings.TrimPrefix(v.name, "--")
	}
	var notes []string
	if text := v.tag.Get("default"); text != "" {
		notes = append(notes, "default "+text)
	}
	if variable := v.tag.Get("env"); variable != "" {
		notes = append(notes, "$"+variable)
	}
	if len(notes) > 0 {
		help += " (" + strings.Join(notes, "; ") + ")"
	}
	return fmt.Sprintf("  %s\n%s\n", title, wrapped(help, 6))
}

// wrapped breaks a text into lines that are indented.
func wrapped(text string, indent int) string {
	var b strings.Builder
	column := 0
	for word := range strings.FieldsSeq(text) {
		length := utf8.RuneCountInString(word)
		switch {
		case column == 0:
			b.WriteString(strings.Repeat(" ", indent))
			column = indent
		case column+1+length > width:
			b.WriteString("\n" + strings.Repeat(" ", indent))
			column = indent
		default:
			b.WriteByte(' ')
			column++
		}
		b.WriteString(word)
		column += length
	}
	return b.String()
}
