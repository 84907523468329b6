package gateway

import (
	"net/http"
	"sync"
	"time"
)

// answerWriter is the ResponseWriter of one exchange. It writes the request's identifier to
// every answer, extends the write deadline with every write, and lets a stream decide when to
// flush.
type answerWriter struct {
	http.ResponseWriter
	control *http.ResponseController
	timeout time.Duration
	moved   time.Time // when the write deadline was last extended
	// silent says that more than the timeout may pass between two writes of a stream of HTTP/2. Its write deadline
	// resets a stream on which nothing is written, too.
	silent bool
	status int
	bytes  int64
	// bodyRead says that the request has no body, or that all of it has been read.
	bodyRead bool
	// finished drops what the runtime still writes after a failure that is reported in
	// full.
	finished bool
	// hold, if set, reports that more is ready to be written, so that a flush can wait for
	// it.
	hold     func() bool
	gathered *[]byte // bytes that wait for a flush, from the pool; nil for none
}

func newAnswerWriter(w http.ResponseWriter, id string, timeout time.Duration) answerWriter {
	// The vendors' SDKs look for the identifier under these names.
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
		// Otherwise the server would wait for the rest of the body before the next
		// request, for as long as the caller likes.
		w.Header().Set("Connection", "close")
		w.readDeadline(unreadBody)
	}
	w.ResponseWriter.WriteHeader(status)
}

// unreadBody is how long the edge still reads the rest of a body once its request is answered.
// If the connection were closed earlier, some callers would lose the answer.
const unreadBody = 500 * time.Millisecond

func (w *answerWriter) Write(b []byte) (int, error) {
	if w.finished || len(b) == 0 {
		return len(b), nil
	}
	w.WriteHeader(http.StatusOK)
	if w.hold == nil || len(b) >= gatherAt || w.gathered == nil && !w.hold() {
		if err := w.flushGathered(); err != nil {
			return 0, err
		}
		return w.send(b)
	}
	if w.gathered == nil {
		w.gathered = gatherers.Get().(*[]byte) //nolint:forcetypeassert // nothing else is put
	}
	*w.gathered = append(*w.gathered, b...)
	if len(*w.gathered) >= gatherAt {
		return len(b), w.flushGathered()
	}
	return len(b), nil
}

// gatherAt is the maximum of bytes of events that are written together. The server's own
// buffer has 4 KiB, and each full one is a system call.
const gatherAt = 16 << 10

var gatherers = sync.Pool{New: func() any {
	b := make([]byte, 0, gatherAt+gatherAt/4)
	return &b
}}

// flushGathered writes the gathered bytes.
func (w *answerWriter) flushGathered() error {
	if w.gathered == nil {
		return nil
	}
	_, err := w.send(*w.gathered)
	*w.gathered = (*w.gathered)[:0]
	gatherers.Put(w.gathered)
	w.gathered = nil
	return err
}

// send writes in pieces, and each piece has the whole timeout. So a large answer to a slow
// caller takes as long as it needs, and a caller that stops reading is disconnected.
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

// pieceSize is the number of bytes that a caller must read within the timeout.
const pieceSize = 64 << 10

// moveDeadline extends the write deadline for the next write. Events that are written at the
// same moment share one deadline, since setting it costs as much as writing an event.
func (w *answerWriter) moveDeadline() {
	now, slack := time.Now(), w.timeout/16
	if now.Sub(w.moved) < slack {
		return
	}
	w.moved = now
	// A server without deadlines, as a test's recorder, returns an error.
	_ = w.control.SetWriteDeadline(now.Add(w.timeout + slack))
}

// FlushError flushes unless more is about to be written. Before the first byte it does
// nothing: the status line can then still be an error's.
func (w *answerWriter) FlushError() error {
	if w.finished || w.status == 0 || (w.hold != nil && w.hold()) {
		return nil
	}
	if err := w.flushGathered(); err != nil {
		return err
	}
	err := w.control.Flush()
	if w.silent {
		w.moved = time.Time{}
		_ = w.control.SetWriteDeadline(time.Time{})
	}
	return err
}

// readDeadline sets the read deadline; 0 removes it.
func (w *answerWriter) readDeadline(timeout time.Duration) {
	var at time.Time
	if timeout > 0 {
		at = time.Now().Add(timeout)
	}
	_ = w.control.SetReadDeadline(at)
}
