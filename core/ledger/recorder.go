package ledger

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"
)

// Config configures a Recorder. Only Store must be set.
type Config struct {
	Store Store
	// Wait has Open and Settle return only when their entry is written: no request
	// goes to an upstream, and no answer is over, that a killed process could lose.
	Wait bool
	// Journal is a local directory, made where it is missing, for entries that wait to be
	// written: a process that is killed leaves them there, and the next one with the same
	// directory and store writes them. The store must be a Recoverer. Empty, and with Wait,
	// there is no journal.
	Journal string
	// Window is how long entries gather before they are written together. Default
	// 20 ms; 0 with Wait.
	Window time.Duration
	// Batch is how many entries are written at once without waiting for the window's
	// end. Default 256.
	Batch int
	// Queue is how many entries may wait to be written before new requests do.
	// Default 16,384. Requests that were admitted are always taken.
	Queue int
	// MaxWait is how long a request waits at most: for a place in the queue, before it is
	// refused, and with Wait for its entry to be written. Default 2 s.
	MaxWait time.Duration
	// Logger gets a line when the store fails, one when it is back, and one when
	// entries of dead processes were closed. Default: none.
	Logger *slog.Logger
	// OnAside, if set, is called for each entry that the store refuses, which is set aside.
	OnAside func()
	// OnItems, if set, is called with the items of entries once they are written. It must return at once.
	OnItems func([]Item)
	// OnFailure, if set, is called for each write that fails. It must return at once.
	OnFailure func()
	// Node, if set, returns what this process reports of itself with each heartbeat, every 2 s. It
	// must return at once.
	Node func() Node
	// Clock is time.Now unless set.
	Clock func() time.Time
}

const (
	defaultWindow  = 20 * time.Millisecond
	defaultBatch   = 256
	defaultQueue   = 16_384
	defaultMaxWait = 2 * time.Second
	// A process that is killed is known to be dead after deadAfter and its entries are
	// closed up to beatEvery later: within the 10 s that are promised.
	beatEvery = 2 * time.Second
	deadAfter = 6 * time.Second
	// endWithin bounds the last writes, of Close.
	endWithin = 5 * time.Second
)

// ErrBusy is a request that cannot be recorded: the store is stuck and the queue full.
var ErrBusy = errors.New("ledger: too many entries wait to be written")

// Recorder records requests. One goroutine of its own does all writing. Its methods
// are safe for concurrent use.
type Recorder struct {
	config  Config
	process int64

	mu      sync.Mutex
	number  int64
	pending *batch        // what gathers; never nil
	space   chan struct{} // closed when the queue has room again; nil while it has
	closed  bool
	failing time.Time // since when nothing can be written; zero while it can
	failure error     // why

	journal *journal // nil for none; what add and swap change is mu's

	// Those of the writing goroutine.
	owner   owner
	aside   []*Entry        // what the store refuses
	foreign map[string]bool // journals of other databases
	unkept  bool            // the journal cannot be maintained, and the log has it

	wake, full, closing chan struct{}
	kill                context.CancelFunc
	ended               chan struct{}
	err                 error // of the end; valid once ended is closed
}

// Start registers this process with the store and begins to record. The caller closes
// the Recorder before the store.
func Start(ctx context.Context, config Config) (*Recorder, error) {
	if config.Store == nil {
		return nil, errors.New("ledger: no store")
	}
	if config.Window == 0 && !config.Wait {
		config.Window = defaultWindow
	}
	config.Batch = cmp.Or(config.Batch, defaultBatch)
	config.Queue = cmp.Or(config.Queue, defaultQueue)
	config.MaxWait = cmp.Or(config.MaxWait, defaultMaxWait)
	config.Logger = cmp.Or(config.Logger, slog.New(slog.DiscardHandler))
	if config.Clock == nil {
		config.Clock = time.Now
	}
	now := config.Clock()
	process, err := config.Store.Begin(ctx, now)
	if err != nil {
		return nil, fmt.Errorf("start the ledger: %w", err)
	}
	// The last entries are written after ctx has ended: Close says when.
	running, kill := context.WithCancel(context.WithoutCancel(ctx))
	r := &Recorder{
		config: config, process: process, pending: newBatch(),
		wake: make(chan struct{}, 1), full: make(chan struct{}, 1), closing: make(chan struct{}),
		kill: kill, ended: make(chan struct{}),
		owner: owner{process, now.UnixMicro()}, foreign: map[string]bool{},
	}
	r.recover(running, true)
	if config.Journal != "" && !config.Wait {
		if r.journal, err = openJournal(config.Journal, r.owner); err != nil {
			config.Logger.Warn("the ledger keeps no journal: a process that is killed loses what it has not written yet", "error", err)
		}
	}
	go r.run(running)
	return r, nil
}

