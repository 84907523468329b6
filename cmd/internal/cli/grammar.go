package cli

import (
	"context"
	"fmt"
	"io"
	"reflect"
	"strings"
	"unicode"
)

// Program is a program's name, what it is for, and its grammar: a pointer to a struct
// whose fields are its flags, arguments and commands, by their tags:
//
//	cmd:""              a command or a group of them: a struct; its name is the field's
//	arg:""              an argument, which must be given
//	name:"NAME"         a flag's name, in place of the field's in kebab-case
//	help:"TEXT"         what it is or does
//	placeholder:"WORD"  what the help says for the value
//	env:"VARIABLE"      where a flag's value is taken from if it is not given
//	default:"VALUE"     its value where neither is
//	required:""         it must be given, by itself or in the environment
//	enum:"A,B"          all values it may have
//	xor:"WORD"          only one of the flags with that word may be given
//	negatable:""        a bool has --no-NAME as well
//	type:"existingfile" it names a file that is there, or is -
//	sep:"none"          a list is not split at commas
//
// A field that is a pointer stays nil where nothing is given. A struct without a name
// lends its fields.
type Program struct {
	Name, Description string
	Grammar           any
}

// Command is a struct of a grammar that can be chosen.
type Command interface {
	Run(ctx context.Context, stdout io.Writer) error
}

// node is a command or a group of them.
type node struct {
	path, help string
	names      []string // of children
	children   []*node
	command    Command // nil for a group
	flags      []*value
	args       []*value
}

func newNode(path, help string, v reflect.Value) *node {
	n := &node{path: path, help: help}
	n.read(v)
	if len(n.children) == 0 {
		command, ok := reflect.TypeAssert[Command](v.Addr())
		if !ok {
			panic(fmt.Sprintf("%s: a %s cannot run", path, v.Type()))
		}
		n.command = command
	}
	return n
}

func (n *node) read(v reflect.Value) {
	for i := range v.NumField() {
		field := v.Type().Field(i)
		name, ok := field.Tag.Lookup("name")
		if !ok {
			name = kebab(field.Name)
		}
		one := &value{name: "--" + name, tag: field.Tag, field: v.Field(i)}
		switch {
		case field.Anonymous:
			n.read(v.Field(i))
		case !field.IsExported():
		case one.has("cmd"):
			n.names = append(n.names, name)
			n.children = append(n.children, newNode(n.path+" "+name, field.Tag.Get("help"), v.Field(i)))
		case one.has("arg"):
			one.name = "<" + name + ">"
			n.args = append(n.args, one)
		default:
			n.flags = append(n.flags, one)
		}
	}
}

func (n *node) child(name string) *node {
	for i, child := range n.children {
		if n.names[i] == name {
			return child
		}
	}
	return nil
}

// leaves are the commands of a group, in the groups within it as well.
func (n *node) leaves() []*node {
	if n.command != nil {
		return []*node{n}
	}
	var all []*node
	for _, child := range n.children {
		all = append(all, child.leaves()...)
	}
	return all
}

// kebab writes TextModel as text-model.
func kebab(name string) string {
	var b strings.Builder
	for i, c := range name {
		if i > 0 && unicode.IsUpper(c) {
			b.WriteByte('-')
		}
		b.WriteRune(unicode.ToLower(c))
	}
	return b.String()
}
