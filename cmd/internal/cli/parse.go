package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/alecthomas/kong"
	"github.com/genway/genway/internal/amount"
)

// Program is the name, the purpose and the grammar of a program. Grammar is a pointer to a
// struct with the tags of github.com/alecthomas/kong; each of its commands implements Command.
type Program struct {
	Name, Description string
	Grammar           any
}

// Command is a command of a grammar that can be run.
type Command interface {
	Run(ctx context.Context, stdout io.Writer) error
}

// Parse reads the arguments and the environment into the grammar. It returns the command that
// they choose, or one that prints the help, the version or a completion script. An argument
// has precedence over an environment variable, and that over the default. The error is a
// UsageError and repeats no key and no value of an environment variable.
func (p Program) Parse(args []string) (Command, error) {
	for i, arg := range args {
		if !utf8.ValidString(arg) {
			return nil, UsageError{fmt.Errorf("argument %d is not UTF-8", i+1)}
		}
	}
	var out strings.Builder
	var text *string
	parser, err := p.chosen(args).parser(kong.Writers(&out, &out), kong.Exit(func(int) {
		if text == nil {
			printed := out.String()
			text = &printed
		}
	}))
	if err != nil {
		return nil, err
	}
	chosen, err := parser.Parse(args)
	if text != nil {
		return output(*text), nil
	}
	if err != nil {
		node := parser.Model.Node
		if e, ok := errors.AsType[*kong.ParseError](err); ok && e.Context != nil && e.Context.Selected() != nil {
			node = e.Context.Selected()
		}
		return nil, UsageError{fmt.Errorf("%s (see %s --help)", plainText(err), node.FullPath())}
	}
	node := parser.Model.Node
	if selected := chosen.Selected(); selected != nil {
		node = selected
	}
	if err := checkBounds(node.Flags); err != nil {
		return nil, UsageError{fmt.Errorf("%w (see %s --help)", err, node.FullPath())}
	}
	command, ok := reflect.TypeAssert[Command](node.Target.Addr())
	if !ok {
		return nil, fmt.Errorf("%s: a %s cannot run", node.FullPath(), node.Target.Type())
	}
	if configured, ok := command.(Configured); ok {
		configured.TakeSettings(settings(chosen, node))
	}
	return command, nil
}

// chosen is the program with the command alone that the first argument names, if it names one: to
// read the tags of all others is most of what parsing costs, at each start. A grammar that has
// more than commands stays whole.
func (p Program) chosen(args []string) Program {
	grammar := reflect.TypeOf(p.Grammar).Elem()
	for field := range grammar.Fields() {
		if _, isCommand := field.Tag.Lookup("cmd"); !isCommand {
			return p
		}
	}
	for field := range grammar.Fields() {
		if len(args) > 0 && args[0] == cmp.Or(field.Tag.Get("name"), strings.ToLower(field.Name)) {
			p.Grammar = reflect.New(reflect.StructOf([]reflect.StructField{{Name: field.Name, Type: field.Type, Tag: field.Tag}})).Interface()
			break
		}
	}
	return p
}

// output is a text that was asked for in place of a command.
type output string

// Run prints the text.
func (o output) Run(_ context.Context, stdout io.Writer) error {
	_, err := io.WriteString(stdout, string(o))
	return err
}

// common are the flags of every program, at every level.
type common struct {
	Version    kong.VersionFlag `help:"Print the version."`
	Completion completionFlag   `placeholder:"SHELL" help:"Print a script for tab completion: bash, zsh or fish."`
}

func (p Program) parser(options ...kong.Option) (*kong.Kong, error) {
	mappers := kong.NewRegistry().RegisterDefaults()
	parser, err := kong.New(p.Grammar, append(options,
		kong.Name(p.Name),
		kong.Description(p.Description),
		kong.Vars{"version": Version()},
		kong.Embed(&common{}),
		kong.ConfigureHelp(kong.HelpOptions{WrapUpperBound: helpWidth}),
		kong.ValueFormatter(describe),
		kong.Resolvers(environment()),
		kong.KindMapper(reflect.Slice, checked{mappers.ForType(reflect.TypeFor[[]string]())}),
		kong.TypeMapper(reflect.TypeFor[time.Duration](), durations{}),
		kong.NamedMapper(numberOfBytes, byteCounts{}),
		kong.NamedMapper(existingFile, checked{mappers.ForNamedType(existingFile, reflect.TypeFor[string]())}),
	)...)
	if err != nil {
		return nil, err
	}
	return parser, kong.Visit(parser.Model, withoutEnvironment)
}

