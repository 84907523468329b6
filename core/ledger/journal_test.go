package ledger_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/genway/genway/core/ledger"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// recovering is a store of one database, whose first process began at a time.
type recovering struct {
	*memory
	began     time.Time
	recovered []*ledger.Entry
}

func (r *recovering) Recover(ctx context.Context, process int64, began time.Time, entries []*ledger.Entry) error {
	if process != 7 || !began.Equal(r.began) {
		return ledger.ErrForeign
	}
	r.recovered = append(r.recovered, entries...)
	return r.Write(ctx, process, entries)
}

var begun = time.Date(2026, 3, 1, 2, 3, 4, 5000, time.UTC)

// killed runs requests of a process that is killed before its store has any of them, and
// gives the directory of the journal that it leaves.
func killed(t *testing.T, requests func(*ledger.Recorder)) (dir string) {
	t.Helper()
	live, left := t.TempDir(), t.TempDir()
	store := newMemory()
	store.hold = make(chan struct{})
	r := start(t, ledger.Config{Store: store, Journal: live, Clock: func() time.Time { return begun }})
	requests(r)
	// What a file has that is read is what it has if the process is killed now.
	files, err := filepath.Glob(filepath.Join(live, "*"))
	if err != nil || len(files) != 2 {
		t.Fatal(files, err)
	}
	if err := os.CopyFS(left, os.DirFS(live)); err != nil {
		t.Fatal(err)
	}
	close(store.hold)
	shut(t, r)
	if files, _ := filepath.Glob(filepath.Join(live, "*")); len(files) != 0 {
		t.Errorf("after a clean end there is %v", files)
	}
	return left
}

// recovered starts a process on what another has left, and returns what its store has then.
func recovered(t *testing.T, dir string, began time.Time) *recovering {
	t.Helper()
	store, _ := recoveredLog(t, dir, began)
	return store
}

// recoveredLog is recovered, with what the process has logged.
func recoveredLog(t *testing.T, dir string, began time.Time) (*recovering, string) {
	t.Helper()
	var log bytes.Buffer
	store := &recovering{memory: newMemory(), began: began}
	r := start(t, ledger.Config{Store: store, Journal: dir, Clock: func() time.Time { return begun.Add(time.Hour) },
		Logger: slog.New(slog.NewTextHandler(&log, nil))})
	shut(t, r)
	return store, log.String()
}

