//go:build !linux

package programs

import "testing"

func fullDisk(t *testing.T, _ stores) {
	t.Skip("SKIPPED: a small file system needs Linux: nothing is known of readiness on a full disk")
}
