//go:build unix

package cli

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// Closed reports whether a standard file was closed when the process began. The Go runtime has opened the null device in its
// place, to read and to write; what a shell opens for >/dev/null can only be written.
func Closed(file *os.File) bool {
	info, err := file.Stat()
	null, missing := os.Stat(os.DevNull)
	if err != nil || missing != nil || !os.SameFile(info, null) {
		return false
	}
	flags, err := unix.FcntlInt(file.Fd(), unix.F_GETFL, 0)
	return err == nil && flags&unix.O_ACCMODE == unix.O_RDWR
}

// openFiles is how many files the process may open; false is any number.
func openFiles() (most uint64, bounded bool) {
	var files syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &files) != nil {
		return 0, false
	}
	return uint64(files.Cur), true //nolint:unconvert // it is signed on some systems
}

// setUmask sets which permissions new files do not get, and returns what was set before.
func setUmask(mask int) (before int) { return syscall.Umask(mask) }
