package cores

import (
	"bytes"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/grpc/credentials/insecure"

	"github.com/genway/genway/internal/target"
)

// The log of an edge with a single core says once that the core cannot be reached, and why, and that it is there.
func TestSingleCoreIsLogged(t *testing.T) {
	socket := "unix:" + filepath.Join(t.TempDir(), "core")
	targets, err := target.ParseAll([]string{socket})
	if err != nil {
		t.Fatal(err)
	}
	var lines bytes.Buffer // read when Close has waited for what writes
	conn, err := Dial(targets, slog.New(slog.NewTextHandler(&lines, nil)), insecure.NewCredentials())
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if ask(t, conn) == nil {
			t.Error("a core that is not there answers")
		}
	}
	core := serveAt(t, socket)
	for core.calls.Load() < 3 && t.Context().Err() == nil {
		_ = ask(t, conn)
	}
	conn.Close()
	got := strings.Split(strings.TrimSpace(lines.String()), "\n")
	if len(got) != 2 || !strings.Contains(got[0], `level=WARN msg="core is not ready" core=`+socket+` cause="connection error: `) || !strings.Contains(got[1], `level=INFO msg="core is ready" core=`+socket) {
		t.Errorf("the log has:\n%s", lines.String())
	}
}
