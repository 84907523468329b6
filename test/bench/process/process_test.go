package process

import (
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if mode := os.Getenv("PROCESS_TEST"); mode != "" {
		be(mode)
		return
	}
	goleak.VerifyTestMain(m)
}

// be is the program that the tests start: it takes memory and CPU, says so, and waits
// to be killed, or fails.
func be(mode string) {
	if mode == "fails" {
		os.Stderr.WriteString("no luck\n")
		os.Exit(3)
	}
	memory := make([]byte, 64<<20)
	for i := 0; i < len(memory); i += 4096 {
		memory[i] = 1
	}
	for clock(os.Getpid()) < 50*time.Millisecond {
		memory[0]++
	}
	allowed, _ := os.ReadFile("/proc/self/status")
	os.Stdout.WriteString("Cpus " + allowedList(string(allowed)) + "\n")
	end := make(chan os.Signal, 1)
	signal.Notify(end, syscall.SIGTERM)
	<-end
}

func allowedList(status string) string {
	_, after, _ := strings.Cut(status, "Cpus_allowed_list:\t")
	list, _, _ := strings.Cut(after, "\n")
	return list
}

func start(t *testing.T, mode string, core int) (p *Process, log string) {
	t.Helper()
	log = filepath.Join(t.TempDir(), "log")
	p, err := Start(Command{Path: os.Args[0], Env: []string{"PROCESS_TEST=" + mode}, Log: log, Core: core})
	if err != nil {
		t.Fatal(err)
	}
	return p, log
}

// A program runs on its core, and the kernel's figures for it are those of what it did.
func TestCosts(t *testing.T) {
	cores, err := Cores()
	if err != nil {
		t.Fatal(err)
	}
	core := cores[len(cores)-1]
	p, log := start(t, "works", core)
	group := Group{p}
	defer group.Stop(time.Minute)
	written := ""
	for !strings.HasSuffix(written, "\n") {
		select {
		case <-p.Ended():
			t.Fatal(p.Err())
		default:
		}
		text, err := os.ReadFile(log)
		if err != nil {
			t.Fatal(err)
		}
		written = string(text)
	}
	if written != "Cpus "+strconv.Itoa(core)+"\n" {
		t.Errorf("said %q, want core %d", written, core)
	}
	if cpu := group.CPU(); cpu < 50*time.Millisecond || cpu > time.Minute {
		t.Errorf("CPU %v", cpu)
	}
	if rss, peak := group.RSS(), group.Peak(); rss < 64<<20 || peak < rss {
		t.Errorf("RSS %d, peak %d", rss, peak)
	}
	if err := group.ResetPeak(); err != nil {
		t.Error(err)
	}
	if ids := group.PIDs(); len(ids) != 1 || ids[0] != p.cmd.Process.Pid {
		t.Errorf("processes %v", ids)
	}
	if self := SelfCPU(); self <= 0 {
		t.Errorf("self %v", self)
	}
	if machine, err := MachineCPU(); err != nil || machine <= 0 {
		t.Errorf("machine %v, %v", machine, err)
	}
}

// Descendants count: a shell and what it starts are one.
func TestDescendants(t *testing.T) {
	cores, err := Cores()
	if err != nil {
		t.Fatal(err)
	}
	p, err := Start(Command{Path: "/bin/sh", Args: []string{"-c", "sleep 1000 & wait"}, Core: cores[0]})
	if err != nil {
		t.Fatal(err)
	}
	group := Group{p}
	defer group.Stop(time.Minute)
	for len(group.PIDs()) < 2 {
		select {
		case <-p.Ended():
			t.Fatal(p.Err())
		default:
		}
	}
}

// What ended children have run is in the time of a tree.
func TestTreeCPU(t *testing.T) {
	before := TreeCPU(os.Getpid())
	child := exec.Command("/bin/sh", "-c", "i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done")
	if err := child.Run(); err != nil {
		t.Fatal(err)
	}
	ran := child.ProcessState.UserTime() + child.ProcessState.SystemTime()
	const tick = 10 * time.Millisecond // of user and of system
	if got := TreeCPU(os.Getpid()) - before; ran < 2*tick || got < ran-2*tick {
		t.Errorf("the tree has run %v more, its child %v", got, ran)
	}
}

// A program that ends by itself says why.
func TestFailure(t *testing.T) {
	cores, err := Cores()
	if err != nil {
		t.Fatal(err)
	}
	p, _ := start(t, "fails", cores[0])
	group := Group{p}
	if err := group.Err(); err != nil && !strings.Contains(err.Error(), "exit status") {
		t.Error(err)
	}
	<-p.Ended()
	if err := group.Err(); err == nil || !strings.Contains(err.Error(), "exit status 3") || !strings.Contains(err.Error(), "no luck") {
		t.Error(err)
	}
	if cpu := group.CPU(); cpu != 0 {
		t.Errorf("a process that is gone has run %v", cpu)
	}
	if _, err := Start(Command{Path: "/nonexistent", Core: cores[0]}); err == nil {
		t.Error("started what is not there")
	}
}
