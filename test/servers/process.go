//go:build unix

package servers

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// startWithin bounds a server's start.
const startWithin = 60 * time.Second

// process is a server that runs.
type process struct {
	cmd   *exec.Cmd
	ended chan struct{} // closed when it has, and nothing reads its output any more
}

// start runs a program in dir until a line of its output has the words ready.
func start(dir string, as *syscall.Credential, ready, program string, args ...string) (*process, error) {
	cmd := exec.Command(program, args...)
	cmd.Dir, cmd.Env = dir, environment(dir)
	cmd.SysProcAttr = attributes(as)
	read, write, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer write.Close()
	cmd.Stdout, cmd.Stderr = write, write
	p := &process{cmd: cmd, ended: make(chan struct{})}
	started := make(chan error, 1)
	go p.run(started)
	if err := <-started; err != nil {
		return nil, errors.Join(err, read.Close())
	}
	output := &output{ready: ready, up: make(chan struct{}), done: make(chan struct{})}
	go output.read(read)
	timer := time.NewTimer(startWithin)
	defer timer.Stop()
	select {
	case <-output.up:
		return p, nil
	case <-p.ended:
		_ = write.Close() // or the output had no end
		<-output.done
		return nil, fmt.Errorf("%s ended as it started:\n%s", filepath.Base(program), output)
	case <-timer.C:
		p.signal(syscall.SIGKILL)
		return nil, fmt.Errorf("%s is not up after %s:\n%s", filepath.Base(program), startWithin, output)
	}
}

// run starts the process and waits for it, on one thread: the kernel ends the process
// with the thread that started it, so that a killed test leaves no server behind.
func (p *process) run(started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	err := p.cmd.Start()
	started <- err
	if err == nil {
		_ = p.cmd.Wait() // how it ended is in its output
		close(p.ended)
	}
}

// signal ends the process in the signal's way, if it runs, and waits.
func (p *process) signal(s syscall.Signal) {
	_ = p.cmd.Process.Signal(s) // one that has ended needs none
	<-p.ended
}

// output keeps the last lines of a process's output and looks for the one that says it
// is ready.
type output struct {
	ready    string
	up, done chan struct{}

	mu    sync.Mutex
	lines []string
}

func (o *output) read(from *os.File) {
	defer close(o.done)
	defer from.Close()
	lines := bufio.NewScanner(from)
	isUp := false
	for lines.Scan() {
		o.mu.Lock()
		o.lines = append(o.lines[max(0, len(o.lines)-50):], lines.Text())
		o.mu.Unlock()
		if !isUp && strings.Contains(lines.Text(), o.ready) {
			isUp = true
			close(o.up)
		}
	}
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return strings.Join(o.lines, "\n")
}

// command runs a program of the server's to its end.
func command(dir string, as *syscall.Credential, program string, args ...string) error {
	ctx, cancel := context.WithTimeout(context.Background(), startWithin)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir, cmd.Env = dir, environment(dir)
	cmd.SysProcAttr = attributes(as)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", filepath.Base(program), err, out)
	}
	return nil
}

// environment has no locale, whose words no test could know, and no variable of the
// server's clients.
func environment(dir string) []string {
	return []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "LC_ALL=C", "TZ=UTC"}
}

// directory makes a temporary one for a server, for the user it will be. The path is
// short, since a unix socket's has 107 bytes at most.
func directory(name string) (dir string, as *syscall.Credential, err error) {
	parent := ""
	if os.Geteuid() == 0 {
		if as, err = another(); err != nil {
			return "", nil, err
		}
		parent = "/tmp" // which everyone may enter
	}
	if dir, err = os.MkdirTemp(parent, "genway-"+name+"-"); err != nil {
		return "", nil, err
	}
	if as != nil {
		if err := os.Chown(dir, int(as.Uid), int(as.Gid)); err != nil {
			return "", nil, errors.Join(err, os.RemoveAll(dir))
		}
	}
	return dir, as, nil
}

// another is who root runs a server as: PostgreSQL refuses to run as root.
func another() (*syscall.Credential, error) {
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, uidErr := strconv.ParseUint(u.Uid, 10, 32)
		gid, gidErr := strconv.ParseUint(u.Gid, 10, 32)
		if err := errors.Join(uidErr, gidErr); err != nil {
			return nil, err
		}
		return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, nil
	}
	return nil, errors.New("root cannot run the server, and there is no user postgres or nobody to run it as")
}
