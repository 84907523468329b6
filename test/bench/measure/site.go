package measure

import (
	"bytes"
	"context"
	"debug/buildinfo"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

// Site is where and of what a bench was.
type Site struct {
	// Commit is what Genway's programs were built from, "changed" behind it where the tree was not
	// clean; that of the repository where they do not say, and empty outside of one.
	Commit string `json:"commit,omitempty"`
	// Go is the version of Go that they were built with.
	Go string `json:"go,omitempty"`
	// CPU is the name of the processor, Cores how many there are, Kernel the kernel's release.
	CPU    string `json:"cpu,omitempty"`
	Cores  int    `json:"cores"`
	Kernel string `json:"kernel,omitempty"`
	// Rounds and Seconds are those of the main workloads.
	Rounds  int     `json:"rounds"`
	Seconds float64 `json:"seconds"`
}

// Site records where the bench is. What cannot be found out is left out.
func (b *Bench) Site(ctx context.Context, programs string, rounds int) error {
	site := &Site{Cores: runtime.NumCPU(), CPU: processor(), Kernel: kernel(), Rounds: rounds, Seconds: b.config.Duration.Seconds()}
	if info, err := buildinfo.ReadFile(filepath.Join(programs, "genway")); err == nil {
		site.Go = info.GoVersion
		for _, s := range info.Settings {
			switch {
			case s.Key == "vcs.revision":
				site.Commit = s.Value[:min(len(s.Value), 10)] + site.Commit
			case s.Key == "vcs.modified" && s.Value == "true":
				site.Commit += ", changed"
			}
		}
	}
	if site.Commit == "" {
		if commit, err := exec.CommandContext(ctx, "git", "rev-parse", "--short=10", "HEAD").Output(); err == nil {
			site.Commit = string(bytes.TrimSpace(commit))
		}
	}
	return b.results.Encode(Record{Time: time.Now().UTC(), Kind: KindSite, Site: site})
}

func processor() string {
	info, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return ""
	}
	for line := range bytes.Lines(info) {
		if name, value, found := bytes.Cut(line, []byte(":")); found && string(bytes.TrimSpace(name)) == "model name" {
			return string(bytes.TrimSpace(value))
		}
	}
	return ""
}

func kernel() string {
	var name unix.Utsname
	if err := unix.Uname(&name); err != nil {
		return ""
	}
	return unix.ByteSliceToString(name.Release[:])
}
