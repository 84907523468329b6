//go:build unix

package overload

import (
	"errors"
	"os"
	"runtime"
	"syscall"
	"time"
)

// pipe are rounds by Go's scheduler. It looks for events of the network when a processor has nothing to run,
// and otherwise every 10 ms. A byte in a pipe is such an event: a goroutine that waits for it runs
// after all that were runnable when it began to wait.
type pipe struct {
	reader, writer *os.File
	read, write    syscall.RawConn
}

func newRounds() (rounds, error) {
	reader, writer, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	p := &pipe{reader: reader, writer: writer}
	if p.read, err = reader.SyscallConn(); err == nil {
		p.write, err = writer.SyscallConn()
	}
	if err != nil {
		p.close()
		return nil, err
	}
	return p, nil
}

func (p *pipe) round() (took time.Duration, ok bool) {
	var one [1]byte
	written := false
	// A function that returns false is called again after an event.
	err := p.read.Read(func(reader uintptr) bool {
		if !written {
			written = true
			_ = p.write.Write(func(writer uintptr) bool {
				_, _ = syscall.Write(int(writer), one[:])
				return true
			})
			return false
		}
		n, err := syscall.Read(int(reader), one[:])
		return n > 0 || !errors.Is(err, syscall.EAGAIN)
	})
	if err != nil {
		return 0, false
	}
	begin := time.Now()
	runtime.Gosched()
	return time.Since(begin), true
}

func (p *pipe) close() {
	_ = p.reader.Close()
	_ = p.writer.Close()
}
