package cluster

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/genway/genway/test/conformance/network"
)

// program is one program on a host, which may be ended and started again. Its output goes to a file,
// since it may be hundreds of megabytes.
type program struct {
	tb   testing.TB
	name string
	host *network.Host
	as   *syscall.Credential // nil for the test's own user
	path string
	args []string
	// up are words that the program writes once it is ready.
	up string
	// clock is the file of a clock that can be stepped; empty for the machine's.
	clock string

	log    string
	from   int64 // where in the file the present process began
	cmd    *exec.Cmd
	exited chan struct{} // closed once the process has ended; err is valid then
	err    error
}

// startWithin and endWithin bound a start and an end, far above what either takes.
const (
	startWithin = time.Minute
	endWithin   = 2 * time.Minute
)

// start starts the program and returns once it is ready.
func (p *program) start() error {
	out, err := os.OpenFile(p.log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return err
	}
	defer out.Close()
	if p.from, err = out.Seek(0, io.SeekEnd); err != nil {
		return err
	}
	// The kernel ends the program with the thread that started it, however the test ends.
	args := []string{"--pdeathsig", "KILL"}
	if p.as != nil {
		args = append(args, "--reuid", strconv.Itoa(int(p.as.Uid)), "--regid", strconv.Itoa(int(p.as.Gid)), "--clear-groups")
	}
	p.cmd, p.exited = p.host.Command("setpriv", append(append(args, p.path), p.args...)...), make(chan struct{})
	p.cmd.Stdout, p.cmd.Stderr, p.cmd.Dir = out, out, filepath.Dir(p.log)
	// All hosts share the processors of one machine, so that how long goroutines wait for one
	// says nothing of the load of a host.
	p.cmd.Env = append(os.Environ(), "GENWAY_OVERLOAD_DELAY=-1ms", "GENWAY_CONSOLE=off", "LC_ALL=C", "TZ=UTC")
	if p.clock != "" {
		p.cmd.Env = append(p.cmd.Env, clockVariable+"="+p.clock)
	}
	started := make(chan error, 1)
	go func(cmd *exec.Cmd, exited chan struct{}) {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			p.err = cmd.Wait()
			close(exited)
		}
	}(p.cmd, p.exited)
	if err := <-started; err != nil {
		return err
	}
	p.tb.Cleanup(p.kill)
	return p.await(p.up, p.from)
}

// await waits until the program has written words behind a place of its log.
func (p *program) await(words string, from int64) error {
	ended := false
	for deadline := time.Now().Add(startWithin); ; {
		text, err := p.written(from)
		switch {
		case err != nil:
			return err
		case bytes.Contains(text, []byte(words)):
			return nil
		case ended:
			return fmt.Errorf("%s ended (%w) before it wrote %q:\n%s", p.name, p.err, words, p.tail())
		case time.Now().After(deadline):
			return fmt.Errorf("%s did not write %q within %s:\n%s", p.name, words, startWithin, p.tail())
		}
		select {
		case <-p.exited:
			ended = true
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// written is what the program has written behind a place of its log.
func (p *program) written(from int64) ([]byte, error) {
	file, err := os.Open(p.log)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	if _, err := file.Seek(from, io.SeekStart); err != nil {
		return nil, err
	}
	return io.ReadAll(file)
}

// place is where the log ends now.
func (p *program) place() int64 {
	info, err := os.Stat(p.log)
	if err != nil {
		return 0
	}
	return info.Size()
}

// tail is the end of the log, but for the lines of single requests.
func (p *program) tail() string {
	text, err := p.written(max(p.from, p.place()-1<<20))
	if err != nil {
		return err.Error()
	}
	var lines []string
	for line := range strings.Lines(string(text)) {
		if !strings.Contains(line, `"msg":"call"`) && !strings.Contains(line, `"msg":"request"`) {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines[max(0, len(lines)-40):], "")
}

// stop ends the program as an operator does (SIGTERM).
func (p *program) stop() error {
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	select {
	case <-p.exited:
	case <-time.After(endWithin):
		p.kill()
		return fmt.Errorf("%s did not end on SIGTERM within %s:\n%s", p.name, endWithin, p.tail())
	}
	if p.err != nil {
		return fmt.Errorf("%s ended: %w\n%s", p.name, p.err, p.tail())
	}
	return nil
}

// kill ends the program at once (SIGKILL), if it runs, and waits for its end.
func (p *program) kill() {
	_ = p.cmd.Process.Kill() // it fails only for a process that has ended
	<-p.exited
}

// ended says that the program's process has ended.
func (p *program) ended() bool {
	select {
	case <-p.exited:
		return true
	default:
		return false
	}
}

// signal sends a signal to the program and to the processes that it has started.
func (p *program) signal(s syscall.Signal) {
	pids := []int{p.cmd.Process.Pid}
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, name := range stats {
		text, err := os.ReadFile(name)
		if err != nil {
			continue // it has ended
		}
		// pid (name) state ppid …, where the name may have blanks.
		fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
		if len(fields) > 1 && fields[1] == strconv.Itoa(pids[0]) {
			if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(name))); err == nil {
				pids = append(pids, pid)
			}
		}
	}
	for _, pid := range pids {
		if err := syscall.Kill(pid, s); err != nil && !errors.Is(err, syscall.ESRCH) {
			p.tb.Errorf("signal %v to %s: %v", s, p.name, err)
		}
	}
}

// within waits until something holds, for two minutes at most.
func within(what string, holds func() bool) error {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(2 * time.Minute); !holds(); <-tick.C {
		if time.Now().After(deadline) {
			return errors.New(what)
		}
	}
	return nil
}
