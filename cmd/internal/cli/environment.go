package cli

import (
	"errors"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/alecthomas/kong"
)

// environment resolves flags that no argument gives to the values of their variables. A
// variable that is set to nothing gives an empty value. Its errors repeat a value only if it
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
// values, and which reads them even where an argument gives the flag.
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
