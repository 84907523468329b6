//go:build !unix

package cli

// openFiles is how many files the process may open: any number, since the system has no such bound.
func openFiles() (most uint64, bounded bool) { return 0, false }

// setUmask does nothing: the system has no umask. Who may connect to a socket is what its folder says.
func setUmask(int) (before int) { return 0 }
