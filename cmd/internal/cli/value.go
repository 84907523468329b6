package cli

import (
	"encoding"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
)

// value is a field that a flag or an argument fills in: a pflag.Value.
type value struct {
	name  string // as people write it
	tag   reflect.StructTag
	field reflect.Value
	given bool // in the arguments or the environment
	quiet bool // errors do not repeat what was read
}

// keyPrefix begins every key, as core/keys says: the edge must not import that.
const keyPrefix = "gwk_"

func (v *value) has(tag string) bool {
	_, ok := v.tag.Lookup(tag)
	return ok
}

// Set is called for each time that the arguments give the value. Members of a list add up.
func (v *value) Set(text string) error {
	if err := v.set(text, !v.given); err != nil {
		return fmt.Errorf("%s: %w", v.name, err)
	}
	v.given = true
	return nil
}

// String and Type are for pflag's own help, which is not printed.
func (v *value) String() string { return "" }
func (v *value) Type() string   { return "" }

// fallBack sets a flag that was not given to what its variable says, else its default. A
// variable that is empty says so. Errors do not repeat what a variable holds: it may be a
// secret that belongs elsewhere.
func (v *value) fallBack() error {
	if v.given {
		return nil
	}
	if variable := v.tag.Get("env"); variable != "" {
		if text, ok := os.LookupEnv(variable); ok {
			v.quiet = true
			if err := v.set(text, true); err != nil {
				return fmt.Errorf("%s: %w (from %s)", v.name, err, variable)
			}
			v.given = true
			return nil
		}
	}
	if text, ok := v.tag.Lookup("default"); ok {
		if err := v.set(text, true); err != nil {
			panic(fmt.Sprintf("%s: its default: %v", v.name, err))
		}
	}
	return nil
}

func (v *value) set(text string, first bool) error {
	field := v.field
	if field.Kind() == reflect.Pointer {
		field.Set(reflect.New(field.Type().Elem()))
		field = field.Elem()
	}
	if field.Kind() != reflect.Slice {
		return v.told(v.read(field, text), text)
	}
	if first {
		field.Set(reflect.MakeSlice(field.Type(), 0, 1)) // given empty is not nil
	}
	members := []string{text}
	if v.tag.Get("sep") != "none" {
		members = SplitList(text)
	}
	for _, member := range members {
		to := reflect.New(field.Type().Elem()).Elem()
		if err := v.read(to, member); err != nil {
			return v.told(err, member)
		}
		field.Set(reflect.Append(field, to))
	}
	return nil
}

// told is an error about a text without the text, where that must not be repeated.
func (v *value) told(err error, text string) error {
	if err == nil || text == "" || !v.quiet && !strings.Contains(text, keyPrefix) {
		return err
	}
	said := strings.ReplaceAll(err.Error(), strconv.Quote(text), "[REDACTED]")
	if strings.Contains(said, text) {
		said = "its value is not valid"
	}
	return errors.New(said)
}

// read reads one text into a field that is no list and no pointer.
func (v *value) read(to reflect.Value, text string) error {
	if enum := v.choices(); enum != nil && !slices.Contains(enum, text) {
		return fmt.Errorf("expected one of %s, got %q", strings.Join(enum, ", "), text)
	}
	if v.tag.Get("type") == "existingfile" {
		path, err := existing(text)
		to.SetString(path)
		return err
	}
	if to.Type() == reflect.TypeFor[time.Duration]() {
		d, err := time.ParseDuration(text)
		if err != nil {
			return fmt.Errorf("expected a duration, as 90s, 20m or 24h, got %q", text)
		}
		to.SetInt(int64(d))
		return nil
	}
	if u, ok := reflect.TypeAssert[encoding.TextUnmarshaler](to.Addr()); ok {
		return u.UnmarshalText([]byte(text))
	}
	switch to.Kind() {
	case reflect.String:
		to.SetString(text)
	case reflect.Bool:
		yes, err := parseBool(text)
		to.SetBool(yes)
		return err
	case reflect.Int, reflect.Int64:
		n, err := strconv.ParseInt(text, 0, to.Type().Bits())
		if err != nil {
			return fmt.Errorf("expected a whole number of %d bits, got %q", to.Type().Bits(), text)
		}
		to.SetInt(n)
	default:
		panic(fmt.Sprintf("%s: a %s cannot be read", v.name, to.Type()))
	}
	return nil
}

func (v *value) choices() []string {
	if !v.has("enum") {
		return nil
	}
	return strings.Split(v.tag.Get("enum"), ",")
}

func (v *value) isBool() bool {
	return v.field.Kind() == reflect.Bool || v.field.Kind() == reflect.Pointer && v.field.Type().Elem().Kind() == reflect.Bool
}

func parseBool(text string) (bool, error) {
	switch strings.ToLower(text) {
	case "true", "1", "yes":
		return true, nil
	case "false", "0", "no":
		return false, nil
	}
	return false, fmt.Errorf("expected true or false, got %q", text)
}

// existing makes the path of a file absolute, and fails where there is no such file. A
// shell leaves the ~ of --flag=~/file to us.
func existing(text string) (string, error) {
	if text == "-" {
		return text, nil
	}
	path := text
	if home, err := os.UserHomeDir(); err == nil && strings.HasPrefix(text, "~/") {
		path = home + text[1:]
	}
	info, err := os.Stat(path) //nolint:gosec // whoever runs the command names the file
	if pathError, ok := errors.AsType[*fs.PathError](err); ok {
		return "", fmt.Errorf("%q: %w", text, pathError.Err)
	}
	if err != nil {
		return "", err
	}
	if info.IsDir() {
		return "", fmt.Errorf("%q is a directory", text)
	}
	return filepath.Abs(path)
}

// SplitList splits at commas; one within a member is written \,. Nothing is behind a
// comma at the end.
func SplitList(text string) []string {
	var members []string
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		switch {
		case text[i] == ',':
			members = append(members, b.String())
			b.Reset()
			continue
		case text[i] == '\\' && i+1 < len(text) && text[i+1] == ',':
			i++
		case text[i] == '\\' && i+1 < len(text):
			b.WriteByte('\\')
			i++
		}
		b.WriteByte(text[i])
	}
	if b.Len() > 0 {
		members = append(members, b.String())
	}
	return members
}
