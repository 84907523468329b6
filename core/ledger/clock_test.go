package ledger_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/genway/genway/core/ledger"
)

// Case N64: a journal that a killed process touched while the clock was a day ahead counts as
// touched now, so that its process is known to be dead as soon as others.
func TestN64JournalsOfAClockThatWasAhead(t *testing.T) {
	dir := killed(t, func(r *ledger.Recorder) { open(t, r, "req_1") })
	ahead := time.Now().Add(24 * time.Hour)
	files := must(filepath.Glob(filepath.Join(dir, "*")))
	for _, file := range files {
		if err := os.Chtimes(file, ahead, ahead); err != nil {
			t.Fatal(err)
		}
	}
	recovered(t, dir, begun)
	for _, file := range files {
		if at := must(os.Stat(file)).ModTime(); time.Until(at) > time.Minute {
			t.Errorf("%s says that its process was alive at %v", filepath.Base(file), at)
		}
	}
}
