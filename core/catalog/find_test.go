package catalog

import (
	"fmt"
	"reflect"
	"strings"
	"sync"
	"testing"
)

// A model is found alike each time, whatever a caller writes for its name.
func TestFindRemembers(t *testing.T) {
	c := &Catalog{rows: shippedRows()}
	for _, name := range []string{
		"claude-opus-4-7", "Claude-Opus-4-7", "anthropic/claude-opus-4.7", "gpt-5-mini", "openai/gpt-5-mini", "my-own-model",
		"", "*", "claude-*", "\x00", "\xff\xfe", "a/b/c/", strings.Repeat("x", maxRememberedName), strings.Repeat("x", maxRememberedName+1), strings.Repeat("/", 1<<20),
	} {
		want := c.look(name)
		for range 3 {
			if got := c.Find(name); !reflect.DeepEqual(got, want) || got.Model != name {
				t.Errorf("%.40q: found %+v, want %+v", name, got, want)
			}
		}
		if _, kept := c.found.get(name); kept != (len(name) <= maxRememberedName) {
			t.Errorf("%.40q of %d bytes: remembered %v", name, len(name), kept)
		}
	}
}

// Callers who make names up do not grow the memory, nor keep others out of it.
func TestFindIsBounded(t *testing.T) {
	c := &Catalog{rows: shippedRows()}
	var callers sync.WaitGroup
	for caller := range 4 {
		callers.Go(func() {
			for n := range 2500 {
				c.Find(fmt.Sprintf("model-%d-%d", caller, n))
				if c.Find("claude-opus-4-7").Refuses == nil {
					t.Error("a model of the catalogue is not known")
					return
				}
			}
		})
	}
	callers.Wait()
	if n := len(c.found.rows); n > maxRemembered {
		t.Errorf("%d names are remembered, want at most %d", n, maxRemembered)
	}
	if _, kept := c.found.get("claude-opus-4-7"); !kept {
		t.Error("a model that is asked for all the time is not remembered")
	}
}

func TestFindDoesNotAllocate(t *testing.T) {
	c := &Catalog{rows: shippedRows()}
	c.Find("claude-opus-4-7")
	if n := testing.AllocsPerRun(100, func() { c.Find("claude-opus-4-7") }); n > 0 {
		t.Errorf("%v allocations for a model that is remembered", n)
	}
}

func BenchmarkFind(b *testing.B) {
	c := &Catalog{rows: shippedRows()}
	for b.Loop() {
		c.Find("claude-opus-4-7")
	}
}
