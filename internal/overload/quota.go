package overload

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// processors gives how many processors the process may use at once: GOMAXPROCS, or its quota if
// that is less. Go sets GOMAXPROCS to 2 at least, so that a process with half a processor could never
// use a large share of them.
func (s *share) processors() float64 {
	most := float64(runtime.GOMAXPROCS(0))
	if s.quota > 0 {
		most = min(most, s.quota)
	}
	return most
}

// ownQuota is the quota of the process's cgroup, in processors; 0 for none.
func ownQuota() float64 {
	own, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return 0
	}
	return groupQuota("/sys/fs/cgroup", string(own))
}

// groupQuota gives the least quota of a cgroup of version 2 and those above it (cpu.max: microseconds
// of processors in a period); 0 for none. own is /proc/self/cgroup, as of cgroups(7).
func groupQuota(root, own string) (least float64) {
	for line := range strings.Lines(own) {
		path, ok := strings.CutPrefix(strings.TrimSpace(line), "0::")
		if !ok {
			continue
		}
		for at := filepath.Clean("/" + path); ; at = filepath.Dir(at) {
			text, err := os.ReadFile(filepath.Join(root, at, "cpu.max"))
			var quota, period float64
			if err == nil {
				_, err = fmt.Sscan(string(text), &quota, &period) // "max" is no number
			}
			if err == nil && quota > 0 && period > 0 && (least == 0 || quota/period < least) {
				least = quota / period
			}
			if at == "/" {
				break
			}
		}
	}
	return least
}
