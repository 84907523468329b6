package cluster

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"time"
)

// report is what a run came to.
type report struct {
	size
	begun   time.Time
	took    time.Duration
	asked   []asked
	what    []phase
	windows []window
	books   books
	bills   []bill
	busy    string // the machine's load average, before anything was started
	commit  string // of the programs, which are built before anything is started
}

// page is docs/reference/cluster.md.
func (r *report) page() string {
	var b strings.Builder
	b.WriteString(`# A cluster under load and faults

This page is written by ` + "`make cluster`" + `: do not edit it. The run puts each part of an installation on a
host of its own, a network namespace of one machine: three edges behind HAProxy, which passes TCP on;
three cores; PostgreSQL with a synchronous standby; Redis or Valkey with a replica and three sentinels; and a
fake of the vendors. Callers of four protocols ask at a rate, unary and streamed, and keep streams
open. Each part is restarted, killed, stalled or cut off meanwhile, and comes back. The page is only
written when all of this holds:

- Each request that a vendor was asked, or whose answer was whole, is **one row** of the ledger, with
  the vendor's figures; no vendor was asked twice; no row is open in the end. ` + "`genway ledger check` and\n  `genway audit verify`" + ` agree.
- No answer was reported as complete that was not.
- A request failed **only in the windows and in the ways that the documentation names**: while a core
  is killed or cut off, calls in flight on it ([several cores](../operation.md#several-cores-behind-an-edge)); while an edge is
  killed, its connections; when the clock of either goes back, calls in flight [between
  them](../operation.md#when-the-clock-jumps). Each refusal is an error of the caller's protocol, each broken stream has its error event.
- A **budget** per phase is spent exactly: not more than it is, and not less than one reservation
  below it. Without the shared limits a core admits [its share](../access.md#several-cores) of what was left; what may be
  spent above the budget then is computed, and is in the table.

`)
	fmt.Fprintf(&b, "The last run: %s, %d requests a second beside %d open streams for %s; %s, %d processors (%s) for all hosts, callers and vendors together, with a load average of %s before.\n",
		r.begun.UTC().Format("2006-01-02 15:04 MST"), r.rate, r.streams, r.took.Round(time.Second), r.commit, runtime.NumCPU(), processor(), r.busy)
	fmt.Fprintf(&b, "%d requests reached a vendor, %d have one row: %s.\n\n![The run, second by second](cluster.svg)\n\n", r.books.accepted, r.books.once, outcomes(r.books.outcomes))
	b.WriteString("| phase | seconds | requests | failed | p50 | p99 | longest without an answer | budget, dollars | spent | may be above |\n|---|---|---|---|---|---|---|---|---|---|\n")
	for i, p := range r.what {
		of, took := r.of(i)
		failed := map[string]int{}
		var durations []time.Duration
		for _, a := range of {
			if a.kind == whole && !a.drip {
				durations = append(durations, a.ended.Sub(a.begun))
			}
			if a.kind != whole && a.kind != overBudget {
				failed[a.kind]++
			}
		}
		slices.Sort(durations)
		bill := r.bills[i]
		fmt.Fprintf(&b, "| %s | %.0f | %d | %s | %s | %s | %s | %s | %s | %s |\n", p.name, took.Seconds(), len(of), outcomes(failed),
			milliseconds(quantile(durations, 0.5)), milliseconds(quantile(durations, 0.99)), milliseconds(r.gap(of)), dollars(bill.limit), dollars(bill.spent), dollars(bill.above))
	}
	b.WriteString(`
p50 and p99 are times of whole answers, open streams excluded; the time without an answer is the longest between
two whole answers to anyone. Requests that a budget refused are not failed.

A database that does not answer is one whose processes are all stopped, as by a disk that does not answer. On a slow disk each
write to the log of the primary database, and each sync of it, takes ` + milliseconds(slowBy) + ` longer. A clock that jumps is the clock of one
core and of one edge ([what a jump does](../operation.md#when-the-clock-jumps)): their programs are built for the storm with a clock that
it can set, since the hosts share the machine's. The clocks of the databases do not jump.

Not done: netem, which not each kernel has: the switch between the hosts delays and loses frames itself.
`)
	if err := noDisk(); err != nil {
		fmt.Fprintf(&b, "**Not done: the slow disk.** This machine cannot have one: %v.\n", err)
	}
	return b.String()
}

// of returns the requests of a phase and how long it took.
func (r *report) of(i int) (all []asked, took time.Duration) {
	from, to := r.windows[i].begun.Add(-prelude), r.begun.Add(r.took)
	if i+1 < len(r.windows) {
		to = r.windows[i+1].begun.Add(-prelude)
	}
	for _, a := range r.asked {
		if !a.begun.Before(from) && a.begun.Before(to) {
			all = append(all, a)
		}
	}
	return all, to.Sub(from)
}

// gap is the longest time between two whole answers.
func (r *report) gap(all []asked) (longest time.Duration) {
	var ends []time.Time
	for _, a := range all {
		if a.kind == whole {
			ends = append(ends, a.ended)
		}
	}
	slices.SortFunc(ends, time.Time.Compare)
	for i := 1; i < len(ends); i++ {
		longest = max(longest, ends[i].Sub(ends[i-1]))
	}
	return longest
}

func quantile(sorted []time.Duration, q float64) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[int(q*float64(len(sorted)-1))]
}

func milliseconds(d time.Duration) string {
	if d < 10*time.Millisecond {
		return fmt.Sprintf("%.1f ms", d.Seconds()*1e3)
	}
	return fmt.Sprintf("%.0f ms", d.Seconds()*1e3)
}

func dollars(nano int64) string { return fmt.Sprintf("%.6f", float64(nano)/1e9) }

// outcomes lists counts by name.
func outcomes(counts map[string]int) string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		all = append(all, fmt.Sprintf("%d %s", counts[name], name))
	}
	if len(all) == 0 {
		return "0"
	}
	return strings.Join(all, ", ")
}

// busyness is the machine's load average of the last minute.
func busyness() string {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "an unknown number"
	}
	average, _, _ := strings.Cut(string(text), " ")
	return average
}

// revision is the commit that was run.
func revision() string {
	out, err := exec.Command("git", "log", "-1", "--format=commit %h").Output()
	if err != nil {
		return "no commit"
	}
	return strings.TrimSpace(string(out))
}

// processor is the model of the machine's processors.
func processor() string {
	text, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return runtime.GOARCH
	}
	for line := range strings.Lines(string(text)) {
		if name, is := strings.CutPrefix(line, "model name\t: "); is {
			return strings.TrimSpace(name)
		}
	}
	return runtime.GOARCH
}