// Process is the name of this process in the ledger, as in Spend.
func (r *Recorder) Process() string {
	return ProcessName(r.owner.process, time.UnixMicro(r.owner.began))
}

// Open opens a request's entry. While the queue is full it waits up to MaxWait
// and then fails with ErrBusy; it fails with ctx's error when that ends first. A nil
// Recorder records nothing.
func (r *Recorder) Open(ctx context.Context, request Request) (*Record, error) {
	if r == nil {
		return nil, nil
	}
	request.ID, request.Model = clip(request.ID), clip(request.Model)
	record := &Record{recorder: r, entry: &Entry{Request: request, Result: Result{Outcome: Open}}}
	space, err := r.open(record)
	if err != nil {
		return nil, err
	}
	if space == nil && !r.config.Wait {
		return record, nil // as most, without a timer
	}
	timer := time.NewTimer(r.config.MaxWait)
	defer timer.Stop()
	for space != nil {
		select {
		case <-space:
		case <-timer.C:
			return nil, ErrBusy
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		if space, err = r.open(record); err != nil {
			return nil, err
		}
	}
	if !r.config.Wait {
		return record, nil
	}
	select {
	case <-record.opening.written:
		return record, nil
	case <-timer.C:
		record.settle(Result{Outcome: Failed, Kind: "unavailable", Reason: ReasonRefused})
		return nil, ErrBusy
	case <-ctx.Done():
		record.settle(Result{Outcome: Cancelled, Kind: "cancelled", Reason: "CANCELLED"})
		return nil, ctx.Err()
	}
}

// ReasonRefused is the reason of requests that were refused because their entry could
// not be written in time.
const ReasonRefused = "LEDGER_UNAVAILABLE"

// open queues an opening, or returns what to wait for.
func (r *Recorder) open(record *Record) (space <-chan struct{}, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return nil, ErrBusy
	}
	if len(r.pending.entries) >= r.config.Queue {
		if r.space == nil {
			r.space = make(chan struct{})
		}
		return r.space, nil
	}
	r.number++
	record.entry.Number = r.number
	record.opening = r.pending
	r.queue(record.entry)
	return nil, nil
}

// Close writes what is queued, closes the entries that are still open as interrupted
// and ends the goroutine. It takes 5 s at most; the error then says how many entries
// were lost.
func (r *Recorder) Close() error {
	if r == nil {
		return nil
	}
	r.mu.Lock()
	first := !r.closed
	r.closed = true
	r.mu.Unlock()
	if first {
		close(r.closing)
		timer := time.AfterFunc(endWithin, r.kill)
		defer timer.Stop()
	}
	<-r.ended
	r.kill()
	return r.err
}

// Record is an entry that is open.
type Record struct {
	recorder *Recorder
	entry    *Entry // as it is opened
	opening  *batch // the batch it is in
	items    []Item
	settled  bool
}

// ID names the entry in its store: its process, and its number there. Both are 0 for a nil Record.
func (e *Record) ID() (process, number int64) {
	if e == nil {
		return 0, 0
	}
	return e.recorder.process, e.entry.Number
}

// Keep has items written with the entry once it is settled. It reports false, and does nothing, if the entry is nil or
// settled already.
func (e *Record) Keep(items []Item) bool {
	if e == nil {
		return false
	}
	r := e.recorder
	r.mu.Lock()
	defer r.mu.Unlock()
	if e.settled || r.closed {
		return false
	}
	e.items = append(e.items, items...)
	return true
}

