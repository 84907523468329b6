package gateway

import (
	"fmt"
	"net/http"
	"strings"
	"time"

	genwayv1 "github.com/genway/genway/gen/genway/v1"
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
	// finished drops whatever the runtime still writes after a failure has been
	// told in full.
	finished bool
	// hold, if set, says that more is ready to be written, so that a flush can
	// wait for it.
	hold func() bool
}

func newAnswerWriter(w http.ResponseWriter, id string, timeout time.Duration) *answerWriter {
	// The names under which the vendors' SDKs look for it.
	h, named := w.Header(), []string{id}
	h["X-Request-Id"], h["Request-Id"], h["X-Genway-Request-Id"] = named, named, named
	return &answerWriter{ResponseWriter: w, control: http.NewResponseController(w), timeout: timeout}
}

func (w *answerWriter) WriteHeader(status int) {
	if w.finished || w.status != 0 {
		return
	}
	w.status = status
	w.ResponseWriter.WriteHeader(status)
}

func (w *answerWriter) Write(b []byte) (int, error) {
	if w.finished || len(b) == 0 {
		return len(b), nil
	}
	w.WriteHeader(http.StatusOK)
	w.moveDeadline()
	n, err := w.ResponseWriter.Write(b)
	w.bytes += int64(n)
	return n, err
}

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

// maxLost bounds the list of losses in bytes: proxies take 4 KiB of headers and some
// clients (Node's fetch) 16 KiB, and lose the whole answer over one byte more.
const maxLost = 2 << 10

// tellLosses names what could not be carried, while headers can still be sent. Of a
// list too long for a header it names the first, and says how many more there are.
func (w *answerWriter) tellLosses(losses []*genwayv1.Loss) {
	if len(losses) == 0 || w.status != 0 {
		return
	}
	var list strings.Builder
	for i, l := range losses {
		name := headerSafe(l.GetMember())
		if list.Len()+len(name) > maxLost {
			fmt.Fprintf(&list, ", and %d more", len(losses)-i)
			break
		}
		if i > 0 {
			list.WriteString(", ")
		}
		list.WriteString(name)
	}
	w.Header().Set("X-Genway-Lost", list.String())
}

// headerSafe keeps a member's path on one header line.
func headerSafe(member string) string {
	return strings.Map(func(r rune) rune {
		if r < 0x20 || r > 0x7e || r == ',' {
			return '?'
		}
		return r
	}, clip(member, 120))
}
