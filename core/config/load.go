package config

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/genway/genway/core/config/strict"
	"github.com/genway/genway/internal/smallfile"
	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
)

// Error is what is wrong with a file, and where.
type Error = strict.Error

// Errors are all that is wrong with a file.
type Errors = strict.Errors //nolint:errname // a list, as its original

// Load reads and checks a file. ${NAME} in a value is taken from the environment;
// a name that is not set is an error, $$ is a dollar sign. Unknown keys, wrong types
// and references to nothing are *Error values, all of them together Errors.
//
// Without getenv, placeholders stay as they are, and what depends on their values is not
// checked; nor are files that are missing a mistake. Such a configuration is only for
// checking.
//
// Relative paths in the file begin at its own directory, except the path of an SQLite store, which
// begins at the working directory.
func Load(file string, getenv func(string) (string, bool)) (*Config, error) {
	text, err := os.ReadFile(file) //nolint:gosec // the operator names the file
	if err != nil {
		return nil, fmt.Errorf("config: %w", err)
	}
	return Parse(file, text, getenv)
}

// noRoutes is what a file lacks that was emptied, or is still being written.
const noRoutes = "there are no routes in it, so nothing would be served; leave the file out to be served by the sandbox"

// Parse is Load of a text; file names it in errors.
func Parse(file string, text []byte, getenv func(string) (string, bool)) (*Config, error) {
	return parse(file, text, getenv, true)
}

// ParseAlone is Parse without an environment, and without reading the files that the text names: its errors are about the text alone.
func ParseAlone(file string, text []byte) (*Config, error) { return parse(file, text, nil, false) }

func parse(file string, text []byte, getenv func(string) (string, bool), files bool) (*Config, error) {
	body, err := strict.Parse(file, text)
	if err != nil {
		return nil, err
	}
	if body == nil {
		return nil, &Error{File: file, Text: noRoutes}
	}
	if whose := foreignFile(body); whose != "" {
		return nil, &Error{File: file, Text: "this is a configuration of " + whose}
	}
	problems := strict.NewProblems(file, body)
	problems.Absent, problems.Advise = getenv == nil, advise
	ast.Walk(&expander{file: file, getenv: getenv, problems: problems}, body)
	var config *Config
	if problems.Decode(func() any { config = &Config{}; return config }) {
		config.resolve(filepath.Dir(file))
		config.settle()
		problems.Add(config.Validate())
		if files {
			problems.Add(readFiles(config))
		}
		config.findWarnings(file, body)
		if len(config.Routes) == 0 && problems.Err() == nil {
			problems.Add(&Error{File: file, Text: noRoutes})
		}
	}
	if err := problems.Err(); err != nil {
		return nil, err
	}
	return config, nil
}

// resolve has relative paths begin at the directory of the file that names them.
func (c *Config) resolve(dir string) {
	from := func(path *string) {
		if *path != "" && !filepath.IsAbs(*path) {
			*path = filepath.Join(dir, *path)
		}
	}
	from(&c.Prices)
	from(&c.Catalog)
	if oidc := c.OIDC(); oidc != nil {
		from(&oidc.ClientSecretFile)
	}
	if c.Captures != nil {
		from(&c.Captures.KeyFile)
	}
	for name, u := range c.Upstreams {
		from(&u.APIKeyFile)
		from(&u.CAFile)
		from(&u.CertFile)
		from(&u.KeyFile)
		for _, file := range u.Auth.files() {
			from(file)
		}
		c.Upstreams[name] = u
	}
}

// expander replaces ${NAME} in the tree's strings.
type expander struct {
	file     string
	getenv   func(string) (string, bool) // nil leaves placeholders as they are
	problems *strict.Problems
}

var variable = regexp.MustCompile(`\$\$|\$\{([A-Za-z_][A-Za-z0-9_]*)\}`)

func (x *expander) Visit(node ast.Node) ast.Visitor {
	s, ok := node.(*ast.StringNode)
	if !ok {
		return x
	}
	at := s.GetToken().Position
	add := func(format string, args ...any) {
		x.problems.Add(&Error{File: x.file, Line: at.Line, Column: at.Column, Text: fmt.Sprintf(format, args...)})
	}
	if m := foreignVariable.FindStringSubmatch(s.Value); m != nil {
		add("%s is not replaced; write ${%s} for the value of that environment variable", s.Value, m[1])
		x.problems.Unknown(s)
		return x
	}
	unknown, written := false, s.Value
	s.Value = variable.ReplaceAllStringFunc(s.Value, func(match string) string {
		if match == "$$" {
			return "$"
		}
		name := match[2 : len(match)-1]
		if x.getenv != nil {
			if value, set := x.getenv(name); set {
				return value
			}
			add("the environment variable %s is not set", name)
		}
		unknown = true
		return match
	})
	if s.Value == "" && written != "" {
		add("%s is empty; set the variable, or leave the key out", written)
		unknown = true
	}
	if unknown {
		x.problems.Unknown(s)
	}
	return x
}