// Settle closes the entry. The first call counts; later ones, and those on a nil
// Record, do nothing. With Config.Wait it returns when the entry is written, or after
// MaxWait, and then logs that it is not.
func (e *Record) Settle(result Result) {
	if e == nil {
		return
	}
	in := e.settle(result)
	if in == nil || !e.recorder.config.Wait {
		return
	}
	timer := time.NewTimer(e.recorder.config.MaxWait)
	defer timer.Stop()
	select {
	case <-in.written:
	case <-timer.C:
		e.recorder.config.Logger.Error("a request has ended, and its ledger entry is not written yet", "request_id", e.entry.ID)
	}
}

// settle queues the closed entry and returns its batch; nil when it was settled or the
// recorder is closed, whose end has closed the entry.
func (e *Record) settle(result Result) *batch {
	r := e.recorder
	r.mu.Lock()
	defer r.mu.Unlock()
	if e.settled || r.closed {
		return nil
	}
	e.settled = true
	for _, text := range []*string{&result.Reason, &result.Model, &result.Upstream, &result.Route, &result.Price} {
		*text = clip(*text)
	}
	if e.opening == r.pending {
		// A short request is one write.
		e.entry.Result, e.entry.Items = result, e.items
		r.journal.add(e.entry)
	} else {
		r.queue(&Entry{Number: e.entry.Number, Request: e.entry.Request, Result: result, Items: e.items})
	}
	e.items = nil
	return r.pending
}

// batch is entries that are written together.
type batch struct {
	entries []*Entry
	half    *half         // of the journal, which has them too; nil for none
	written chan struct{} // closed once they are, or are lost
}

func newBatch() *batch { return &batch{written: make(chan struct{})} }

// queue adds an entry to the batch; the caller holds mu.
func (r *Recorder) queue(e *Entry) {
	r.pending.entries = append(r.pending.entries, e)
	r.journal.add(e)
	signal := r.full
	switch len(r.pending.entries) {
	case 1:
		signal = r.wake
	case r.config.Batch:
	default:
		return
	}
	select {
	case signal <- struct{}{}:
	default:
	}
}

// Flush waits until what has been recorded so far is written or, at the end of the recorder, lost, which Close says. A
// store that fails is tried again until ctx ends; the error is then ctx's.
func (r *Recorder) Flush(ctx context.Context) error {
	if r == nil {
		return nil
	}
	r.mu.Lock()
	b := r.pending
	select {
	case r.wake <- struct{}{}: // an empty batch follows the one that is being written
	default:
	}
	r.mu.Unlock()
	select {
	case <-b.written:
	case <-r.ended:
	case <-ctx.Done():
		return ctx.Err()
	}
	return nil
}

const (
	// writeWithin bounds one write: far above what one takes on a disk that works.
	writeWithin = 30 * time.Second
	// retryAfter is the wait between tries of a write that failed.
	retryAfter = 250 * time.Millisecond
)

// run writes batches until the end.
func (r *Recorder) run(ctx context.Context) {
	defer close(r.ended)
	beat := time.NewTicker(beatEvery)
	defer beat.Stop()
	for {
		select {
		case <-r.wake:
			r.gather()
			// Close returns what is lost: entries can be lost only at the end.
			r.err = errors.Join(r.err, r.flush(ctx))
		case <-beat.C:
			r.beat(ctx)
			r.keepJournal()
			r.recover(ctx, false)
			r.retryAside(ctx, asideAtOnce)
		case <-r.closing:
			r.err = errors.Join(r.err, r.flush(ctx))
			lost := r.err != nil
			r.err = errors.Join(r.err, r.endAside(ctx), r.end(ctx))
			r.endJournal(lost)
			return
		}
	}
}

// gather lets the window pass, unless the batch is full or the end near.
func (r *Recorder) gather() {
	if r.config.Window == 0 {
		return
	}
	timer := time.NewTimer(r.config.Window)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-r.full:
	case <-r.closing:
	}
}

