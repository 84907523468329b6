package gateway

import (
	"net/http"
	"sync"
	"time"
)

// answerWriter is the ResponseWriter of one exchange. It names the request in
// every answer, moves the write deadline on with every write, and lets a stream
// decide when to flush.
type answerWriter struct {
	http.ResponseWriter
	control *http.ResponseController
	timeout time.Duration
	moved   time.Time // when the write deadline was
	status  int
	bytes   int64
	// bodyRead says that the request has no body, or that all of it has been read.
	bodyRead bool
	// finished drops whatever the runtime still writes after a failure has been
	// told in full.
	finished bool
	// hold, if set, says that more is ready to be written, so that a flush can
	// wait for it.
	hold     func() bool
	gathered *[]byte // what is held, of the pool; nil for nothing
}

func newAnswerWriter(w http.ResponseWriter, id string, timeout time.Duration) answerWriter {
	// The names under which the vendors' SDKs look for it.
	h, named := w.Header(), []string{id}
	h["X-Request-Id"], h["Request-Id"], h["X-Genway-Request-Id"] = named, named, named
	return answerWriter{ResponseWriter: w, control: http.NewResponseController(w), timeout: timeout}
}

func (w *answerWriter) WriteHeader(status int) {
	if w.finished || w.status != 0 {
		return
	}
	w.status = status
	if !w.bodyRead {
		// The server would wait for the rest of the body ahead of the next request, and
		// for as long as the caller likes.
		w.Header().Set("Connection", "close")
		w.readDeadline(unreadBody)
	}
	w.ResponseWriter.WriteHeader(status)
}

// unreadBody is how long the rest of a body may still come once its request is answered.
// A connection that is closed ahead of it loses the answer to some callers.
const unreadBody = 500 * time.Millisecond

func (w *answerWriter) Write(b []byte) (int, error) {
	if w.finished || len(b) == 0 {
		return len(b), nil
	}
	w.WriteHeader(http.StatusOK)
	if w.hold == nil || len(b) >= gatherAt || w.gathered == nil && !w.hold() {
		if err := w.spill(); err != nil {
			return 0, err
		}
		return w.send(b)
	}
	if w.gathered == nil {
		w.gathered = gatherers.Get().(*[]byte) //nolint:forcetypeassert // nothing else is put
	}
	*w.gathered = append(*w.gathered, b...)
	if len(*w.gathered) >= gatherAt {
		return len(b), w.spill()
	}
	return len(b), nil
}

// gatherAt is how many bytes of events are written together at most. The server's own
// buffer is of 4 KiB, and each one full is a system call.
const gatherAt = 16 << 10

var gatherers = sync.Pool{New: func() any {
	b := make([]byte, 0, gatherAt+gatherAt/4)
	return &b
}}

// spill writes what has gathered.
func (w *answerWriter) spill() error {
	if w.gathered == nil {
		return nil
	}
	_, err := w.send(*w.gathered)
	*w.gathered = (*w.gathered)[:0]
	gatherers.Put(w.gathered)
	w.gathered = nil
	return err
}

// send writes in pieces, each of which has the timeout to itself: a large answer to a slow
// caller takes as long as it does, while one that stops taking is cut.
func (w *answerWriter) send(b []byte) (int, error) {
	sent := 0
	for {
		piece := b[sent:min(sent+pieceSize, len(b))]
		w.moveDeadline()
		n, err := w.ResponseWriter.Write(piece)
		sent += n
		w.bytes += int64(n)
		if err != nil || sent == len(b) {
			return sent, err
		}
	}
}

// pieceSize is what a caller must take within the timeout, in bytes.
const pieceSize = 64 << 10

// moveDeadline gives the caller the timeout for what is written next. The events of a
// moment share one: to set it costs as much as to write an event.
func (w *answerWriter) moveDeadline() {
	now, slack := time.Now(), w.timeout/16
	if now.Sub(w.moved) < slack {
		return
	}
	w.moved = now
	// A server without deadlines (a test's recorder) says so by an error.
	_ = w.control.SetWriteDeadline(now.Add(w.timeout + slack))
}

// FlushError flushes unless more is about to be written. Before the first byte it
// does nothing: a status line that has not been sent can still be an error's.
func (w *answerWriter) FlushError() error {
	if w.finished || w.status == 0 || (w.hold != nil && w.hold()) {
		return nil
	}
	if err := w.spill(); err != nil {
		return err
	}
	return w.control.Flush()
}

// readDeadline gives the caller until then to send more; 0 is no deadline.
func (w *answerWriter) readDeadline(timeout time.Duration) {
	var at time.Time
	if timeout > 0 {
		at = time.Now().Add(timeout)
	}
	_ = w.control.SetReadDeadline(at)
}
