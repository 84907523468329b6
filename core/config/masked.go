package config

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"

	"github.com/genway/genway/core/config/strict"
	"github.com/goccy/go-yaml"
)

// masked stands for a value that may be a secret.
const masked = "(masked)"

// secrets are the keys whose values may be secrets, with all that is below them.
var secrets = map[string]bool{
	"api_key": true, "client_secret": true, "access_key_id": true, "secret_access_key": true, "session_token": true,
	"headers": true, "query": true, "run": true,
}

// reference is a value that the environment has.
var reference = regexp.MustCompile(`^(\$\{[A-Za-z_][A-Za-z0-9_]*\})+$`)

// Masked returns a file without its comments, in which each value that may be a secret is
// replaced. References to the environment stay as they are.
func Masked(file string) ([]byte, error) {
	text, err := os.ReadFile(file) //nolint:gosec // the operator names the file
	if err != nil {
		return nil, fmt.Errorf("config: %s cannot be read", file)
	}
	shown, err := MaskedText(text)
	if err != nil {
		return nil, fmt.Errorf("config: %s %w", file, err)
	}
	return shown, nil
}

// MaskedText is Masked of a file's text.
func MaskedText(text []byte) ([]byte, error) {
	body, err := strict.Value("", text)
	mapping, is := body.(yaml.MapSlice)
	if err != nil || !is && body != nil {
		return nil, errors.New("is no YAML") // the error would show the text
	}
	shown, err := yaml.Marshal(mask(mapping, false))
	if err != nil {
		return nil, errors.New("cannot be shown")
	}
	return shown, nil
}

// mask masks what is below a key that may be a secret, and addresses with more than an address
// in them.
func mask(value any, secret bool) any {
	switch v := value.(type) {
	case yaml.MapSlice:
		for i := range v {
			name, _ := v[i].Key.(string)
			v[i].Value = mask(v[i].Value, secret || secrets[name])
		}
	case []any:
		for i := range v {
			v[i] = mask(v[i], secret)
		}
	case string:
		switch {
		case reference.MatchString(v):
		case secret, strings.ContainsAny(v, "@?") && strings.Contains(v, ":"):
			return masked
		}
	case nil:
	default:
		if secret {
			return masked
		}
	}
	return value
}
