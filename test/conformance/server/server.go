// Package server runs the gateway's real programs for the conformance tests: it
// builds the commands once per test process, starts them on free ports with a data
// directory of their own, makes one key a group, and ends them as an operator does.
//
// A test package shares one server:
//
//	var gateway *server.Server
//
//	func TestMain(m *testing.M) { server.Main(m, &gateway) }
//
// It must not import the gateway's own packages: the tests know what is promised on
// the wire and nothing else.
package server

import (
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
)

// Groups are the key groups. A server has one key of each.
func Groups() []string {
	return []string{"chat", "messages", "generatecontent", "internal"}
}

// Options are how a server is started. The zero value is `genway serve` with an
// empty data directory.
type Options struct {
	// Args are further flags of `genway serve`, or of genway-core with TwoProcess.
	Args []string
	// EdgeArgs are further flags of genway-edge. They need TwoProcess.
	EdgeArgs []string
	// TwoProcess runs genway-core and genway-edge, joined by a unix socket.
	TwoProcess bool
	// Cleartext is for tests that write to the JSON side's connections themselves: there is
	// no TLS, whatever the transport of the tests.
	Cleartext bool
	// Data is an existing data directory, or the URL of a PostgreSQL database, which
	// Stop keeps. Empty is a new directory, which Stop removes.
	Data string
	// Keys are keys of that data, one by group. Without them new ones are made.
	Keys map[string]string
	// Env is further variables of the programs, each NAME=value.
	Env []string
}

// Server is a running gateway.
type Server struct {
	// HTTP is host:port of the JSON side.
	HTTP string
	// GRPC is the gRPC side as a grpc-go target: host:port, or unix:PATH with
	// TwoProcess.
	GRPC string
	// Keys is one key by group.
	Keys map[string]string
	// Data is the data directory, or the URL of the database.
	Data string
	// Core and Edge are the processes; the same one without TwoProcess.
	Core, Edge *Process

	scheme string   // of URL
	owned  []string // directories to remove
}

// URL is the base address of the JSON side: http://host:port or https://host:port, without
// a slash.
func (s *Server) URL() string { return cmp.Or(s.scheme, "http") + "://" + s.HTTP }

// Launch starts a server and returns once it listens on both sides. The caller
// stops it.
func Launch(o Options) (*Server, error) {
	s := &Server{Data: o.Data, Keys: map[string]string{}}
	err := s.launch(o)
	if err != nil {
		return nil, errors.Join(err, s.Stop())
	}
	return s, nil
}

// Start launches a server for one test, which fails when the server does not start
// or does not end cleanly.
func Start(tb testing.TB, o Options) *Server {
	tb.Helper()
	s, err := Launch(o)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := s.Stop(); err != nil {
			tb.Error(err)
		}
	})
	return s
}

func (s *Server) launch(o Options) error {
	if s.Data == "" {
		data, err := s.directory("genway-data-")
		if err != nil {
			return err
		}
		s.Data = data
	}
	maps.Copy(s.Keys, o.Keys)
	for _, group := range Groups() {
		if s.Keys[group] != "" {
			continue
		}
		key, err := CreateKey(s.Data, group, "conformance-"+strings.ToLower(rand.Text()[:8])) // names are taken once, data may be another server's
		if err != nil {
			return err
		}
		s.Keys[group] = key
	}
	if o.TwoProcess {
		return s.launchTwo(o)
	}
	args := append([]string{"serve"}, At(s.Data)...)
	args = append(args, "--http", "127.0.0.1:0", "--grpc", "127.0.0.1:0", "--log-format", "json")
	process, err := startProcess(o.Env, "genway", append(args, o.encrypted(o.Args)...)...)
	if err != nil {
		return err
	}
	s.Core, s.Edge = process, process
	up, err := process.Await("genway is up")
	if err != nil {
		return err
	}
	s.GRPC = up["grpc"]
	s.listens(up)
	return nil
}

func (s *Server) launchTwo(o Options) error {
	// A directory of its own keeps the path below the 108 bytes a socket's may have.
	sockets, err := s.directory("genway-")
	if err != nil {
		return err
	}
	s.GRPC = "unix:" + filepath.Join(sockets, "core")
	s.Core, err = startProcess(o.Env, "genway-core", slices.Concat(At(s.Data), []string{"--grpc", s.GRPC, "--log-format", "json"}, o.Args)...)
	if err != nil {
		return err
	}
	if _, err := s.Core.Await("core is up"); err != nil {
		return err
	}
	s.Edge, err = startProcess(o.Env, "genway-edge", append([]string{"--core", s.GRPC, "--http", "127.0.0.1:0", "--log-format", "json"}, o.encrypted(o.EdgeArgs)...)...)
	if err != nil {
		return err
	}
	up, err := s.Edge.Await("edge is up")
	s.listens(up)
	return err
}

// listens notes where the JSON side is, by the first line of the edge's log.
func (s *Server) listens(up map[string]string) {
	if s.HTTP, s.scheme = up["https"], "https"; s.HTTP == "" {
		s.HTTP, s.scheme = up["http"], "http"
	}
}

// Stop ends the processes, the edge first, and removes what Launch made. The error
// reports a process that did not end with exit code 0, with its log. A second
// call does nothing.
func (s *Server) Stop() error {
	var errs []error
	for _, p := range []*Process{s.Edge, s.Core} {
		if p != nil {
			errs = append(errs, p.Stop())
		}
	}
	s.Edge, s.Core = nil, nil
	for _, dir := range s.owned {
		errs = append(errs, os.RemoveAll(dir))
	}
	s.owned = nil
	return errors.Join(errs...)
}

func (s *Server) directory(pattern string) (string, error) {
	dir, err := os.MkdirTemp("", pattern)
	if err == nil {
		s.owned = append(s.owned, dir)
	}
	return dir, err
}

// Address is a HOST:PORT of this machine that no other test is given, for a program that comes back to
// where it was, or cannot say which port it has. A port that was free a moment ago would not do: another
// test, or a connection, may have it by now. On Linux the host is one of the loopback's own to this
// process; elsewhere it is the usual one.
func Address() string {
	const firstPort = 20000 // below those that the system gives out
	host := "127.0.0.1"
	if pid := os.Getpid(); runtime.GOOS == "linux" {
		host = fmt.Sprintf("127.%d.%d.%d", 64+pid>>16&127, pid>>8&255, pid&255)
	}
	return fmt.Sprintf("%s:%d", host, firstPort+addresses.Add(1))
}

// addresses is how many Address has given out.
var addresses atomic.Int64

// At are the flags that name the store of the data: a directory, or a PostgreSQL database, whose programs
// have a directory of their own for the ledger's journal: a program books what it finds there, in its own database.
func At(data string) []string {
	if u, err := url.Parse(data); err == nil && u.Scheme == "postgres" {
		return []string{"--store", data, "--data", filepath.Join(os.Getenv("GENWAY_DATA"), u.Host+u.Path)}
	}
	return []string{"--data", data}
}

// CreateKey makes a key in a data directory, or a database, by the administrator's
// command, with further flags of it, and returns the key. The directory is made when it
// does not exist.
func CreateKey(data, group, name string, flags ...string) (string, error) {
	out, err := Output("genway", slices.Concat([]string{"keys", "create", "--group", group, "--name", name}, At(data), flags)...)
	if err != nil {
		return "", err
	}
	key := strings.TrimSpace(out)
	if key == "" || strings.ContainsAny(key, " \n") {
		return "", fmt.Errorf("genway keys create printed %q, not just a key", out)
	}
	return key, nil
}
