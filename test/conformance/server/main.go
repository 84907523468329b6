package server

import (
	"errors"
	"fmt"
	"os"
	"testing"
)

// Main is a package's TestMain: it starts one server for all tests of the package,
// hands it over in shared, runs them, stops it and exits. A server that does not end
// cleanly fails the package. With a nil shared it starts nothing; the package still
// needs it, since Main removes the built programs.
func Main(m *testing.M, shared **Server) {
	os.Exit(atHome(func() int { return run(m, shared) }))
}

// atHome runs tests with a data directory of their own for programs that are given none:
// those on PostgreSQL keep the ledger's journal there.
func atHome(run func() int) (code int) {
	home, err := os.MkdirTemp("", "genway-home-")
	if err == nil {
		err = errors.Join(os.Setenv("GENWAY_DATA", home), setTransport(home))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "prepare the tests:", err)
		return 1
	}
	code = run()
	if err := errors.Join(binaries.remove(), os.RemoveAll(home)); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	return code
}

// MainWays is Main with a gateway before the sandbox for each kind of upstream, and with what
// more adds.
func MainWays(m *testing.M, shared **Ways, more ...func(*Ways) error) {
	os.Exit(atHome(func() int { return runWays(m, shared, more) }))
}

func runWays(m *testing.M, shared **Ways, more []func(*Ways) error) int {
	w, err := LaunchWays()
	if err != nil {
		fmt.Fprintln(os.Stderr, "start the servers:", err)
		return 1
	}
	for _, add := range more {
		if err := add(w); err != nil {
			fmt.Fprintln(os.Stderr, "start the servers:", errors.Join(err, w.Stop()))
			return 1
		}
	}
	*shared = w
	code := m.Run()
	if err := w.Stop(); err != nil {
		fmt.Fprintln(os.Stderr, "stop the servers:", err)
		return 1
	}
	return code
}

func run(m *testing.M, shared **Server) int {
	if shared == nil {
		return m.Run()
	}
	s, err := Launch(Options{})
	if err != nil {
		fmt.Fprintln(os.Stderr, "start the server:", err)
		return 1
	}
	*shared = s
	code := m.Run()
	if err := s.Stop(); err != nil {
		fmt.Fprintln(os.Stderr, "stop the server:", err)
		return 1
	}
	return code
}
