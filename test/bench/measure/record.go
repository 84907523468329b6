package measure

import (
	"time"

	"github.com/genway/genway/test/bench/load"
)

// Record is one thing measured, a line of the results.
type Record struct {
	Time time.Time `json:"time"`
	// Kind is what was measured; its members are those that say so.
	Kind     Kind   `json:"kind"`
	Target   string `json:"target"`
	Group    string `json:"group,omitempty"`
	Workload string `json:"workload,omitempty"`
	// Round counts the turns of a group, from 0: runs of one round belong together.
	Round int `json:"round"`

	// Title is what tables call the target, unless it is one of the bench's own.
	Title string `json:"title,omitempty"`
	// Site is where it was measured (kind site), the first record.
	Site *Site `json:"site,omitempty"`

	// CPU is in seconds, of all processes of the target (kind run and soak).
	CPU float64 `json:"cpu_seconds,omitempty"`
	// CPUPer1000 is CPU milliseconds for 1,000 requests.
	CPUPer1000 float64      `json:"cpu_ms_per_1000,omitempty"`
	Load       *load.Result `json:"load,omitempty"`
	// Others is how many cores other processes used meanwhile, Tries how often the run
	// was made for their sake.
	Others float64 `json:"others_cores,omitempty"`
	Tries  int     `json:"tries,omitempty"`

	// Memory is in bytes: at rest before, at most, and after.
	IdleRSS  int64 `json:"idle_rss,omitempty"`
	PeakRSS  int64 `json:"peak_rss,omitempty"`
	AfterRSS int64 `json:"after_rss,omitempty"`
	// Of these, what the processes have written themselves: heaps and stacks, and no pages of files.
	IdleAnonymous  int64 `json:"idle_anonymous,omitempty"`
	AfterAnonymous int64 `json:"after_anonymous,omitempty"`

	// StartSeconds is from the start of the first process to the first answer (kind
	// startup), Binary the bytes of the programs.
	StartSeconds float64 `json:"start_seconds,omitempty"`
	Binary       int64   `json:"binary_bytes,omitempty"`
}

// Kind is what a record is of.
type Kind string

// The kinds.
const (
	KindSite   Kind = "site"
	KindStart  Kind = "startup"
	KindRun    Kind = "run"
	KindMemory Kind = "memory"
	KindSoak   Kind = "soak"
)
