//go:build unix

package servers

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// Sentinel is a primary, a replica and a sentinel that watches both, on ports of 127.0.0.1.
type Sentinel struct {
	Primary, Replica *Redis
	sentinel         *Redis
	port             string
}

// sentinelMaster is the name by which the sentinel knows the servers.
const sentinelMaster = "limits"

// sentinelPatience is longer than a test, in ms.
const sentinelPatience = "3600000"

// NewSentinel starts the three for only this test. The sentinel fails over when Failover says so, and
// not by itself: a machine that is busy would be a dead primary to it. The test's end ends them.
func NewSentinel(tb testing.TB) *Sentinel {
	tb.Helper()
	s := &Sentinel{}
	tb.Cleanup(s.end)
	if err := s.start(); err != nil {
		tb.Fatal(err)
	}
	return s
}

func (s *Sentinel) start() error {
	var primary, replica string
	var err error
	if s.Primary, primary, err = startOnPort(); err != nil {
		return err
	}
	if s.Replica, replica, err = startOnPort("--replicaof", "127.0.0.1 "+primary, "--repl-diskless-sync-delay", "0"); err != nil {
		return err
	}
	if err := s.Replica.await("master_link_status:up", "INFO", "replication"); err != nil {
		return err
	}
	for range tries {
		if err = s.startSentinel(primary); err == nil {
			break
		}
	}
	if err != nil {
		return err
	}
	return s.sentinel.await("127.0.0.1:"+replica, "SENTINEL", "REPLICAS", sentinelMaster)
}

func (s *Sentinel) startSentinel(primary string) error {
	dir, as, err := directory("sentinel")
	if err != nil {
		return err
	}
	if s.port, err = freePort(); err != nil {
		return err
	}
	r := &Redis{program: s.Primary.program, dir: dir, as: as}
	file := filepath.Join(dir, "sentinel.conf")
	text := strings.Join([]string{
		"bind 127.0.0.1", "port " + s.port, "unixsocket " + r.Socket(), "unixsocketperm 777", "dir " + dir,
		"sentinel monitor " + sentinelMaster + " 127.0.0.1 " + primary + " 1",
		"sentinel down-after-milliseconds " + sentinelMaster + " " + sentinelPatience,
		"sentinel failover-timeout " + sentinelMaster + " " + sentinelPatience, "",
	}, "\n")
	if err := errors.Join(os.WriteFile(file, []byte(text), 0o600), r.own(file)); err != nil {
		return err
	}
	if r.process, err = start(dir, as, "Sentinel ID is", r.program, file, "--sentinel"); err != nil {
		return errors.Join(err, os.RemoveAll(dir))
	}
	s.sentinel = r
	return nil
}

// URL is the servers', for the limits' store: redis+sentinel://….
func (s *Sentinel) URL() string {
	return "redis+sentinel://127.0.0.1:" + s.port + "/" + sentinelMaster
}

// Failover has the sentinel make the replica the primary.
func (s *Sentinel) Failover() error {
	return s.sentinel.await("OK", "SENTINEL", "FAILOVER", sentinelMaster) // the replica may be unknown or busy at first
}

// KillPrimary ends the primary at once.
func (s *Sentinel) KillPrimary() { s.Primary.Kill() }

// FreezePrimary stops the primary where it is: its connections stay open and silent.
func (s *Sentinel) FreezePrimary() { _ = s.Primary.process.cmd.Process.Signal(syscall.SIGSTOP) }

func (s *Sentinel) end() {
	for _, r := range []*Redis{s.sentinel, s.Replica, s.Primary} {
		if r != nil {
			r.End()
		}
	}
}
