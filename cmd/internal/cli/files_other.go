//go:build !unix

package cli

import "os"

// Closed reports whether a standard file was closed when the process began: the runtime opens nothing in its place, and
// writing fails.
func Closed(*os.File) bool { return false }

// openFiles is how many files the process may open: any number, since the system has no such bound.
func openFiles() (most uint64, bounded bool) { return 0, false }

// setUmask does nothing: the system has no umask. Who may connect to a socket is what its folder says.
func setUmask(int) (before int) { return 0 }
