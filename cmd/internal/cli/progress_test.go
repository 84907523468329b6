package cli

import (
	"strings"
	"testing"
	"time"
)

// The line appears after a second, is renewed five times a second at most, and is removed.
func TestProgress(t *testing.T) {
	var out strings.Builder
	at := time.Unix(1000, 0)
	p := newProgress(&out, func() time.Time { return at })
	for _, step := range []struct {
		after       time.Duration
		done, total int64
		want        string
	}{
		{900 * time.Millisecond, 1, 10, ""},
		{100 * time.Millisecond, 2, 10, clearLine + "2 of 10 days (20 %), about 4s left"},
		{100 * time.Millisecond, 3, 10, ""},
		{time.Second, 0, 10, clearLine + "0 days"},
		{time.Second, 4, 0, clearLine + "4 days"},
		{time.Second, 11, 10, clearLine + "11 days"},
		{time.Second, 10, 10, clearLine + "10 of 10 days (100 %), about 0s left"},
	} {
		at = at.Add(step.after)
		out.Reset()
		p.Report(step.done, step.total, "days")
		if out.String() != step.want {
			t.Errorf("%d of %d: %q, want %q", step.done, step.total, out.String(), step.want)
		}
	}
	out.Reset()
	p.Clear()
	p.Clear()
	if out.String() != clearLine {
		t.Errorf("cleared by %q", out.String())
	}
	var none *Progress
	none.Report(1, 2, "days")
	none.Clear()
}

// Tests have no terminal, and so has a log.
func TestNoProgressWithoutTerminal(t *testing.T) {
	if NewProgress() != nil {
		t.Error("standard error is taken for a terminal")
	}
}
