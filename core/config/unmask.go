package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"strings"

	"github.com/genway/genway/core/config/strict"
	"github.com/goccy/go-yaml"
)

// errUnmask is a text whose masked values are not known.
var errUnmask = errors.New("a value is " + masked + " where the file has none at the same place; write it out, or as ${NAME}")

// written is how masked is written in YAML.
var written = regexp.MustCompile(`"\(masked\)"|'\(masked\)'|\(masked\)`)

// Unmask undoes Masked: it returns a text in which each masked value is what a file's text has at the
// same place, on the same line. secrets are those values, as they are written. Both texts must be
// YAML; neither is shown in an error.
func Unmask(text, file []byte) (whole []byte, secrets []string, err error) {
	shown, err := ordered(text)
	if err != nil {
		return nil, nil, err
	}
	actual, err := ordered(file)
	if err != nil {
		return nil, nil, err
	}
	filled, values, err := unmask(shown, actual)
	if err != nil {
		return nil, nil, err
	}
	// The values are in the order of the text. Where it has more, as in a comment, it is not known which
	// is which.
	if n := len(written.FindAllIndex(text, -1)); n != len(values) {
		return nil, nil, errors.New(masked + " is no value in some place, such as a comment; leave it out there")
	}
	whole = written.ReplaceAllFunc(text, func([]byte) []byte {
		value := values[0]
		values = values[1:]
		secrets = append(secrets, value)
		return []byte(value)
	})
	if got, err := ordered(whole); err != nil || !reflect.DeepEqual(got, filled) {
		return nil, nil, errors.New("the masked values do not fit where they are; write them out, or as ${NAME}")
	}
	return whole, secrets, nil
}

// ordered reads YAML with its members in their order.
func ordered(text []byte) (any, error) {
	body, err := strict.Value("", text)
	if err != nil {
		return nil, errors.New("it is no YAML")
	}
	return body, nil
}

// unmask returns a value without masks, and what it has put in, in order and as JSON, which is YAML.
func unmask(shown, from any) (filled any, values []string, err error) {
	switch v := shown.(type) {
	case yaml.MapSlice:
		before, _ := from.(yaml.MapSlice)
		all := make(yaml.MapSlice, len(v))
		for i, item := range v {
			var there any
			for _, b := range before {
				if reflect.DeepEqual(b.Key, item.Key) {
					there = b.Value
				}
			}
			all[i].Key = item.Key
			var more []string
			if all[i].Value, more, err = unmask(item.Value, there); err != nil {
				return nil, nil, err
			}
			values = append(values, more...)
		}
		return all, values, nil
	case []any:
		before, _ := from.([]any)
		all := make([]any, len(v))
		for i, item := range v {
			var there any
			if len(before) == len(v) { // else it is not known which one it was
				there = before[i]
			}
			var more []string
			if all[i], more, err = unmask(item, there); err != nil {
				return nil, nil, err
			}
			values = append(values, more...)
		}
		return all, values, nil
	case string:
		if v != masked {
			return v, nil, nil
		}
		switch from.(type) {
		case nil, yaml.MapSlice, []any:
			return nil, nil, errUnmask
		}
		text, err := json.Marshal(from)
		if err != nil {
			return nil, nil, fmt.Errorf("config: %w", err)
		}
		return from, []string{string(text)}, nil
	}
	return shown, nil, nil
}

// Hide masks values that Unmask has put in, in a text such as an error.
func Hide(text string, secrets []string) string {
	for _, secret := range secrets {
		for _, form := range []string{secret, strings.Trim(secret, `"`)} {
			if form != "" {
				text = strings.ReplaceAll(text, form, masked)
			}
		}
	}
	return text
}
