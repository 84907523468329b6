package arena

import (
	"context"
	"testing"

	"pgregory.net/rapid"
)

func TestTiers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(Least, 1<<30).Draw(t, "n")
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
func BenchmarkMake(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		var a Arena
		a.Make(2_000_000)
		a.Free()
	}
}