// take returns what has gathered and begins another batch.
func (r *Recorder) take() *batch {
	r.mu.Lock()
	defer r.mu.Unlock()
	taken := r.pending
	taken.half = r.journal.swap()
	r.pending = newBatch()
	if r.space != nil {
		close(r.space)
		r.space = nil
	}
	for _, signal := range []chan struct{}{r.wake, r.full} {
		select {
		case <-signal:
		default:
		}
	}
	return taken
}

// flush writes what has gathered, however long it takes: a store that fails is tried
// again until ctx ends. The error says which entries are lost then. Entries that the store
// refuses are set aside.
func (r *Recorder) flush(ctx context.Context) error {
	b := r.take()
	defer func() {
		b.entries = nil // requests that are open hold the batch
		close(b.written)
	}()
	if len(b.entries) == 0 {
		return nil
	}
	var failing time.Time
	for rest := b.entries; ; {
		var err error
		if rest, err = r.put(ctx, rest); err == nil {
			r.resetJournal(b.half)
			r.noteFailure(nil)
			if !failing.IsZero() {
				r.config.Logger.Info("the ledger is written again", "entries", len(b.entries), "after_seconds", r.config.Clock().Sub(failing).Seconds())
			}
			return nil
		}
		r.noteFailure(err)
		if failing.IsZero() {
			failing = r.config.Clock()
			r.config.Logger.Error("the ledger cannot be written; entries wait", "entries", len(rest), "error", err)
		}
		r.keepJournal()
		if !wait(ctx, retryAfter) {
			err = late(ctx, err)
			fate := "lost"
			if b.half != nil && b.half.err == nil {
				fate = "left in the journal"
			}
			err = fmt.Errorf("ledger: %d entries are %s: %w", len(rest), fate, err)
			r.config.Logger.Error("the ledger's last entries are "+fate, "entries", len(rest), "error", err)
			return err
		}
	}
}

func (r *Recorder) write(ctx context.Context, entries []*Entry) error {
	ctx, cancel := context.WithTimeout(ctx, writeWithin)
	defer cancel()
	err := r.config.Store.Write(ctx, r.process, entries)
	if err == nil && r.config.OnItems != nil {
		for _, e := range entries {
			if len(e.Items) > 0 {
				r.config.OnItems(e.Items)
			}
		}
	}
	return err
}

// beat says that this process lives and closes what dead ones left open.
func (r *Recorder) beat(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, writeWithin)
	defer cancel()
	var node Node
	if r.config.Node != nil {
		node = r.config.Node()
	}
	now := r.config.Clock()
	n, err := r.config.Store.Beat(ctx, r.process, node, now, now.Add(-deadAfter))
	r.noteFailure(err)
	switch {
	case err != nil:
		r.config.Logger.Warn("the ledger cannot record that this process is alive", "error", err)
	case n > 0:
		r.config.Logger.Info("requests of an ended process are interrupted", "entries", n)
	}
}

// noteFailure notes that a write has failed, or that one has not.
func (r *Recorder) noteFailure(err error) {
	if err != nil && r.config.OnFailure != nil {
		r.config.OnFailure()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case err == nil:
		r.failing = time.Time{}
	case r.failing.IsZero():
		r.failing = r.config.Clock()
	}
	r.failure = err
}

// Failing says since when the store takes nothing, and why: a zero time and nil while it
// does. It is tried every 2 s, also when there is nothing to record.
func (r *Recorder) Failing() (since time.Time, cause error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.failing, r.failure
}

// Queued is how many entries wait to be written.
func (r *Recorder) Queued() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.pending.entries)
}

// Lag is how long nothing can be written; 0 while the ledger is written.
func (r *Recorder) Lag() time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.failing.IsZero() {
		return 0
	}
	return max(r.config.Clock().Sub(r.failing), 0)
}

