package foreign

import (
	"regexp"
	"strings"
)

// reference is a variable of the environment as others write it, which has the secrets of the source.
var reference = regexp.MustCompile(`^(?:os\.environ/|env\.)([A-Za-z_][A-Za-z0-9_]*)$`)

// placeholder returns a text with the variable that it refers to; false for a text that refers to none.
func placeholder(text string) (string, bool) {
	if of := reference.FindStringSubmatch(text); of != nil {
		return "${" + of[1] + "}", true
	}
	return strings.ReplaceAll(text, "$", "$$"), false
}

// secret returns a placeholder for a secret: of the variable that the source has it from, or of one that the operator
// has to set, since no secret is copied.
func (b *builder) secret(n *node, name string) string {
	text, refers := placeholder(n.value())
	if refers {
		b.sayf(n, Exact, "%s", text)
		return text
	}
	b.sayf(n, Manual, "it is a secret in the file, which is not copied: set the variable %s to it", name)
	return "${" + name + "}"
}

// plain returns a text that is no secret.
func (b *builder) plain(n *node) string {
	text, _ := placeholder(n.value())
	return text
}
