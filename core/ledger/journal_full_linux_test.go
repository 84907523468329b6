package ledger

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Case N89: a journal that cannot be written says so once, however many batches follow, and once that it can again.
func TestJournalThatCannotBeWritten(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer full.Close()
	good, err := os.Create(filepath.Join(t.TempDir(), "journal"))
	if err != nil {
		t.Fatal(err)
	}
	defer good.Close()
	var log bytes.Buffer
	r := &Recorder{config: Config{Logger: slog.New(slog.NewTextHandler(&log, nil))}}
	bad, other := &half{file: full, end: journalHeader}, &half{file: good, end: journalHeader}
	r.journal = &journal{halves: [2]*half{bad, other}}
	batches := func() {
		for n := range int64(10) {
			r.journal.add(&Entry{Number: n})
			r.resetJournal(r.journal.swap())
		}
	}
	batches()
	if got := log.String(); strings.Count(got, "\n") != 1 || !strings.Contains(got, "level=WARN") || !strings.Contains(got, "no space left on device") {
		t.Errorf("the log has:\n%s", got)
	}
	log.Reset()
	bad.file = good
	batches()
	if got := log.String(); strings.Count(got, "\n") != 1 || !strings.Contains(got, "the ledger's journal is whole again") {
		t.Errorf("the log has:\n%s", got)
	}
}

// A journal whose file was cut is one that cannot be written: the process goes on, also once the file is there again.
func TestJournalThatIsCut(t *testing.T) {
	var log bytes.Buffer
	r := &Recorder{config: Config{Logger: slog.New(slog.NewTextHandler(&log, nil))}}
	j, err := openJournal(t.TempDir(), owner{1, 2})
	if err != nil {
		t.Fatal(err)
	}
	defer j.remove()
	r.journal = j
	cut := j.halves[0]
	if cut.room == nil || j.halves[1].room == nil {
		t.Fatal("the files are not mapped")
	}
	batches := func() {
		for n := range int64(10) {
			r.journal.add(&Entry{Number: n, Result: Result{Outcome: OK}})
			r.resetJournal(r.journal.swap())
		}
	}
	if err := cut.file.Truncate(0); err != nil {
		t.Fatal(err)
	}
	batches()
	if got := log.String(); strings.Count(got, "\n") != 1 || !strings.Contains(got, "level=WARN") || !strings.Contains(got, "the mapped file cannot be written") {
		t.Errorf("the log has:\n%s", got)
	}
	log.Reset()
	if err := allocate(cut.file, cut.owner); err != nil {
		t.Fatal(err)
	}
	batches()
	if got := log.String(); strings.Count(got, "\n") != 1 || !strings.Contains(got, "the ledger's journal is whole again") {
		t.Errorf("the log has:\n%s", got)
	}
	r.journal.add(&Entry{Number: 7, Result: Result{Outcome: OK}})
	_, entries, whole, err := readJournal(cut.file.Name())
	if err != nil || !whole || len(entries) != 1 || entries[0].Number != 7 {
		t.Errorf("%v, %t, %v", entries, whole, err)
	}
}

// A process that is killed while it copies a record leaves the records before it, and a file that is whole.
func TestKilledInARecord(t *testing.T) {
	j, err := openJournal(t.TempDir(), owner{1, 2})
	if err != nil {
		t.Fatal(err)
	}
	defer j.remove()
	h := j.halves[0]
	for range 3 { // what is there from before is longer than what follows
		j.add(&Entry{Number: 1, Request: Request{ID: strings.Repeat("a", 200)}, Result: Result{Outcome: OK}})
	}
	if err := h.reset(); err != nil {
		t.Fatal(err)
	}
	j.add(&Entry{Number: 2, Result: Result{Outcome: OK}})
	end := h.end
	j.add(&Entry{Number: 3, Result: Result{Outcome: OK}})
	clear(h.room[end : end+4]) // the length, which comes last
	for at := range h.end - end {
		_, entries, whole, err := readJournal(h.file.Name())
		if err != nil || !whole || len(entries) != 1 || entries[0].Number != 2 {
			t.Fatalf("%d bytes less: %v, %t, %v", at, entries, whole, err)
		}
		if at > 4 {
			h.room[h.end-at+3] = 'x' // what was there before
		}
	}
}
