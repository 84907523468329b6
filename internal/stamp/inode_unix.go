//go:build unix

package stamp

import (
	"io/fs"
	"syscall"
)

// inode is the number of a file.
func inode(info fs.FileInfo) uint64 {
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		return s.Ino
	}
	return 0
}