// end closes what is open.
func (r *Recorder) end(ctx context.Context) error {
	n, err := r.config.Store.End(ctx, r.process)
	if err = late(ctx, err); err != nil {
		return fmt.Errorf("ledger: close the open entries: %w", err)
	}
	if n > 0 {
		r.config.Logger.Warn("requests in flight are recorded as interrupted, since the process ends", "entries", n)
	}
	return nil
}

// errLate says that the end of the process did not wait for a write.
var errLate = fmt.Errorf("the %s that the last writes have are over", endWithin)

// late returns errLate for the error of a write that the end has broken off. Those who end the process would take that
// for the answer to their signal, and not for a failure.
func late(ctx context.Context, err error) error {
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		return errLate
	}
	return err
}

// wait lets a while pass; false when ctx ends first.
func wait(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

const (
	// maxAside bounds the entries that are set aside. Once there are as many, the store is
	// treated as one that fails: entries wait, and then requests do.
	maxAside = 1024
	// asideAtOnce is how many of them are tried again with each beat.
	asideAtOnce = 16
)

// ErrRefused says that the store refuses the entries for what they hold, and not for the state of
// the store: the same entries fail again, others may be written.
var ErrRefused = errors.New("ledger: the store refuses an entry")

// put writes entries, and sets aside those that the store refuses, which it finds by
// halves. The rest is what is not written because the store fails.
func (r *Recorder) put(ctx context.Context, entries []*Entry) (rest []*Entry, err error) {
	err = r.write(ctx, entries)
	switch {
	case err == nil:
		return nil, nil
	case !errors.Is(err, ErrRefused):
		return entries, err
	case len(entries) > 1:
		half := len(entries) / 2
		if rest, err = r.put(ctx, entries[:half]); err != nil {
			return slices.Concat(rest, entries[half:]), err
		}
		return r.put(ctx, entries[half:])
	case len(r.aside) >= maxAside:
		return entries, err
	}
	r.setAside(entries[0], err)
	return nil, nil
}

// setAside keeps an entry that the store refuses, so that the others can be written. The log
// has all of it but the items, since the process may end before it can be written.
func (r *Recorder) setAside(e *Entry, err error) {
	r.aside = append(r.aside, e)
	logged := *e
	logged.Items = nil
	r.config.Logger.Error("the store refuses an entry of the ledger; it is set aside and tried again every 2 s",
		"request_id", e.ID, "error", err, "process", r.process, "entry", fmt.Sprintf("%+v", logged), "set_aside", len(r.aside))
	if r.config.OnAside != nil {
		r.config.OnAside()
	}
}

// retryAside tries some of the entries again that were set aside.
func (r *Recorder) retryAside(ctx context.Context, count int) {
	trying := r.aside[:min(count, len(r.aside))]
	r.aside = r.aside[len(trying):]
	for i, e := range trying {
		err := r.write(ctx, []*Entry{e})
		if err == nil {
			r.config.Logger.Info("an entry that was set aside is written", "request_id", e.ID, "set_aside", len(r.aside)+len(trying)-i-1)
			continue
		}
		r.aside = append(r.aside, e)
		if !errors.Is(err, ErrRefused) { // the store fails: this is not the time
			r.aside = append(r.aside, trying[i+1:]...)
			return
		}
	}
}

// endAside tries the entries once more that were set aside, and says how many are lost.
func (r *Recorder) endAside(ctx context.Context) error {
	r.retryAside(ctx, len(r.aside))
	if len(r.aside) == 0 {
		return nil
	}
	return fmt.Errorf("ledger: %d entries that the store refuses are lost; the log has them", len(r.aside))
}

// AliveElsewhere reports whether a process of the ledger is another one than this, and has sent a heartbeat lately. A nil
// Recorder knows of none.
func (r *Recorder) AliveElsewhere(ctx context.Context, process int64) (bool, error) {
	if r == nil || r.process == process {
		return false, nil
	}
	alive, err := r.config.Store.Processes(ctx, r.config.Clock().Add(-deadAfter))
	if err != nil {
		return false, fmt.Errorf("ledger: processes: %w", err)
	}
	return slices.ContainsFunc(alive, func(p Process) bool { return p.Number == process }), nil
}
