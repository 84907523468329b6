//go:build !linux

package programs

import "testing"

func readOnlyFolder(t *testing.T, _ stores) {
	t.Skip("SKIPPED: a read-only file system needs Linux: nothing is known of a start on one")
}
