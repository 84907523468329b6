package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// gate is a log that takes nothing until it is opened.
type gate struct {
	safeBuffer

	opened chan struct{}
}

func (g *gate) Write(p []byte) (int, error) {
	<-g.opened
	return g.safeBuffer.Write(p)
}

// A log that cannot be written delays only warnings, by at most one second each, and the memory of its
// lines is bounded. Once it can be written again, lines come in order, and one says how many are missing.
func TestLogThatStalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out := &gate{opened: make(chan struct{})}
		log, end := Log{Format: "json", Level: slog.LevelInfo}.LoggerTo(out)
		begun := time.Now()
		log.Warn("the first")
		text := strings.Repeat("x", 1000)
		const all = 20_000
		for i := range all {
			log.Info(text, "i", i)
		}
		for range 100 {
			log.Warn("stalled")
		}
		end()
		if waited := time.Since(begun); waited > 2*flushTimeout {
			t.Errorf("the callers of the log waited %s", waited)
		}
		close(out.opened)
		synctest.Wait()
		lost := LinesLost(log)()
		if lost == 0 {
			t.Error("nothing is lost of more than is gathered")
		}
		end()
		var said int64
		lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
		for _, line := range lines {
			var got struct {
				Msg   string
				Level string
				Lines int64
			}
			if err := json.Unmarshal([]byte(line), &got); err != nil {
				t.Fatalf("%v: %q", err, line)
			}
			if strings.HasPrefix(got.Msg, "lines of the log are lost") {
				said += got.Lines
			}
		}
		if said != lost || int64(len(lines)-1)+said != all+101 {
			t.Errorf("%d lines came and %d are said to be lost, want %d of %d", len(lines), said, lost, all+101)
		}
		if n := len(out.String()); n > maxGathered+2*flushAt {
			t.Errorf("%d bytes gathered", n)
		}
	})
}

// disk is a file system with so much room.
type disk struct {
	mu   sync.Mutex
	b    bytes.Buffer
	room int
}

var errFull = errors.New("no space left on device")

func (d *disk) Write(p []byte) (int, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	n := min(len(p), d.room)
	d.b.Write(p[:n])
	d.room -= n
	if n < len(p) {
		return n, errFull
	}
	return n, nil
}

// Lines that a full disk does not take are counted, and the first line after it begins a line of the file.
func TestLogOnAFullDisk(t *testing.T) {
	for _, format := range []string{"json", "text"} {
		out := &disk{room: 250}
		log, end := Log{Format: format}.LoggerTo(out)
		for i := range 10 {
			log.Warn(fmt.Sprint("before-", i))
		}
		out.mu.Lock()
		out.room = 1 << 20
		whole := int64(bytes.Count(out.b.Bytes(), []byte("\n")))
		out.mu.Unlock()
		log.Warn("again")
		log.Info("after")
		end()
		end() // what the first one has found missing
		lines := strings.Split(strings.TrimSuffix(out.b.String(), "\n"), "\n")
		var found []string
		for _, line := range lines[whole+1:] { // behind the one that is torn
			switch {
			case strings.Contains(line, "again"), strings.Contains(line, "after"):
				found = append(found, line)
			case !strings.Contains(line, "lines of the log are lost") || !strings.Contains(line, strconv.FormatInt(10-whole, 10)):
				t.Errorf("%s: %q", format, line)
			}
		}
		if lost := LinesLost(log)(); lost != 10-whole || len(found) != 2 {
			t.Errorf("%s: %d lines are lost, want %d; after the torn one came %q", format, lost, 10-whole, lines[whole+1:])
		}
	}
}
