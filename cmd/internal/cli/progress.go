package cli

import (
	"fmt"
	"io"
	"os"
	"time"

	"github.com/mattn/go-isatty"
)

// Progress is a line on a terminal that says how far a long command is. The line is removed
// at the end, so that output which is kept has none of it. A nil Progress says nothing.
type Progress struct {
	out         io.Writer
	now         func() time.Time
	began, last time.Time
	shown       bool
}

const (
	// progressAfter is how long a command runs before the line is shown, progressEvery how
	// often it is renewed.
	progressAfter = time.Second
	progressEvery = 200 * time.Millisecond
	// clearLine goes to the beginning of the line and removes what is in it (ECMA-48, EL).
	clearLine = "\r\x1b[K"
)

// NewProgress returns the line of standard error, or nil where that is no terminal.
func NewProgress() *Progress {
	if !isatty.IsTerminal(os.Stderr.Fd()) || os.Getenv("TERM") == "dumb" {
		return nil
	}
	return newProgress(os.Stderr, time.Now)
}

func newProgress(out io.Writer, now func() time.Time) *Progress {
	return &Progress{out: out, now: now, began: now()}
}

// Report shows that done of total are done, and what they are. The remaining time is not shown if
// total is 0 or less than done.
func (p *Progress) Report(done, total int64, what string) {
	if p == nil {
		return
	}
	now := p.now()
	if now.Sub(p.began) < progressAfter || now.Sub(p.last) < progressEvery {
		return
	}
	p.last, p.shown = now, true
	line := fmt.Sprintf("%d %s", done, what)
	if total > 0 && done > 0 && done <= total {
		left := time.Duration(float64(now.Sub(p.began)) / float64(done) * float64(total-done))
		line = fmt.Sprintf("%d of %d %s (%d %%), about %s left", done, total, what, 100*done/total, left.Round(time.Second))
	}
	_, _ = io.WriteString(p.out, clearLine+line) // a command goes on without its terminal
}

// Clear removes the line, for what is printed after it.
func (p *Progress) Clear() {
	if p != nil && p.shown {
		_, _ = io.WriteString(p.out, clearLine)
		p.shown = false
	}
}
