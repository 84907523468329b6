package overload

import (
	"bytes"
	"os"
	"strconv"
	"time"
)

// threads has a folder for each thread of the process.
const threads = "/proc/self/task"

// processorDemand gives for how long the threads of the process have run, or waited to be run by the
// kernel: schedstat of proc(5) has both, in ns.
func processorDemand() (total time.Duration, known bool) {
	names, err := os.ReadDir(threads)
	if err != nil {
		return 0, false
	}
	for _, name := range names {
		text, err := os.ReadFile(threads + "/" + name.Name() + "/schedstat")
		if err != nil { // the thread has ended
			continue
		}
		fields := bytes.Fields(text)
		if len(fields) != 3 {
			return 0, false
		}
		for _, field := range fields[:2] {
			n, err := strconv.ParseInt(string(field), 10, 64)
			if err != nil {
				return 0, false
			}
			total += time.Duration(n)
			known = true
		}
	}
	return total, known
}
