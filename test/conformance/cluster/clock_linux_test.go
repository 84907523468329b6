package cluster

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// The programs of a cluster are built with a clock that a test can step. What time.Now gives as wall
// time is off by the seconds that a file has, which the program maps; monotonic time goes on, as it does
// when the clock of a machine is set.
const (
	clockVariable = "CLUSTER_TEST_CLOCK"
	clockSource   = `package time

import (
	"sync/atomic"
	"syscall"
	"unsafe"
)

// stepped is how many seconds the wall clock is off, in a file that the process maps.
var stepped = mapStep()

func mapStep() *int64 {
	name, is := syscall.Getenv("` + clockVariable + `")
	if !is {
		return new(int64)
	}
	fd, err := syscall.Open(name, syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
	if err != nil {
		panic("time: open the file of the clock: " + err.Error())
	}
	data, err := syscall.Mmap(fd, 0, 8, syscall.PROT_READ, syscall.MAP_SHARED)
	if err != nil {
		panic("time: map the file of the clock: " + err.Error())
	}
	return (*int64)(unsafe.Pointer(&data[0]))
}

func step() int64 {
	if stepped == nil {
		return 0 // another package reads the clock before this one has its variables
	}
	return atomic.LoadInt64(stepped)
}
`
	clockRead  = "\tsec, nsec, mono := runtimeNow()\n"
	clockWrong = clockRead + "\tsec += step()\n"
)

// buildClocked builds commands whose clock can be stepped into a folder, which it returns.
func buildClocked(dir string, commands ...string) (string, error) {
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return "", fmt.Errorf("go env GOROOT: %w", err)
	}
	source := filepath.Join(strings.TrimSpace(string(root)), "src", "time")
	text, err := os.ReadFile(filepath.Join(source, "time.go"))
	if err != nil {
		return "", err
	}
	if n := strings.Count(string(text), clockRead); n != 1 {
		return "", fmt.Errorf("the package time of this version of Go reads the clock in %d places, not one: %q", n, clockRead)
	}
	overlay := map[string]string{}
	for name, content := range map[string]string{"time.go": strings.Replace(string(text), clockRead, clockWrong, 1), "step.go": clockSource} {
		overlay[filepath.Join(source, name)] = filepath.Join(dir, name)
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			return "", err
		}
	}
	list, err := json.Marshal(map[string]any{"Replace": overlay})
	if err != nil {
		return "", err
	}
	file := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(file, list, 0o600); err != nil {
		return "", err
	}
	bin := filepath.Join(dir, "clocked") + string(filepath.Separator)
	args := []string{"build", "-overlay", file, "-o", bin}
	for _, name := range commands {
		args = append(args, "./cmd/"+name)
	}
	build := exec.Command("go", args...)
	build.Dir = "../../.."
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("go %s: %w\n%s", strings.Join(args, " "), err, out)
	}
	return bin, nil
}

// step sets how far the clock of a program is off.
func (p *program) step(by time.Duration) error {
	// The file keeps its size, since the program has it mapped.
	file, err := os.OpenFile(p.clock, os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer file.Close()
	_, err = file.Write(binary.NativeEndian.AppendUint64(nil, uint64(by/time.Second)))
	return err
}

// stamped says that the program has written a line behind a place of its log by a clock that is off by so much.
func (p *program) stamped(by time.Duration, from int64) bool {
	text, err := p.written(from)
	if err != nil {
		return false
	}
	for line := range bytes.Lines(text) {
		var r struct {
			Time time.Time `json:"time"`
		}
		if json.Unmarshal(line, &r) == nil && (time.Until(r.Time)-by).Abs() < time.Hour {
			return true
		}
	}
	return false
}
