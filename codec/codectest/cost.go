package codectest

import (
	"runtime"
	"testing"
)

// maxTimes bounds the memory that do may allocate, in times the length of its input. What
// grows with the square of the length is far above it.
const maxTimes = 100

// CostsItsLength demands that do, which reads an input of that many bytes, allocates in
// proportion to it. Tests that call it do not run in parallel.
func CostsItsLength(t *testing.T, length int, do func()) {
	t.Helper()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	do()
	runtime.ReadMemStats(&after)
	if allocated := after.TotalAlloc - before.TotalAlloc; allocated > uint64(maxTimes*length) {
		t.Errorf("allocates %d bytes for an input of %d", allocated, length)
	}
}
