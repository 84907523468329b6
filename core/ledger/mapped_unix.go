//go:build linux || darwin

package ledger

import (
	"os"
	"syscall"
)

// mapFile maps the first bytes of a file, which has them. What is stored there is in the file at once for all who read it, and
// outlives the process.
func mapFile(file *os.File, size int) ([]byte, error) {
	return syscall.Mmap(int(file.Fd()), 0, size, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED)
}

func unmapFile(room []byte) {
	if room != nil {
		_ = syscall.Munmap(room) // it is one that mapFile has returned
	}
}
