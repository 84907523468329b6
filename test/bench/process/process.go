package process

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
)

// Command is a program to be started.
type Command struct {
	Path string
	Args []string
	// Env is added to this process's environment.
	Env []string
	// Log is the file its output goes to. Empty is nowhere.
	Log string
	// Core is the core it is kept on.
	Core int
}

// Process is a program that runs. It ends with this process, if not earlier.
type Process struct {
	cmd  *exec.Cmd
	name string
	log  string
	done chan struct{}
	err  error
}

// Start starts a program in a process group of its own, from which Stop takes it: no
// context ends it.
func Start(c Command) (*Process, error) {
	p := &Process{name: filepath.Base(c.Path), log: c.Log, done: make(chan struct{})}
	p.cmd = exec.Command(c.Path, c.Args...) //nolint:gosec,noctx // To run programs is its purpose; Stop ends them.
	p.cmd.Env = append(os.Environ(), c.Env...)
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if c.Log != "" {
		log, err := os.OpenFile(c.Log, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			return nil, err
		}
		defer func() { _ = log.Close() }()
		p.cmd.Stdout, p.cmd.Stderr = log, log
	}
	if err := onCore(c.Core, p.cmd.Start); err != nil {
		return nil, fmt.Errorf("start %s: %w", p.name, err)
	}
	go func() {
		defer close(p.done)
		p.err = p.cmd.Wait()
	}()
	return p, nil
}

// Ended is closed when the program has ended.
func (p *Process) Ended() <-chan struct{} { return p.done }

// Err says how a program that has ended did so, with the end of its log.
func (p *Process) Err() error {
	<-p.done
	log, err := os.ReadFile(p.log)
	if err != nil {
		log = nil
	}
	return fmt.Errorf("%s ended: %w: %s", p.name, errors.Join(p.err), log[max(0, len(log)-2000):])
}

// Stop asks the program to end, makes it after the grace, and returns when it has.
func (p *Process) Stop(grace time.Duration) {
	_ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGTERM)
	timer := time.AfterFunc(grace, func() { _ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL) })
	defer timer.Stop()
	<-p.done
}
