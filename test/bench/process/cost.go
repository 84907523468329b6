package process

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Group is the processes that make up one thing, each with its descendants.
type Group []*Process

// Stop ends all, together.
func (g Group) Stop(grace time.Duration) {
	for _, p := range g {
		_ = unix.Kill(-p.cmd.Process.Pid, unix.SIGTERM)
	}
	for _, p := range g {
		p.Stop(grace)
	}
}

// Signal sends a signal to all. One that has ended takes none.
func (g Group) Signal(signal unix.Signal) {
	for _, p := range g {
		_ = unix.Kill(p.cmd.Process.Pid, signal)
	}
}

// Err says how one of the group ended; nil while all run.
func (g Group) Err() error {
	for _, p := range g {
		select {
		case <-p.done:
			return p.Err()
		default:
		}
	}
	return nil
}

// PIDs returns all processes of the group that run now.
func (g Group) PIDs() (ids []int) {
	for _, p := range g {
		ids = append(ids, tree(p.cmd.Process.Pid)...)
	}
	return ids
}

// tree returns a process and its descendants. One that ends meanwhile is left out.
func tree(id int) []int {
	ids := []int{id}
	lists, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", id))
	if err != nil {
		return ids
	}
	for _, list := range lists {
		children, err := os.ReadFile(list) //nolint:gosec // A file of the kernel.
		if err != nil {
			continue
		}
		for field := range strings.FieldsSeq(string(children)) {
			if child, err := strconv.Atoi(field); err == nil {
				ids = append(ids, tree(child)...)
			}
		}
	}
	return ids
}

// CPU is the time the group's processes have run on a CPU, in user mode and in the
// kernel, from the kernel's clock of each (clock_getcpuclockid(3)): the sum of utime
// and stime in /proc/PID/stat, to the nanosecond.
func (g Group) CPU() (total time.Duration) {
	for _, id := range g.PIDs() {
		total += clock(id)
	}
	return total
}

// clock reads a process's CPU clock. A process that has ended has run no more.
func clock(id int) time.Duration {
	const perProcess = 2 // CPUCLOCK_SCHED of the kernel's posix-timers.h
	var spent unix.Timespec
	if err := unix.ClockGettime(int32(^id)<<3|perProcess, &spent); err != nil {
		return 0
	}
	return time.Duration(spent.Nano())
}

// SelfCPU is the time this process has run.
func SelfCPU() time.Duration { return clock(os.Getpid()) }

// RSS is the memory the group holds now, in bytes.
func (g Group) RSS() int64 { return g.status("VmRSS:") }

// Anonymous is the part of RSS that the group has written itself, in bytes: heaps and stacks. The rest
// are pages of files, of which programs share one copy, and how many of them the kernel maps depends
// on its page cache too: two copies of one binary differ by 9 MB.
func (g Group) Anonymous() int64 { return g.status("RssAnon:") }

// Peak is the most it has held since ResetPeak, in bytes: the sum of the processes'
// own peaks.
func (g Group) Peak() int64 { return g.status("VmHWM:") }

func (g Group) status(name string) (bytes int64) {
	for _, id := range g.PIDs() {
		bytes += statusOf(id, name)
	}
	return bytes
}

func statusOf(id int, name string) int64 {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", id))
	if err != nil {
		return 0
	}
	for line := range bytes.Lines(status) {
		rest, found := bytes.CutPrefix(line, []byte(name))
		if !found {
			continue
		}
		kilobytes, err := strconv.ParseInt(string(bytes.TrimSpace(bytes.TrimSuffix(bytes.TrimSpace(rest), []byte("kB")))), 10, 64)
		if err != nil {
			return 0
		}
		return kilobytes << 10
	}
	return 0
}

// ResetPeak begins a new peak.
func (g Group) ResetPeak() error {
	for _, id := range g.PIDs() {
		const peak = "5" // as proc_pid_clear_refs(5) has it
		if err := os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", id), []byte(peak), 0); err != nil {
			return fmt.Errorf("reset the peak of memory: %w", err)
		}
	}
	return nil
}

// TreeCPU is the time that a process, which need not be one of ours, and its descendants have run.
// Children that have ended count by what the kernel keeps of them, in hundredths of a second each.
func TreeCPU(id int) time.Duration {
	total := reaped(id)
	for _, one := range tree(id) {
		total += clock(one)
	}
	return total
}

// reaped is the time that the ended children of a process had run: cutime and cstime of proc(5).
func reaped(id int) time.Duration {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", id))
	if err != nil {
		return 0
	}
	// The name, the second field, is in parentheses and may hold anything.
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	const cutime, perSecond = 13, 100 // behind the name, and USER_HZ
	var ticks int64
	for _, field := range fields[min(cutime, len(fields)):min(cutime+2, len(fields))] {
		n, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			return 0
		}
		ticks += n
	}
	return time.Duration(ticks) * time.Second / perSecond
}
