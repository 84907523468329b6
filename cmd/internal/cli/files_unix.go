//go:build unix

package cli

import "syscall"

// openFiles is how many files the process may open; false is any number.
func openFiles() (most uint64, bounded bool) {
	var files syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &files) != nil {
		return 0, false
	}
	return uint64(files.Cur), true //nolint:unconvert // it is signed on some systems
}

// setUmask sets which permissions new files do not get, and gives what was set before.
func setUmask(mask int) (before int) { return syscall.Umask(mask) }
