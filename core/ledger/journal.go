package ledger

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
	"time"
)

// A journal has the entries of one process that wait to be written to the store, in two
// files of the local file system: while the store takes the entries of one, new ones go to
// the other. An entry is copied into memory that is mapped to a file, which has its blocks already and is never
// synchronized: it outlives the process, not the power (decision 20).
type journal struct {
	halves  [2]*half
	current int
}

// half is one of the files. Its header is followed by records: the length of an entry, its
// checksum, the entry (appendEntry). A record of length 0 is the end.
type half struct {
	file  *os.File
	owner owner
	// room is the header and journalRoom bytes of the file, mapped; nil where files cannot be mapped. What has no place in it
	// is written.
	room []byte
	end  int64
	buf  []byte // of the record that is being written
	err  error  // of a write; the entries of a half that has one are not all in it
	told bool   // the log has that it cannot be written
}

// owner is the process whose entries are in a file. The time distinguishes it from a process of
// another database that has the same number.
type owner struct {
	process int64
	began   int64 // microseconds since 1970
}

const (
	journalMagic  = "genwayJ1"
	journalHeader = int64(len(journalMagic) + 16)
	recordHeader  = 8
	// journalRoom is how many bytes of each file are allocated ahead: two windows' entries
	// of a busy core. What waits for a store that fails may need more.
	journalRoom = 256 << 10
	// maxRecord bounds an entry, whose texts and charges (MaxCharges) are bounded, with its items, of which 64 MiB
	// may wait at once.
	maxRecord = 1<<20 + 64<<20
	// maxKept bounds the buffer that is kept for the next record.
	maxKept = 64 << 10
)

// journalPattern finds the files in their directory.
const journalPattern = "ledger-*.journal"

func journalName(o owner, n int) string {
	return fmt.Sprintf("ledger-%d-%d-%c.journal", o.process, o.began, 'a'+n)
}

// openJournal creates a process's journal in a directory, which is created where it is
// missing, accessible only to its owner.
func openJournal(dir string, o owner) (*journal, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	j := &journal{}
	for n := range j.halves {
		file, err := os.OpenFile(filepath.Join(dir, journalName(o, n)), os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600) //nolint:gosec // the operator says where
		if err != nil {
			j.remove()
			return nil, err
		}
		j.halves[n] = &half{file: file, owner: o, end: journalHeader}
		if err := allocate(file, o); err != nil {
			j.remove()
			return nil, err
		}
		j.halves[n].room, _ = mapFile(file, int(journalHeader+journalRoom)) // else it is written
	}
	return j, nil
}

// allocate writes the header of a file, and zeros in the room after it.
func allocate(file *os.File, o owner) error {
	if _, err := file.WriteAt(o.append([]byte(journalMagic)), 0); err != nil {
		return err
	}
	zeros := make([]byte, 16<<10)
	for at := journalHeader; at < journalHeader+journalRoom; at += int64(len(zeros)) {
		if _, err := file.WriteAt(zeros, at); err != nil {
			return err
		}
	}
	return nil
}

func (o owner) append(b []byte) []byte {
	return binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(b, uint64(o.process)), uint64(o.began))
}

// add writes an entry to the half that gathers. The caller holds the recorder's mu.
func (j *journal) add(e *Entry) {
	if j == nil {
		return
	}
	h := j.halves[j.current]
	if h.err != nil {
		return
	}
	record := appendEntry(append(h.buf[:0], make([]byte, recordHeader)...), e)
	binary.LittleEndian.PutUint32(record, uint32(len(record)-recordHeader))
	binary.LittleEndian.PutUint32(record[4:], crc32.ChecksumIEEE(record[recordHeader:]))
	// The next record's length, so that what was there before is not taken for it.
	record = append(record, 0, 0, 0, 0)
	h.err = h.put(record, h.end)
	h.end += int64(len(record) - 4)
	if h.buf = record; cap(record) > maxKept {
		h.buf = nil
	}
}

// put writes to the file. The first 4 bytes, a record's length, come last, so that a process that is killed meanwhile leaves all of it
// or nothing.
func (h *half) put(b []byte, at int64) (err error) {
	if at+int64(len(b)) > int64(len(h.room)) {
		_, err = h.file.WriteAt(b, at)
		return err
	}
	// A page that the system cannot provide, since the file was cut or its disk fails, is a fault: the signal SIGBUS.
	defer func(before bool) {
		debug.SetPanicOnFault(before)
		if fault := recover(); fault != nil {
			err = fmt.Errorf("the mapped file cannot be written: %v", fault)
		}
	}(debug.SetPanicOnFault(true))
	to := h.room[at:]
	copy(to[4:], b[4:])
	binary.LittleEndian.PutUint32(to, binary.LittleEndian.Uint32(b))
	return nil
}

// swap has the next entries go to the other half, and returns the one that has gathered.
func (j *journal) swap() *half {
	if j == nil {
		return nil
	}
	gathered := j.halves[j.current]
	j.current = 1 - j.current
	return gathered
}

