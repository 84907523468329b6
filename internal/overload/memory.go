package overload

import (
	"math"
	"os"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"strings"
)

// MemoryLimit returns how much memory this process may use, in bytes: GOMEMLIMIT, else nine
// tenths of what its cgroup may use, which fromGroup reports; 0 where nothing bounds it.
func MemoryLimit() (bytes int64, fromGroup bool) {
	if limit := debug.SetMemoryLimit(-1); limit != math.MaxInt64 {
		return limit, false
	}
	own, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return 0, false
	}
	limit := groupLimit("/sys/fs/cgroup", string(own))
	return limit / 10 * 9, limit > 0
}

// groupLimit returns the least memory limit of a cgroup and those above it; 0 for none. own
// is /proc/self/cgroup, as of cgroups(7).
func groupLimit(root, own string) (least int64) {
	for line := range strings.Lines(own) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(parts) != 3 {
			continue
		}
		dir, file := root, "memory.max" // version 2
		switch {
		case parts[0] == "0" && parts[1] == "":
		case parts[1] == "memory":
			dir, file = filepath.Join(root, "memory"), "memory.limit_in_bytes"
		default:
			continue
		}
		for at := filepath.Clean("/" + parts[2]); ; at = filepath.Dir(at) {
			text, err := os.ReadFile(filepath.Join(dir, at, file)) //nolint:gosec // of the system
			// Version 1 spells no limit as a number of pages near the largest.
			if n, wrong := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64); err == nil && wrong == nil && n > 0 && n < math.MaxInt64/2 && (least == 0 || n < least) {
				least = n
			}
			if at == "/" {
				break
			}
		}
	}
	return least
}