// readFiles reads the files that keys and certificates are kept in. The error joins the errors of all files.
func readFiles(config *Config) error {
	var all checks
	for _, name := range slices.Sorted(maps.Keys(config.Upstreams)) {
		u := config.Upstreams[name]
		u.checkCertificates(&all, "$.upstreams."+quoted(name))
		if u.APIKeyFile == "" {
			continue
		}
		secret, err := ReadSecret(u.APIKeyFile)
		if err != nil {
			all.add(strict.Because(err, "$.upstreams."+quoted(name)+".api_key_file", "%v", err))
			continue
		}
		u.APIKey = secret
		config.Upstreams[name] = u
	}
	if oidc := config.OIDC(); oidc != nil {
		if _, err := oidc.Secret(); err != nil {
			all.add(strict.Because(err, "$.console.oidc.client_secret_file", "%v", err))
		}
	}
	all.add(readRing(config))
	return errors.Join(all...)
}

// maxSecret bounds a file with a key, in bytes.
const maxSecret = 64 << 10

// ReadSecret reads a file with a key. Spaces and line ends around the key are none of it;
// within it there may be none, since it goes into a header. The error never has the key.
func ReadSecret(file string) (string, error) {
	text, err := smallfile.Read(file, maxSecret)
	if err != nil {
		return "", err //nolint:wrapcheck // it names the file
	}
	secret := strings.TrimSpace(strings.TrimPrefix(string(text), "\ufeff"))
	switch {
	case len(text) > maxSecret:
		return "", fmt.Errorf("%s has more than %d bytes, which no key has", file, maxSecret)
	case secret == "":
		return "", fmt.Errorf("%s is empty", file)
	case !sendable(secret):
		return "", fmt.Errorf("%s holds more than one line, or characters that no header can hold", file)
	}
	return secret, nil
}

// sendable reports whether a key can be the value of a header: characters that can be
// seen, and spaces between them.
func sendable(key string) bool {
	return !strings.ContainsFunc(key, func(c rune) bool { return c < ' ' || c == 0x7f })
}

// LoadStore reads only the file's store, for commands that need nothing else of it:
// the rest is not checked, and its environment variables need not be set. Empty where
// the file has none.
func LoadStore(file string, getenv func(string) (string, bool)) (string, error) {
	text, err := os.ReadFile(file) //nolint:gosec // the operator names the file
	if err != nil {
		return "", fmt.Errorf("config: %w", err)
	}
	body, err := strict.Parse(file, text)
	if err != nil || body == nil {
		return "", err
	}
	at, err := yaml.PathString("$.store")
	if err != nil {
		return "", err
	}
	node, err := at.FilterNode(body)
	if err != nil || node == nil {
		return "", nil //nolint:nilerr // what is no mapping, or has no such key, has no store
	}
	problems := strict.NewProblems(file, body)
	ast.Walk(&expander{file: file, getenv: getenv, problems: problems}, node)
	if err := problems.Err(); err != nil {
		return "", err
	}
	var location string
	if err := strict.Decode(file, node, &location); err != nil {
		return "", err
	}
	if err := checkStore(location); err != nil {
		return "", strict.Locate(file, body, err)
	}
	return location, nil
}

// checkStore does not repeat the value, which may have a password.
func checkStore(location string) error {
	if err := checkPath("store", location); err != nil {
		return err
	}
	kind, _, isURL := strings.Cut(location, "://")
	if location != "" && strings.TrimSpace(location) == "" || isURL && kind != "postgres" && kind != "postgresql" {
		return wrong("$.store", "expected postgres://USER:PASSWORD@HOST:PORT/DATABASE, or the path of a file")
	}
	return nil
}

// checkPath refuses what names no file, by its key.
func checkPath(key, path string) error {
	if strings.ContainsFunc(path, unicode.IsControl) {
		return wrong("$."+key, "control characters are no part of a file's name")
	}
	return nil
}