// reset forgets the entries of a half: the store has them.
func (h *half) reset() error {
	if h == nil {
		return nil
	}
	err := h.err
	h.err = nil
	if h.end == journalHeader {
		return err
	}
	if h.end > journalHeader+journalRoom {
		err = errors.Join(err, h.file.Truncate(journalHeader+journalRoom))
	}
	cleared := h.put(make([]byte, recordHeader), journalHeader)
	h.end = journalHeader
	return errors.Join(err, cleared)
}

// touch says that the process lives. An error is fs.ErrNotExist when another one took it
// for dead.
func (j *journal) touch(now time.Time) error {
	if j == nil {
		return nil
	}
	var errs []error
	for _, h := range j.halves {
		errs = append(errs, os.Chtimes(h.file.Name(), now, now))
	}
	return errors.Join(errs...)
}

// close closes the files, and leaves them.
func (j *journal) close() {
	if j == nil {
		return
	}
	for _, h := range j.halves {
		if h != nil {
			unmapFile(h.room)
			h.room = nil
			_ = h.file.Close() // it is not written any more
		}
	}
}

// remove closes and removes the files.
func (j *journal) remove() {
	if j == nil {
		return
	}
	j.close()
	for _, h := range j.halves {
		if h != nil {
			_ = os.Remove(h.file.Name()) // what is left of it is old, and removed by the next process
		}
	}
}

// errNoJournal is a file that no journal has written.
var errNoJournal = errors.New("not a journal of the ledger")

// readJournal returns the entries of a file, in the order they were written, and whether it is
// whole: whether the record of length 0 follows them. It reads nothing after a record that is
// damaged, whose length may be wrong.
func readJournal(path string) (from owner, entries []*Entry, whole bool, err error) {
	text, err := os.ReadFile(path) //nolint:gosec // one of journalPattern
	if err != nil {
		return owner{}, nil, false, err
	}
	if len(text) == 0 {
		return owner{}, nil, true, nil // its process was killed as it began
	}
	if int64(len(text)) < journalHeader || string(text[:len(journalMagic)]) != journalMagic {
		return owner{}, nil, false, errNoJournal
	}
	from = owner{
		process: int64(binary.LittleEndian.Uint64(text[len(journalMagic):])),
		began:   int64(binary.LittleEndian.Uint64(text[len(journalMagic)+8:])),
	}
	rest := text[journalHeader:]
	for len(rest) > recordHeader {
		size := int(binary.LittleEndian.Uint32(rest))
		if size == 0 || size > maxRecord || size > len(rest)-recordHeader {
			break
		}
		record := rest[recordHeader : recordHeader+size]
		e, ok := parseEntry(record)
		if !ok || crc32.ChecksumIEEE(record) != binary.LittleEndian.Uint32(rest[4:]) {
			break
		}
		entries, rest = append(entries, e), rest[recordHeader+size:]
	}
	// A file without any record was not allocated yet.
	whole = len(rest) >= 4 && binary.LittleEndian.Uint32(rest) == 0 || int64(len(text)) == journalHeader
	return from, entries, whole, nil
}

// removed reports whether an error says that a file was removed.
func removed(err error) bool { return errors.Is(err, fs.ErrNotExist) }

// texts are an entry's texts, in the order of a record. Outcomes and sources are texts, too.
func texts(e *Entry) [19]string {
	return [...]string{
		e.ID, e.KeyID, e.Owner, e.Protocol, e.Method, e.Request.Model,
		string(e.Outcome), e.Kind, e.Reason, e.Route, e.Upstream, e.Result.Model, string(e.UsageSource), e.Price,
		e.TraceID, e.UpstreamProtocol, e.Losses, e.Timeline, e.Charges,
	}
}

func setTexts(e *Entry, t [19]string) {
	e.ID, e.KeyID, e.Owner, e.Protocol, e.Method, e.Request.Model = t[0], t[1], t[2], t[3], t[4], t[5]
	e.Outcome, e.Kind, e.Reason, e.Route, e.Upstream, e.Result.Model = Outcome(t[6]), t[7], t[8], t[9], t[10], t[11]
	e.UsageSource, e.Price = UsageSource(t[12]), t[13]
	e.TraceID, e.UpstreamProtocol, e.Losses, e.Timeline, e.Charges = t[14], t[15], t[16], t[17], t[18]
}

// numbers are an entry's numbers, in the order of a record.
func numbers(e *Entry) [17]int64 {
	u := &e.Usage
	return [...]int64{
		e.Number, e.Start.UnixMicro(), e.Attempts,
		u.Input, u.Output, u.CacheRead, u.CacheWrite, u.CacheWrite1h, u.InputImage, u.InputAudio, u.Thinking, u.OutputImage, u.OutputAudio, u.Images,
		e.Cost, e.Duration.Microseconds(), e.FirstEvent.Microseconds(),
	}
}

