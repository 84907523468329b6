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
