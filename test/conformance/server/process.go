package server

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"
)

const (
	// startTimeout bounds a start, endTimeout an end: far above what either takes,
	// for a loaded machine.
	startTimeout = 3 * time.Minute
	endTimeout   = 3 * time.Minute
)

// Process is one running command. Its standard error is read as JSON log lines.
type Process struct {
	name   string
	cmd    *exec.Cmd
	exited chan struct{} // closed once the command has ended and its log is read
	err    error         // of the end; valid once exited is closed

	mu      sync.Mutex
	log     strings.Builder
	records []map[string]string
	changed chan struct{} // closed and replaced at each record
}

// StartProcess builds and starts a command. The caller stops it.
func StartProcess(name string, args ...string) (*Process, error) {
	return startProcess(nil, name, args...)
}

// startProcess does so with further variables of the environment.
func startProcess(env []string, name string, args ...string) (*Process, error) {
	path, err := Binary(name)
	if err != nil {
		return nil, err
	}
	return startProgram(env, name, path, args...)
}

// StartProgram starts the program of a file, which failures name. The caller stops it.
func StartProgram(name, path string, args ...string) (*Process, error) {
	return startProgram(nil, name, path, args...)
}

func startProgram(env []string, name, path string, args ...string) (*Process, error) {
	p := &Process{name: name, exited: make(chan struct{}), changed: make(chan struct{})}
	p.cmd = exec.Command(path, args...)
	// On a machine that is busy with the tests themselves requests would be refused that
	// these want answers to. A variable of the caller's goes before this one.
	p.cmd.Env = append([]string{"GENWAY_OVERLOAD_DELAY=-1ms"}, append(os.Environ(), env...)...)
	stderr, err := p.cmd.StderrPipe()
	if err != nil {
		return nil, err
	}
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	go func() {
		p.read(stderr)
		p.err = p.cmd.Wait()
		close(p.exited)
	}()
	return p, nil
}

// Await waits for the log record with this msg, from the start of the log on, and
// gives its members that are strings. It fails when the process ends first or after
// three minutes.
func (p *Process) Await(msg string) (map[string]string, error) {
	deadline := time.NewTimer(startTimeout)
	defer deadline.Stop()
	for {
		record, changed := p.find(msg)
		if record != nil {
			return record, nil
		}
		select {
		case <-changed:
		case <-p.exited:
			if record, _ := p.find(msg); record != nil {
				return record, nil
			}
			return nil, fmt.Errorf("%s ended (%v) before it logged %q\n%s", p.name, p.cmd.ProcessState, msg, p.Log())
		case <-deadline.C:
			return nil, fmt.Errorf("%s did not say %q\n%s", p.name, msg, p.Log())
		}
	}
}

// AwaitText waits until the log has a text. It fails when the process ends first or after a
// minute.
func (p *Process) AwaitText(text string) error {
	deadline := time.NewTimer(startTimeout)
	defer deadline.Stop()
	for {
		p.mu.Lock()
		found, changed := strings.Contains(p.log.String(), text), p.changed
		p.mu.Unlock()
		if found {
			return nil
		}
		select {
		case <-changed:
		case <-p.exited:
			if strings.Contains(p.Log(), text) {
				return nil
			}
			return fmt.Errorf("%s ended (%v) without the text %q in its log\n%s", p.name, p.cmd.ProcessState, text, p.Log())
		case <-deadline.C:
			return fmt.Errorf("the log of %s has no text %q\n%s", p.name, text, p.Log())
		}
	}
}

// Stop asks the process to end (SIGTERM) and waits for it. A process that does not
// end within three minutes is killed. Any exit code but 0 is an error, with the log.
func (p *Process) Stop() error {
	// A process that has ended already shows in its exit code.
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("stop %s: %w", p.name, err)
	}
	deadline := time.NewTimer(endTimeout)
	defer deadline.Stop()
	select {
	case <-p.exited:
	case <-deadline.C:
		p.Kill()
		return fmt.Errorf("%s did not end on SIGTERM\n%s", p.name, p.Log())
	}
	if p.err != nil {
		return fmt.Errorf("%s ended: %w\n%s", p.name, p.err, p.Log())
	}
	return nil
}

// Kill ends the process at once (SIGKILL) and waits for it.
func (p *Process) Kill() {
	// It fails only for a process that has ended.
	_ = p.cmd.Process.Kill()
	<-p.exited
}

// Signal sends a signal to the process.
func (p *Process) Signal(s os.Signal) error { return p.cmd.Process.Signal(s) }

// Exited is closed once the process has ended.
func (p *Process) Exited() <-chan struct{} { return p.exited }

// Log is what the process has written to its standard error so far.
func (p *Process) Log() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.log.String()
}

func (p *Process) read(r io.Reader) {
	lines := bufio.NewReader(r)
	for {
		line, err := lines.ReadString('\n')
		p.add(line)
		if err != nil {
			return
		}
	}
}

func (p *Process) add(line string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.log.WriteString(line)
	// Lines that are no JSON objects are for people: they stay in the log only.
	var members map[string]any
	if json.Unmarshal([]byte(line), &members) != nil {
		return
	}
	record := map[string]string{}
	for name, value := range members {
		if s, ok := value.(string); ok {
			record[name] = s
		}
	}
	p.records = append(p.records, record)
	close(p.changed)
	p.changed = make(chan struct{})
}

func (p *Process) find(msg string) (map[string]string, <-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, record := range p.records {
		if record["msg"] == msg {
			return record, nil
		}
	}
	return nil, p.changed
}