// Model returns the commands, flags and arguments of the program.
func (p Program) Model() (*kong.Application, error) {
	parser, err := p.parser()
	if err != nil {
		return nil, err
	}
	return parser.Model, nil
}

// checked is one of kong's mappers with clearer errors.
type checked struct{ kong.Mapper }

// Decode fails where kong would take the next flag for a missing value, and names files that
// do not exist as they are written.
func (c checked) Decode(ctx *kong.DecodeContext, target reflect.Value) error {
	next := ctx.Scan.Peek()
	if !next.IsEOL() && !next.IsValue() {
		return fmt.Errorf("its value is missing; write %s=VALUE for a value that begins with -", ctx.Value.ShortSummary())
	}
	if ctx.Value.Tag.Type == existingFile && target.Kind() == reflect.String && !next.IsEOL() && next.String() == "" {
		return errors.New(`expected the name of a file but got ""`)
	}
	err := c.Mapper.Decode(ctx, target)
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return fmt.Errorf("%q: %w", next.String(), e.Err)
	}
	return err
}

// durations reads durations, which need a unit.
type durations struct{}

// Decode sets the target to the next value.
func (durations) Decode(ctx *kong.DecodeContext, target reflect.Value) error {
	var text string
	if err := ctx.Scan.PopValueInto("duration", &text); err != nil {
		return err
	}
	d, err := amount.Duration(text)
	if err != nil {
		return err //nolint:wrapcheck // it says what to write
	}
	target.SetInt(int64(d))
	return nil
}

// numberOfBytes is the type, in a tag, of a flag that is a number of bytes.
const numberOfBytes = "bytes"

// byteCounts reads numbers of bytes, with a unit or without.
type byteCounts struct{}

// Decode sets the target to the next value.
func (byteCounts) Decode(ctx *kong.DecodeContext, target reflect.Value) error {
	var text string
	if err := ctx.Scan.PopValueInto(numberOfBytes, &text); err != nil {
		return err
	}
	n, err := amount.Bytes(text)
	if err != nil {
		return err //nolint:wrapcheck // it says what to write
	}
	target.SetInt(n)
	return nil
}

// existingFile is the type, in a tag, of a flag that names a file.
const existingFile = "existingfile"

// helpWidth is the most columns of the help; a narrower terminal has fewer.
const helpWidth = 110

// describe returns the help of a flag or an argument, with its default, its values unless the help has them, and its variable.
func describe(v *kong.Value) string {
	var notes []string
	if v.Flag != nil && v.HasDefault && v.Default != "" && v.Flag.PlaceHolder != "" {
		notes = append(notes, "default "+v.Default)
	}
	if v.Enum != "" && (v.Flag == nil || v.Flag.PlaceHolder == "") && !namesEach(v.Help, v.EnumSlice()) {
		notes = append(notes, "one of "+strings.Join(v.EnumSlice(), ", "))
	}
	if v.Flag != nil {
		for _, variable := range v.Flag.Envs {
			notes = append(notes, "$"+variable)
		}
	}
	if len(notes) == 0 {
		return v.Help
	}
	return v.Help + " (" + strings.Join(notes, "; ") + ")"
}

// namesEach reports whether a help has each of the values.
func namesEach(help string, values []string) bool {
	for _, value := range values {
		if !regexp.MustCompile(`\b` + regexp.QuoteMeta(value) + `\b`).MatchString(help) {
			return false
		}
	}
	return true
}

var (
	missingValue = regexp.MustCompile(`(expected \w+ value but got "EOL" \(<EOL>\)|missing value, expecting .*)$`)
	// keyText is a word of an error that holds a key, keyInLine a key in a line of the log. Keys begin with gwk_, as core/keys says,
	// which the edge must not import.
	keyPrefix = []byte("gwk_")
	keyInLine = regexp.MustCompile(`gwk_[0-9A-Za-z_]+`)
	keyText   = regexp.MustCompile(`"?[^\s"(]*gwk_[^\s")]*"?`)
)

// plainText returns the text of a parser's error without keys.
func plainText(err error) string {
	text := missingValue.ReplaceAllString(err.Error(), "its value is missing")
	return keyText.ReplaceAllString(text, redacted)
}

// redacted replaces in errors what they must not repeat.
const redacted = "[REDACTED]"

