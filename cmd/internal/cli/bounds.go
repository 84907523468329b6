package cli

import (
	"fmt"
	"reflect"
	"strconv"
	"time"

	"github.com/alecthomas/kong"
)

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
		d, err := time.ParseDuration(text)
		if err != nil {
			panic(err)
		}
		return int64(d)
	}
	n, err := strconv.ParseInt(text, 10, 64)
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