func setNumbers(e *Entry, n [17]int64) {
	u := &e.Usage
	e.Number, e.Start, e.Attempts = n[0], time.UnixMicro(n[1]).UTC(), n[2]
	u.Input, u.Output, u.CacheRead, u.CacheWrite, u.CacheWrite1h, u.InputImage, u.InputAudio = n[3], n[4], n[5], n[6], n[7], n[8], n[9]
	u.Thinking, u.OutputImage, u.OutputAudio, u.Images = n[10], n[11], n[12], n[13]
	e.Cost = n[14]
	e.Duration, e.FirstEvent = time.Duration(n[15])*time.Microsecond, time.Duration(n[16])*time.Microsecond
}

// laterNumbers are the numbers that follow the texts of a record, which older programs did not write.
func laterNumbers(e *Entry) [4]int64 {
	n := [4]int64{0, e.Usage.CacheWrite30m, e.Usage.CacheWrite12h, e.Usage.ToolCalls}
	if e.Unpriced {
		n[0] = 1
	}
	return n
}

func setLaterNumbers(e *Entry, n [4]int64) {
	e.Unpriced, e.Usage.CacheWrite30m, e.Usage.CacheWrite12h, e.Usage.ToolCalls = n[0] != 0, n[1], n[2], n[3]
}

// appendEntry writes an entry: its numbers as varints, its texts, each with its length, the later numbers, and its items
// until the end: the identifier, the time and the length, and what is sealed.
func appendEntry(b []byte, e *Entry) []byte {
	for _, n := range numbers(e) {
		b = binary.AppendVarint(b, n)
	}
	for _, t := range texts(e) {
		b = append(binary.AppendUvarint(b, uint64(len(t))), t...)
	}
	for _, n := range laterNumbers(e) {
		b = binary.AppendVarint(b, n)
	}
	for _, item := range e.Items {
		b = binary.AppendVarint(append(b, item.ID[:]...), item.Expires.UnixMicro())
		b = append(binary.AppendUvarint(b, uint64(len(item.Sealed))), item.Sealed...)
	}
	return b
}

// Records of releases that did not know timelines end after so many texts, and later ones after
// textsOfTimelines.
const fewestTexts, textsOfTimelines = 14, 18

// parseEntry reads what appendEntry has written; false for anything else.
func parseEntry(b []byte) (*Entry, bool) {
	e := &Entry{}
	ns, later := numbers(e), laterNumbers(e)
	b, ok := parseNumbers(b, ns[:])
	if !ok {
		return nil, false
	}
	ts := texts(e)
	whole := true
	for i := range ts {
		if (i == fewestTexts || i == textsOfTimelines) && len(b) == 0 {
			whole = false
			break
		}
		length, size := binary.Uvarint(b)
		if size <= 0 || length > uint64(len(b)-size) {
			return nil, false
		}
		ts[i], b = string(b[size:size+int(length)]), b[size+int(length):]
	}
	setNumbers(e, ns)
	setTexts(e, ts)
	if whole {
		if b, ok = parseNumbers(b, later[:]); !ok {
			return nil, false
		}
		setLaterNumbers(e, later)
	}
	for len(b) > 0 {
		var item Item
		if item, b, ok = parseItem(b); !ok {
			return nil, false
		}
		e.Items = append(e.Items, item)
	}
	return e, e.Outcome.Known()
}

// parseItem reads one item and returns the rest.
func parseItem(b []byte) (item Item, rest []byte, ok bool) {
	b = b[copy(item.ID[:], b):]
	expires, size := binary.Varint(b)
	if size <= 0 {
		return item, nil, false
	}
	length, n := binary.Uvarint(b[size:])
	if b = b[size:]; n <= 0 || length > uint64(len(b)-n) {
		return item, nil, false
	}
	item.Expires, item.Sealed = time.UnixMicro(expires), bytes.Clone(b[n:n+int(length)])
	return item, b[n+int(length):], true
}

// parseNumbers reads varints into ns and returns the rest.
func parseNumbers(b []byte, ns []int64) ([]byte, bool) {
	for i := range ns {
		n, size := binary.Varint(b)
		if size <= 0 {
			return nil, false
		}
		ns[i], b = n, b[size:]
	}
	return b, true
}

// A Recoverer is a Store that takes what a journal has.
type Recoverer interface {
	// Recover writes the entries of another process, as Write does. The error is
	// ErrForeign when the store has no process of that number that began at that time, to
	// the microsecond.
	Recover(ctx context.Context, process int64, began time.Time, entries []*Entry) error
}

// ErrForeign is returned by Recover if the journal belongs to another database.
var ErrForeign = errors.New("ledger: the journal is of another database")

// recover writes what the journals of others have: a process that was killed left in it
// what its store did not have. It removes the journals of processes that are dead. The journal of one
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
// is damaged after them. A process that is killed while it writes an entry leaves such a file too;
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