// A process that is killed at any moment loses no request it has admitted, nor what became
// of one that has ended, whatever its store had by then.
func TestKilledProcessLosesNothing(t *testing.T) {
	result := ledger.Result{Outcome: ledger.OK, Kind: "k", Reason: "R", Route: "*", Upstream: "ü", Attempts: 2, Model: "m2", UsageSource: ledger.Estimated,
		Usage: ledger.Usage{Input: 1, Output: 2, CacheRead: 3, CacheWrite: 4, CacheWrite1h: 5, InputImage: 6, InputAudio: 7, Thinking: 8, OutputImage: 9, OutputAudio: 10, Images: 11, CacheWrite30m: 12, CacheWrite12h: 13, ToolCalls: 14},
		Cost:  -12, Price: "p", Unpriced: true, Charges: `[{"model":"m2"}]`, Duration: 13 * time.Microsecond, FirstEvent: 14 * time.Microsecond}
	kept := []ledger.Item{
		{ID: [32]byte{1}, Sealed: []byte("sealed"), Expires: begun},
		{ID: [32]byte{31: 2}, Sealed: bytes.Repeat([]byte("large "), 200_000), Expires: begun.Add(time.Microsecond)}, // more than is allocated ahead
		{ID: [32]byte{3}, Sealed: []byte{}, Expires: begun},
	}
	asked := ledger.Request{ID: "a", KeyID: "key", Owner: "o", Protocol: "messages", Method: "GenerateText", Model: "m\x00\xff", Start: begun}
	dir := killed(t, func(r *ledger.Recorder) {
		record, err := r.Open(t.Context(), asked)
		if err != nil {
			t.Fatal(err)
		}
		record.Keep(kept[:1])
		record.Keep(kept[1:])
		record.Settle(result)
		late := open(t, r, "late")
		for n := range 3000 { // of both halves, and more than what is allocated ahead
			open(t, r, strconv.Itoa(n)).Settle(ledger.Result{Outcome: ledger.Failed, Reason: strings.Repeat("x", 200)})
		}
		open(t, r, "open")
		late.Settle(ledger.Result{Outcome: ledger.Cancelled})
	})
	store := recovered(t, dir, begun)
	got := store.outcomes()
	if len(got) != 3003 || got["a"] != ledger.OK || got["late"] != ledger.Cancelled || got["open"] != ledger.Interrupted || got["2999"] != ledger.Failed {
		t.Errorf("%d rows: %q, %q, %q", len(got), got["a"], got["late"], got["open"])
	}
	for _, e := range store.rows {
		if e.ID == "a" {
			if diff := cmp.Diff(ledger.Entry{Number: 1, Request: asked, Result: result, Items: kept}, e); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		}
	}
	// The files stay until their process is known to be dead.
	if files, _ := filepath.Glob(filepath.Join(dir, "*")); len(files) != 2 {
		t.Errorf("%v are left", files)
	}
	for _, file := range must(filepath.Glob(filepath.Join(dir, "*"))) {
		if err := os.Chtimes(file, time.Now(), time.Now().Add(-time.Minute)); err != nil {
			t.Fatal(err)
		}
	}
	// A journal of another database is not taken, nor removed.
	if other := recovered(t, dir, begun.Add(time.Microsecond)); len(other.rows) != 0 {
		t.Errorf("%d rows of another database", len(other.rows))
	}
	recovered(t, dir, begun)
	if files, _ := filepath.Glob(filepath.Join(dir, "*")); len(files) != 0 {
		t.Errorf("%v are left of a dead process", files)
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// What is in a journal is read up to what is not whole, wherever it was cut or changed.
func TestTornJournals(t *testing.T) {
	dir := killed(t, func(r *ledger.Recorder) {
		for n := range 20 {
			open(t, r, fmt.Sprint("request ", n))
		}
	})
	var file string
	var whole []byte
	for _, name := range must(filepath.Glob(filepath.Join(dir, "*"))) {
		text := must(os.ReadFile(name))
		if strings.Contains(string(text), "request 19") {
			file, whole = name, text
		}
		if err := os.Remove(name); err != nil {
			t.Fatal(err)
		}
	}
	const used = 2000 // bytes, in which all of it is
	rapid.Check(t, func(rt *rapid.T) {
		text := slices.Clone(whole)
		at := rapid.IntRange(0, used).Draw(rt, "at")
		if rapid.Bool().Draw(rt, "cut") {
			text = text[:at]
		} else {
			text[at] ^= byte(rapid.IntRange(1, 255).Draw(rt, "by"))
		}
		if err := os.WriteFile(file, text, 0o600); err != nil {
			rt.Fatal(err)
		}
		store := recovered(t, dir, begun)
		for n, e := range store.recovered {
			if e.ID != fmt.Sprint("request ", n) {
				rt.Fatalf("the %d. entry is %+v", n, e)
			}
		}
	})
}

// A journal that is damaged where entries were, or that cannot be read, is never removed and never
// passed over silently: what it still has is recovered, and the log names the file that is kept.
func TestDamagedJournalsAreKept(t *testing.T) {
	for _, c := range []struct {
		name      string
		damage    func(text []byte) []byte
		recovered int
		kept      string // what is added to the file's name
		log       string
	}{
		{"whole", func(b []byte) []byte { return b }, 20, "-", ""},
		{"nothing but a header", func(b []byte) []byte { return b[:24] }, 0, "-", ""},
		{"a letter of the first entry", func(b []byte) []byte { return flip(b, "request 0\x00") }, 0, ".damaged", "a journal of the ledger is damaged"},
		{"a letter in the middle", func(b []byte) []byte { return flip(b, "request 9") }, 9, ".damaged", "a journal of the ledger is damaged"},
		{"a length", func(b []byte) []byte { b[26] = 0xff; return b }, 0, ".damaged", "a journal of the ledger is damaged"},
		{"cut in the last entry", func(b []byte) []byte { return b[:bytes.Index(b, []byte("request 19"))+4] }, 19, ".damaged", "a journal of the ledger is damaged"},
		{"the header", func(b []byte) []byte { b[0] = 'G'; return b }, 0, "", "a journal of the ledger cannot be read"},
		{"zeros, as a power cut leaves them", func(b []byte) []byte { return make([]byte, len(b)) }, 0, "", "a journal of the ledger cannot be read"},
		{"cut in the header", func(b []byte) []byte { return b[:9] }, 0, "", "a journal of the ledger cannot be read"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := killed(t, func(r *ledger.Recorder) {
				for n := range 20 {
					open(t, r, fmt.Sprintf("request %d\x00", n))
				}
			})
			file := joined(t, dir)
			if err := os.WriteFile(file, c.damage(must(os.ReadFile(file))), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := os.Chtimes(file, time.Now(), time.Now().Add(-time.Minute)); err != nil {
				t.Fatal(err)
			}
			for start := range 2 { // the second one has nothing more to recover
				store, log := recoveredLog(t, dir, begun)
				if start > 0 && c.kept != "" {
					c.recovered = 0
				}
				if len(store.recovered) != c.recovered {
					t.Errorf("start %d: %d entries are recovered, not %d", start, len(store.recovered), c.recovered)
				}
				said := strings.Count(log, "level=ERROR")
				if want := c.log != "" && (start == 0 || c.kept == ""); want && (said != 1 || !strings.Contains(log, c.log) || !strings.Contains(log, file)) || !want && said != 0 {
					t.Errorf("start %d: the log has\n%s", start, log)
				}
			}
			if _, err := os.Stat(file + c.kept); (c.kept == "-") == (err == nil) {
				t.Errorf("%s%s: %v; there is %v", file, c.kept, err, must(filepath.Glob(filepath.Join(dir, "*"))))
			}
		})
	}
}

// Records that older programs wrote lack what came later: they are recovered as they are.
func TestJournalsOfOlderPrograms(t *testing.T) {
	for name, less := range map[string]int{
		"this one":                        0,
		"before charges":                  1 + 4,     // an empty text and four zeros
		"before timelines":                4 + 1 + 4, // and four empty texts
		"cut where no program has ended":  3,
		"cut where no program had ended":  2 + 1 + 4,
		"cut in the texts of all of them": 4 + 1 + 4 + 1,
	} {
		t.Run(name, func(t *testing.T) {
			file := joined(t, killed(t, func(r *ledger.Recorder) {
				for n := range 3 {
					open(t, r, fmt.Sprint("request ", n))
				}
			}))
			text, older := must(os.ReadFile(file)), []byte(nil)
			older = append(older, text[:24]...)
			for rest := text[24:]; ; {
				size := int(binary.LittleEndian.Uint32(rest))
				if size == 0 {
					break
				}
				record := rest[8 : 8+size-less]
				older = binary.LittleEndian.AppendUint32(older, uint32(len(record)))
				older = append(binary.LittleEndian.AppendUint32(older, crc32.ChecksumIEEE(record)), record...)
				rest = rest[8+size:]
			}
			if err := os.WriteFile(file, append(older, make([]byte, 4096)...), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := os.Chtimes(file, time.Now(), time.Now().Add(-time.Minute)); err != nil {
				t.Fatal(err)
			}
			want := 3
			if strings.HasPrefix(name, "cut") {
				want = 0
			}
			store, log := recoveredLog(t, filepath.Dir(file), begun)
			if len(store.recovered) != want || strings.Contains(log, "damaged") == (want > 0) {
				t.Errorf("%d entries, want %d; the log has\n%s", len(store.recovered), want, log)
			}
		})
	}
}

// joined puts the entries of a process's two files into the first one, in their order, and removes the other.
func joined(t *testing.T, dir string) string {
	t.Helper()
	files := must(filepath.Glob(filepath.Join(dir, "*")))
	var all []byte
	for _, file := range files {
		text := must(os.ReadFile(file))
		end := 24
		for size := binary.LittleEndian.Uint32(text[end:]); size > 0; size = binary.LittleEndian.Uint32(text[end:]) {
			end += 8 + int(size)
		}
		if all == nil {
			all = text[:24]
		}
		all = append(slices.Clone(all), text[24:end]...)
	}
	if err := os.WriteFile(files[0], append(all, make([]byte, 4096)...), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(files[1]); err != nil {
		t.Fatal(err)
	}
	return files[0]
}

// flip changes a letter of a text in a file.
func flip(b []byte, text string) []byte {
	b[bytes.Index(b, []byte(text))] ^= 1
	return b
}

// A process whose journal was removed, as it was frozen and taken for dead, begins another
// one, and requests go on.
func TestJournalBeginsAnew(t *testing.T) {
	dir := t.TempDir()
	store := newMemory()
	r := start(t, ledger.Config{Store: store, Journal: dir})
	for _, file := range must(filepath.Glob(filepath.Join(dir, "*"))) {
		if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
	}
	var wait sync.WaitGroup
	for n := range 100 {
		wait.Go(func() { open(t, r, strconv.Itoa(n)).Settle(ledger.Result{Outcome: ledger.OK}) })
	}
	wait.Wait()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(time.Minute); len(must(filepath.Glob(filepath.Join(dir, "*")))) != 2; <-tick.C {
		if time.Now().After(deadline) {
			t.Fatal("there is no journal")
		}
	}
	open(t, r, "after").Settle(ledger.Result{Outcome: ledger.OK})
	shut(t, r)
	if got := store.outcomes(); len(got) != 101 {
		t.Errorf("%d rows", len(got))
	}
}

// A directory that cannot be written is no reason not to serve.
func TestJournalNowhere(t *testing.T) {
	store := newMemory()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	r := start(t, ledger.Config{Store: store, Journal: filepath.Join(file, "below")})
	open(t, r, "a").Settle(ledger.Result{Outcome: ledger.OK})
	shut(t, r)
	if got := store.outcomes(); got["a"] != ledger.OK {
		t.Errorf("%v", got)
	}
}
