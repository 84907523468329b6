package tokens

import (
	"strings"
	"testing"
)

// Texts are counted exactly until MaxExact bytes of them were; what is behind counts as many
// tokens a byte as they had, however long it is and however little of the bound is left.
func TestCounter(t *testing.T) {
	c := Counter{bytes: MaxExact - 10, tokens: MaxExact / 4}
	if n := c.Add("two words"); n != 2 || c.bytes != MaxExact-1 {
		t.Errorf("%d tokens, %+v", n, c)
	}
	if n := c.Add("\u00e9"); n != 1 || c.bytes != MaxExact-1 {
		t.Errorf("a character that does not fit: %d tokens, %+v", n, c)
	}
	long := strings.Repeat("a", 100<<20)
	if n := c.Add(long); n < len(long)/5 || n > len(long)/3 {
		t.Errorf("%d tokens of %d bytes", n, len(long))
	}
	if n := c.Add("x"); n != 1 || c.bytes != MaxExact {
		t.Errorf("behind the bound: %d tokens, %+v", n, c)
	}
	if n := c.Add(""); n != 0 {
		t.Errorf("nothing has %d tokens", n)
	}
}

// A text that is longer than MaxExact counts about as the same text in pieces that are not.
func TestLongTexts(t *testing.T) {
	unit := "The quick brown fox isn't jumping over 1234 lazy dogs. "
	text := strings.Repeat(unit, MaxExact/len(unit)*5/4)
	want := 0
	for rest := text; rest != ""; {
		n := min(len(rest), 1000*len(unit))
		want += Count(rest[:n])
		rest = rest[n:]
	}
	if got := Count(text); got < want-want/100 || got > want+want/100 {
		t.Errorf("%d tokens, in pieces %d", got, want)
	}
}
