package process

import (
	"bytes"
	"errors"
	"os"
	"strconv"
	"time"
)

// MachineCPU is the time all processes and the kernel have run on all cores of the
// machine, to 10 ms.
func MachineCPU() (time.Duration, error) {
	stat, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0, err
	}
	line, _, _ := bytes.Cut(stat, []byte("\n"))
	fields := bytes.Fields(line)
	const user, nice, system, irq, softirq = 1, 2, 3, 6, 7 // proc_stat(5)
	if len(fields) <= softirq {
		return 0, errors.New("/proc/stat: malformed")
	}
	var ticks int64
	for _, i := range []int{user, nice, system, irq, softirq} {
		n, err := strconv.ParseInt(string(fields[i]), 10, 64)
		if err != nil {
			return 0, err
		}
		ticks += n
	}
	return time.Duration(ticks) * 10 * time.Millisecond, nil
}

// Load is the machine's load average of the last minute, as the kernel writes it; "unknown" where it writes none.
func Load() string {
	text, err := os.ReadFile("/proc/loadavg")
	first, _, found := bytes.Cut(text, []byte(" ")) // see proc_loadavg in section 5 of the manual
	if err != nil || !found {
		return "unknown"
	}
	return string(first)
}
