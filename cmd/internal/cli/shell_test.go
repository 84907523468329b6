package cli

import "testing"

// A word is quoted where a shell would take it for more than one, or for something else.
func TestShellWord(t *testing.T) {
	for word, want := range map[string]string{"it's": `'it'\''s'`, "": "''", "a b": "'a b'", "/a/b-c.d": "/a/b-c.d", "$x": "'$x'", "a\nb": "'a\nb'"} {
		if got := ShellWord(word); got != want {
			t.Errorf("%q: %s, want %s", word, got, want)
		}
	}
}
