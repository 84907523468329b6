package arena

import (
	"context"
	"testing"

	"pgregory.net/rapid"
)

func TestTiers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(Least, most).Draw(t, "n")
		tier, size := tierOf(n)
		if size < n || size-n > n/4 {
			t.Errorf("%d bytes get %d", n, size)
		}
		if again, same := tierOf(size); again != tier || same != size {
			t.Errorf("memory of tier %d with %d bytes goes back to tier %d with %d", tier, size, again, same)
		}
	})
}

// No two calls have the same memory, and within a call no two bodies.
func TestMemoryIsOfOneCall(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		type piece struct {
			b    []byte
			mark byte
		}
		arenas, pieces := map[int]*Arena{}, map[int][]piece{}
		t.Repeat(map[string]func(*rapid.T){
			"make": func(t *rapid.T) {
				call, n := rapid.IntRange(0, 3).Draw(t, "call"), rapid.IntRange(Least-1, 3*Least).Draw(t, "n")
				if arenas[call] == nil {
					arenas[call] = new(Arena)
				}
				p := piece{arenas[call].Make(n), byte(rapid.IntRange(0, 255).Draw(t, "mark"))}
				if len(p.b) != n || cap(p.b) != n {
					t.Fatalf("%d of %d bytes in place of %d", len(p.b), cap(p.b), n)
				}
				p.b[0], p.b[n/2], p.b[n-1] = p.mark, p.mark, p.mark
				pieces[call] = append(pieces[call], p)
			},
			"grow": func(t *rapid.T) {
				call := rapid.IntRange(0, 3).Draw(t, "call")
				all := pieces[call]
				if len(all) == 0 {
					return
				}
				last := all[len(all)-1]
				n := len(last.b) + rapid.SampledFrom([]int{1, Least, most}).Draw(t, "more")
				larger := arenas[call].Grow(last.b, n)
				if len(larger) != n || larger[0] != last.mark {
					t.Fatalf("%d of %d bytes, beginning with %d in place of %d", len(larger), n, larger[0], last.mark)
				}
				larger[0], larger[n/2], larger[n-1] = last.mark, last.mark, last.mark
				all[len(all)-1] = piece{larger, last.mark}
			},
			"free": func(t *rapid.T) {
				call := rapid.IntRange(0, 3).Draw(t, "call")
				arenas[call].Free()
				if arenas[call].Used() {
					t.Fatal("there is memory in an arena that is free")
				}
				delete(pieces, call)
			},
			"": func(t *rapid.T) {
				for call, all := range pieces {
					for _, p := range all {
						if n := len(p.b); p.b[0] != p.mark || p.b[n/2] != p.mark || p.b[n-1] != p.mark {
							t.Fatalf("memory of call %d was given to another", call)
						}
					}
				}
			},
		})
	})
}

// What is held for a call is released once, however its memory ends.
func TestHold(t *testing.T) {
	for name, end := range map[string]func(*Arena){"free": (*Arena).Free, "drop": (*Arena).Drop} {
		a, released := new(Arena), 0
		a.Make(Least)
		for range 2 {
			if !a.Hold(func() { released++ }) {
				t.Errorf("%s: it is not held", name)
			}
		}
		end(a)
		a.Free()
		a.Drop()
		if released != 2 || a.Used() {
			t.Errorf("%s: released %d times, used %v", name, released, a.Used())
		}
	}
	var none *Arena
	none.Drop()
	if none.Hold(func() { t.Error("called") }) {
		t.Error("no arena holds")
	}
}

func TestArenaOfContext(t *testing.T) {
	a := new(Arena)
	if got := Of(With(context.Background(), a)); got != a {
		t.Errorf("got %p, want %p", got, a)
	}
	none := Of(context.Background())
	if b := none.Make(Least); len(b) != Least || none.Used() {
		t.Error("no arena, and yet memory of one")
	}
	none.Free()
}

// What is given back is used again.
// Work that goes on after a call uses none of its memory.
func TestWithout(t *testing.T) {
	ctx := Without(WithBody(With(t.Context(), new(Arena)), NewBody()))
	if Of(ctx) != nil || BodyOf(ctx) != nil {
		t.Error("the context has memory of the call")
	}
}

func BenchmarkMake(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		var a Arena
		a.Make(2_000_000)
		a.Free()
	}
}
