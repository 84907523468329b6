package chaos

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/genway/genway/test/conformance/caller"
	"github.com/genway/genway/test/conformance/server"
	"github.com/genway/genway/test/conformance/vendors"
)

func TestMain(m *testing.M) { server.Main(m, nil) }

// onEach runs a test on each kind of store, one after the other: data is a directory or
// the URL of a PostgreSQL database.
func onEach(t *testing.T, test func(t *testing.T, data string)) {
	t.Helper()
	t.Run("SQLite", func(t *testing.T) { test(t, t.TempDir()) })
	t.Run("PostgreSQL", func(t *testing.T) { test(t, server.StartPostgres(t).Database(t)) })
}

// figure is the number of an environment variable.
func figure(t *testing.T, name string, otherwise int) int {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return otherwise
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		t.Fatalf("%s: %q is no number above 0", name, text)
	}
	return n
}

// configure writes a configuration that leads to the vendors and has prices, and more.
func configure(t *testing.T, v *vendors.Server, more string) (file string) {
	t.Helper()
	dir := t.TempDir()
	prices := filepath.Join(dir, "prices.yaml")
	file = filepath.Join(dir, "genway.yaml")
	for name, text := range map[string]string{prices: vendors.Prices, file: v.Upstreams("upstream-key") + "prices: " + prices + "\n" + more} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return file
}

// client makes a client of a server.
func client(t *testing.T, s *server.Server) *caller.Client {
	t.Helper()
	c, err := caller.New(s.URL(), s.GRPC)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}
