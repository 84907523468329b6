package ledger

import "time"

// Node is what a process says of itself with each sign of life.
type Node struct {
	// Host is the machine's name, Version the program's, and Address where the process was told to
	// listen.
	Host, Version, Address string
	// Configuration is the hash of the configuration in force.
	Configuration string
	// Degraded names the parts that do not work at present; empty is none.
	Degraded []string
}

// Process is a process that has registered with a store.
type Process struct {
	// Number is what Begin has given.
	Number int64
	// Start is when it began, and Seen when it last said that it is alive.
	Start, Seen time.Time
	// Node is what it said then. It is zero before the first sign of life, and of processes
	// that say nothing of themselves.
	Node
}
