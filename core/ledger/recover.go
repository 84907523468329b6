package ledger

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"time"
)

// A Recoverer is a Store that takes what a journal has.
type Recoverer interface {
	// Recover writes the entries of another process, as Write does. The error is
	// ErrForeign when the store has no process of that number that began at that time, to
	// the microsecond.
	Recover(ctx context.Context, process int64, began time.Time, entries []*Entry) error
}

// ErrForeign is an error of Recover: the journal is of another database.
var ErrForeign = errors.New("ledger: the journal is of another database")

// recover writes what the journals of others have: a process that was killed left in it
// what its store did not have. It removes those of processes that are dead. That of one
// that lives may be read as well, since writing an entry again changes nothing.
func (r *Recorder) recover(ctx context.Context, every bool) {
	store, ok := r.config.Store.(Recoverer)
	if !ok || r.config.Journal == "" {
		return
	}
	paths, _ := filepath.Glob(filepath.Join(r.config.Journal, journalPattern)) // the pattern is good
	for _, path := range paths {
		info, err := os.Stat(path)
		dead := err == nil && time.Since(info.ModTime()) > deadAfter
		if err == nil && time.Until(info.ModTime()) > deadAfter {
			// The clock was put back since. The file's process, if it lives, touches it again.
			now := time.Now()
			_ = os.Chtimes(path, now, now) // another process may have removed it
		}
		if err != nil || !dead && !every || r.foreign[path] {
			continue
		}
		from, entries, whole, err := readJournal(path)
		if err != nil && !removed(err) && dead {
			r.foreign[path] = true
			r.config.Logger.Error("a journal of the ledger cannot be read; it is kept, and looked at again at the next start", "file", path, "error", err)
		}
		if err != nil || from == r.owner {
			continue
		}
		if len(entries) > 0 {
			err = r.recoverFrom(ctx, store, from, entries)
		}
		switch {
		case errors.Is(err, ErrForeign):
			r.foreign[path] = true // that database may come back
		case err != nil:
			r.config.Logger.Error("a journal of the ledger cannot be recovered", "file", path, "entries", len(entries), "error", err)
		default:
			if len(entries) > 0 {
				r.config.Logger.Info("entries that a journal kept are written to the ledger", "file", path, "entries", len(entries))
			}
			if dead {
				r.discard(path, len(entries), whole)
			}
		}
	}
}

// damaged is added to the name of a journal that is kept for what could not be read of it.
const damaged = ".damaged"

// discard removes the journal of a dead process, whose entries the store has, or renames it if it
// is damaged behind them. A process that is killed while it writes an entry leaves such a file too;
// that request had not been admitted, or its answer had not ended.
func (r *Recorder) discard(path string, recovered int, whole bool) {
	if whole {
		_ = os.Remove(path) // another process may have been first
		return
	}
	if err := os.Rename(path, path+damaged); removed(err) {
		return // another process was first
	} else if err != nil {
		r.foreign[path] = true
		r.config.Logger.Error("a journal of the ledger is damaged: entries behind those that were recovered may be lost", "file", path, "recovered", recovered, "error", err)
		return
	}
	r.config.Logger.Error("a journal of the ledger is damaged: entries behind those that were recovered may be lost; the file is kept under another name",
		"file", path, "kept_as", path+damaged, "recovered", recovered)
}

func (r *Recorder) recoverFrom(ctx context.Context, store Recoverer, from owner, entries []*Entry) error {
	ctx, cancel := context.WithTimeout(ctx, writeWithin)
	defer cancel()
	for len(entries) > 0 {
		n := min(len(entries), r.config.Batch)
		if err := store.Recover(ctx, from.process, time.UnixMicro(from.began), entries[:n]); err != nil {
			return err
		}
		entries = entries[n:]
	}
	return nil
}

// keepJournal says that the journal's process lives, and begins another one where it was
// taken for dead.
func (r *Recorder) keepJournal() {
	r.mu.Lock()
	defer r.mu.Unlock()
	err := r.journal.touch(time.Now())
	if err == nil {
		r.unkept = false
		return
	}
	if !removed(err) {
		if !r.unkept {
			r.config.Logger.Warn("the ledger's journal cannot record that this process is alive", "error", err)
		}
		r.unkept = true
		return
	}
	r.journal.remove()
	if r.journal, err = openJournal(r.config.Journal, r.owner); err != nil {
		r.config.Logger.Error("the ledger goes on without a journal: what is not written yet is lost if the process is killed", "error", err)
	}
}

// resetJournal forgets what the store has.
func (r *Recorder) resetJournal(h *half) {
	err := h.reset()
	switch {
	case h == nil, errors.Is(err, os.ErrClosed):
	case err != nil && !h.told:
		h.told = true
		r.config.Logger.Warn("the ledger's journal was not whole: a killed process would have lost entries", "error", err)
	case err == nil && h.told:
		h.told = false
		r.config.Logger.Info("the ledger's journal is whole again")
	}
}

// endJournal removes the journal, unless it has what the store has not.
func (r *Recorder) endJournal(left bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if left {
		r.journal.close()
	} else {
		r.journal.remove()
	}
	r.journal = nil
}