// checkBounds fails when a number or a duration among the flags is beyond its bounds, which are
// tags of its field, in the notation of the flag:
//
//	least:"1s"     its least value
//	most:"2160h"   its greatest value
//	or:"0"         a value that is good beside them
//
// The error names the flag and its environment variable. A pointer that is nil was not given
// and is good.
func checkBounds(flags []*kong.Flag) error {
	for _, flag := range flags {
		value := flag.Target
		if value.Kind() == reflect.Pointer {
			value = value.Elem()
		}
		if !value.IsValid() || !flag.Tag.Has("least") && !flag.Tag.Has("most") {
			continue
		}
		given := value.Int()
		tooSmall := flag.Tag.Has("least") && given < flagAmount(value.Type(), flag.Tag.Get("least"))
		tooLarge := flag.Tag.Has("most") && given > flagAmount(value.Type(), flag.Tag.Get("most"))
		if !tooSmall && !tooLarge || flag.Tag.Has("or") && given == flagAmount(value.Type(), flag.Tag.Get("or")) {
			continue
		}
		name := flag.ShortSummary()
		if len(flag.Envs) > 0 {
			name += " (" + flag.Envs[0] + ")"
		}
		return fmt.Errorf("%s: expected %s, got %v", name, expected(flag.Tag), value.Interface())
	}
	return nil
}

// flagAmount reads a bound. A bound that cannot be read is a mistake of the grammar.
func flagAmount(t reflect.Type, text string) int64 {
	if t == reflect.TypeFor[time.Duration]() {
		d, err := amount.Duration(text)
		if err != nil {
			panic(err)
		}
		return int64(d)
	}
	n, err := amount.Bytes(text) // a number without a unit is one
	if err != nil {
		panic(err)
	}
	return n
}

// expected says which values a flag may have.
func expected(tag *kong.Tag) string {
	least, most := tag.Get("least"), tag.Get("most")
	text := "at least " + least + " and at most " + most
	switch {
	case most == "":
		text = "at least " + least
	case least == "":
		text = "at most " + most
	}
	if tag.Has("or") {
		return tag.Get("or") + ", or " + text
	}
	return text
}

// environment resolves flags that no argument sets to the values of their variables. A
// variable that is set to nothing is an empty value. Its errors repeat a value only if it
// looks like a number: anything else may be a secret in the wrong variable.
func environment() kong.Resolver {
	return kong.ResolverFunc(func(_ *kong.Context, _ *kong.Path, flag *kong.Flag) (any, error) {
		for _, variable := range flag.Envs {
			text, ok := os.LookupEnv(variable)
			if !ok {
				continue
			}
			err := accepts(flag, text)
			if !utf8.ValidString(text) {
				err = errors.New("it is not UTF-8")
			}
			if err != nil {
				return nil, fmt.Errorf("%w (from %s)", withoutValue(err, text), variable)
			}
			return text, nil
		}
		return nil, nil
	})
}

// withoutEnvironment hides the variables of a flag from kong, whose own errors repeat their
// values, and which reads them even if an argument sets the flag.
func withoutEnvironment(node kong.Visitable, next kong.Next) error {
	if flag, ok := node.(*kong.Flag); ok {
		flag.Tag.Envs = nil
	}
	return next(nil)
}

// accepts returns an error unless a flag can be set to the text.
func accepts(flag *kong.Flag, text string) error {
	if flag.Enum != "" && !flag.IsSlice() && !slices.Contains(flag.EnumSlice(), text) {
		return fmt.Errorf("must be one of %s but got %q", strings.Join(flag.EnumSlice(), ", "), text)
	}
	value := kong.Token{Value: text, Type: kong.FlagValueToken}
	return flag.Mapper.Decode(&kong.DecodeContext{Value: flag.Value, Scan: kong.ScanFromTokens(value)}, reflect.New(flag.Target.Type()).Elem())
}

// withoutValue returns an error about a value without the value, unless it is a figure.
func withoutValue(err error, text string) error {
	if isFigure(text) {
		return err
	}
	shown := err.Error()
	for _, part := range append([]string{text}, kong.SplitEscaped(text, ',')...) {
		if part == "" {
			continue
		}
		shown = strings.ReplaceAll(shown, strconv.Quote(part), redacted)
		if strings.Contains(shown, part) {
			return errors.New("its value is not valid")
		}
	}
	return errors.New(shown)
}

// isFigure reports whether a text is a number, with a unit or without, or an address: digits,
// and at most three letters.
func isFigure(text string) bool {
	letters, digits := 0, 0
	for _, c := range text {
		switch {
		case c >= '0' && c <= '9':
			digits++
		case strings.ContainsRune("+-.:/_ ", c):
		case unicode.IsLetter(c) && letters < 3:
			letters++
		default:
			return false
		}
	}
	return digits > 0 && len(text) <= 40
}

// Configured is a command that wants to know where the values of its flags are from.
type Configured interface {
	// TakeSettings is called once, before Run.
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
