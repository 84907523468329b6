// Package smallfile reads the files that a server looks at while it serves: keys, tokens and rings
// of keys.
package smallfile

import (
	"io"
	"os"
	"syscall"
	"time"
)

// within is how long the other end of a pipe may take.
const within = 5 * time.Second

// Read returns a file's content, and of a larger one its first bytes: one more than most, so that
// the caller sees that it is too large. A named pipe without a writer is empty, and one that is
// not closed in 5 s an error, where os.ReadFile would wait for ever. Errors name the file.
func Read(file string, most int64) ([]byte, error) { return read(file, most, within) }

func read(file string, most int64, within time.Duration) ([]byte, error) {
	opened, err := os.OpenFile(file, os.O_RDONLY|syscall.O_NONBLOCK, 0) //nolint:gosec // the operator names the file
	if err != nil {
		return nil, err //nolint:wrapcheck // it names the file
	}
	defer opened.Close()                               //nolint:errcheck // it was only read
	_ = opened.SetReadDeadline(time.Now().Add(within)) // only pipes and devices have one
	return io.ReadAll(io.LimitReader(opened, most+1))  //nolint:wrapcheck // it names the file
}
