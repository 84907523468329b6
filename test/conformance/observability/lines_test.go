package observability

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/genway/genway/test/conformance/server"
	"github.com/genway/genway/test/conformance/vendors"
)

// lines are the JSON lines of a process's log.
func lines(p *server.Process) (all []map[string]any) {
	for line := range strings.Lines(p.Log()) {
		var fields map[string]any
		if json.Unmarshal([]byte(line), &fields) == nil {
			all = append(all, fields)
		}
	}
	return all
}

// awaitLine waits for the line of a request.
func awaitLine(t *testing.T, p *server.Process, msg, id string) map[string]any {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(3 * time.Minute); ; <-tick.C {
		for _, line := range lines(p) {
			if line["msg"] == msg && line["request_id"] == id {
				return line
			}
		}
		if time.Now().After(deadline) {
			t.Fatalf("no line %q of %s\n%s", msg, id, p.Log())
		}
	}
}

// document is docs/reference/telemetry.md.
func document(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "reference", "telemetry.md"))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// section is the part of a page below a heading.
func section(t *testing.T, page, heading string) string {
	t.Helper()
	_, rest, found := strings.Cut(page, "\n## "+heading+"\n")
	if !found {
		t.Fatalf("no section %s", heading)
	}
	text, _, _ := strings.Cut(rest, "\n## ")
	return text
}

var quoted = regexp.MustCompile("`([^`]+)`")

// fieldsOf are the fields of the log that are documented for a side: edge or core.
func fieldsOf(t *testing.T, side string) map[string]bool {
	t.Helper()
	fields := map[string]bool{}
	for line := range strings.Lines(section(t, document(t), "Logs")) {
		cells := strings.Split(line, "|")
		if len(cells) < 4 {
			continue
		}
		if of := strings.TrimSpace(cells[2]); of == side || of == "both" {
			for _, name := range quoted.FindAllStringSubmatch(cells[1], -1) {
				fields[name[1]] = true
			}
		}
	}
	return fields
}

// openSocket has a request of a WebSocket answered, and waits for its line.
func openSocket(t *testing.T, r *rig) {
	t.Helper()
	conn, resp, err := websocket.Dial(t.Context(), r.URL()+"/v1/responses", &websocket.DialOptions{HTTPHeader: http.Header{"Authorization": {"Bearer " + r.Keys["chat"]}}})
	if err != nil {
		t.Fatal(err)
	}
	if resp.Body != nil {
		defer resp.Body.Close()
	}
	defer func() { _ = conn.CloseNow() }()
	if err := conn.Write(t.Context(), websocket.MessageText, []byte(`{"type":"response.create","model":"missing","input":"hi"}`)); err != nil {
		t.Fatal(err)
	}
	_, message, err := conn.Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(3 * time.Minute); ; <-tick.C {
		if slices.ContainsFunc(lines(r.Edge), func(line map[string]any) bool { return line["msg"] == "request" && line["socket"] != nil }) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("no line of a request of a WebSocket, which was answered %s", message)
		}
	}
}

// Each field of the two lines is documented, and each documented field comes of a request
// that it is about.
func documentedFields(t *testing.T, on bases) {
	forms(t, on, func(t *testing.T, two bool, data string) {
		exporting(t, "grpc", "always_on")
		r := start(t, two, data, func(string, string) []string { return nil })
		for n, c := range []struct{ do, words string }{{vendors.BrokenChat, "traced"}, {vendors.Cut, "drain-messages"}, {vendors.Broken, "untraced"}, {"missing", "untraced"}} {
			id, _ := ask(t, r, vendors.Model(c.do, c.words, n), r.Keys["chat"], "01")
			awaitLine(t, r.Edge, "request", id)
			awaitLine(t, r.Core, "call", id)
		}
		openSocket(t, r)
		// Fields of rare requests: a grave failure of our own, an answer whose usage cannot be true, one that lost members,
		// an id of the caller's own.
		rare := map[string]bool{"cause": true, "usage_source": true, "rejected_input_tokens": true, "rejected_output_tokens": true, "losses": true, "client_request_id": true}
		for msg, c := range map[string]struct {
			side string
			p    *server.Process
		}{"request": {"edge", r.Edge}, "call": {"core", r.Core}} {
			documented := fieldsOf(t, c.side)
			seen := map[string]bool{}
			for _, line := range lines(c.p) {
				if line["msg"] != msg {
					continue
				}
				for name := range line {
					seen[name] = true
				}
			}
			for _, own := range []string{"time", "level", "msg"} {
				delete(seen, own)
			}
			for name := range seen {
				if !documented[name] {
					t.Errorf("the line %q has %s, which the table of Logs in docs/reference/telemetry.md does not have", msg, name)
				}
			}
			for name := range documented {
				if !seen[name] && !rare[name] {
					t.Errorf("the line %q never has %s, which the table of Logs in docs/reference/telemetry.md has", msg, name)
				}
			}
		}
	})
}
