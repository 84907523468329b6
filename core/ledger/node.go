package ledger

import (
	"strconv"
	"time"
)

// Node is what a process reports of itself with each heartbeat.
type Node struct {
	// Host is the machine's name, Version the program's, and Address the one on which
	// it is configured to listen.
	Host, Version, Address string
	// Configuration is the hash of the configuration in force.
	Configuration string
	// Degraded names the parts that do not work at present; empty is none.
	Degraded []string
}

// ProcessName names a process by its number and when it began. A process of another database may have the same
// number.
func ProcessName(number int64, began time.Time) string {
	return strconv.FormatInt(number, 10) + "-" + strconv.FormatInt(began.UnixMicro(), 10)
}

// Process is a process that has registered with a store.
type Process struct {
	// Number is what Begin has given.
	Number int64
	// Start is when it began, and Seen when it sent its last heartbeat.
	Start, Seen time.Time
	// Node is what that heartbeat reported. It is zero before the first heartbeat, and of
	// processes that report nothing of themselves.
	Node
}
