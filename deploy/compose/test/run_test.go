package compose

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestU35Run starts the services of compose.yaml in their order, waits for their health, makes a key
// as the README says, and asks through the balancer: the first answer comes within 60 s, both edges
// and both cores serve, Prometheus reads all of them, and an edge that ends takes no request with it.
//
// It needs Linux, root, ip, dnsmasq and the programs of the other images; elsewhere it says so.
// Grafana and the load generator are not run.
func TestU35Run(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("SKIPPED: the services of compose.yaml were not run: that takes root")
	}
	for _, name := range []string{"ip", "dnsmasq", "chroot", "setpriv", "curl"} {
		find(t, name)
	}
	programs := others(t)
	binaries := t.TempDir()
	build := exec.CommandContext(t.Context(), "go", "build", "-C", "../../..", "-tags=grpcnotrace", "-trimpath", "-o", binaries+"/", "./cmd/...")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	e := newEngine(t, project(t, "admin"))
	begun := time.Now()
	for name, service := range e.project.Services {
		p, ok := programs[name]
		if !ok && service.Build != nil {
			p, ok = own(t, binaries, service.Build.Target), true
		}
		if ok {
			e.create(service, p)
		} else if name != "grafana" {
			t.Errorf("nothing stands in for the image of %s", name)
		}
	}
	caller := e.host("caller")
	e.join(caller, "front")
	started := map[string]bool{"admin": true}
	for len(started) < len(e.containers) {
		for name, containers := range e.containers {
			waits := started[name]
			for dependency := range containers[0].service.DependsOn {
				waits = waits || !started[dependency]
			}
			if waits {
				continue
			}
			for _, c := range containers {
				e.start(c)
			}
			started[name] = true
		}
	}
	admin := e.containers["admin"][0]
	e.names(admin)
	key, err := e.exec(admin, append(admin.program.command(e, admin), "keys", "create", "--group", "chat")...)
	if err != nil || !strings.HasPrefix(key, "gwk_") {
		t.Fatalf("%v: %q", err, key)
	}

	balancer := e.containers["balancer"][0].addresses["front"]
	ask := func() string {
		out, _ := exec.CommandContext(t.Context(), "ip", "netns", "exec", caller, "curl", "-s", "-m", "20", "-w", "\n%{http_code}",
			fmt.Sprintf("http://%s:8080/v1/chat/completions", balancer), "-H", "Authorization: Bearer "+key,
			"-d", `{"model":"sandbox-text","messages":[{"role":"user","content":"Hello."}]}`).Output()
		return string(out)
	}
	answered := func(answer string) bool {
		return strings.HasSuffix(answer, "\n200") && strings.Contains(answer, `"finish_reason"`)
	}
	for answer := ask(); !answered(answer); answer = ask() {
		if time.Since(begun) > time.Minute {
			t.Fatalf("no answer within a minute: %q\n%s", answer, e.containers["balancer"][0].log)
		}
	}
	t.Logf("the first answer came after %s", time.Since(begun).Round(100*time.Millisecond))
	for range 20 {
		if answer := ask(); !answered(answer) {
			t.Errorf("%q", answer)
		}
	}
	for _, c := range slices.Concat(e.containers["edge"], e.containers["core"]) {
		c.says(t, `"protocol":"chat_completions"`)
	}
	e.scraped(t)

	edge := e.containers["edge"][0]
	if err := edge.process.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	asked := 0
	for running := true; running; asked++ {
		select {
		case <-edge.ended:
			running = false
		default:
		}
		if answer := ask(); !answered(answer) {
			t.Errorf("as an edge ends: %q", answer)
		}
	}
	t.Logf("%d requests were answered while an edge ended", asked)
}

// says waits until a container's log has a text.
func (c *container) says(t *testing.T, text string) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); !strings.Contains(c.log.String(), text); time.Sleep(100 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Errorf("%s has not said %s:\n%s", c.host, text, c.log)
			return
		}
	}
}

// scraped waits until Prometheus has read all edges and cores.
func (e *engine) scraped(t *testing.T) {
	t.Helper()
	c := e.containers["prometheus"][0]
	want := len(e.containers["edge"]) + len(e.containers["core"])
	var up int
	var out string
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(time.Second) {
		var answer struct {
			Data struct {
				ActiveTargets []struct{ Health string }
			}
		}
		out, _ = e.exec(c, "curl", "-s", "-m", "5", "http://127.0.0.1:9090/api/v1/targets")
		up = 0
		if json.Unmarshal([]byte(out), &answer) == nil {
			for _, target := range answer.Data.ActiveTargets {
				if target.Health == "up" {
					up++
				}
			}
		}
		if up == want {
			return
		}
	}
	t.Errorf("Prometheus reads %d of %d: %s\n%s", up, want, out, c.log)
}
