package network

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"sync"
	"testing"
	"time"

	"github.com/genway/genway/test/conformance/server"
	"golang.org/x/sys/unix"
)

// Host is a network namespace with one interface, or the test's own namespace.
type Host struct {
	// IP is its address.
	IP string

	namespace string // empty for the test's own
	tap       *os.File
	queue     chan frame
	mac       [6]byte // as its own frames say; zero before the first
}

// frame is what a host is sent, and when it is due.
type frame struct {
	data []byte
	due  time.Time
}

// Link is how frames fare between two hosts, in either direction. The zero value is perfect.
type Link struct {
	Cut   bool
	Delay time.Duration
	// Loss is the share of frames that are lost, from 0 to 1.
	Loss float64
}

// Switch joins hosts. As switches do it learns by a host's frames which address it has, and sends
// it the frames for that address alone, and those for all.
type Switch struct {
	tb      testing.TB
	subnet  string
	running sync.WaitGroup

	mu    sync.Mutex
	hosts []*Host
	links map[[2]*Host]Link
}

// longestQueue is how many frames may be under way to a host; further ones are lost.
const longestQueue = 4096

// NewSwitch makes a switch without hosts on a network of 198.18.0.0/15, which RFC 2544 keeps
// for tests. The test's end removes it with all hosts.
func NewSwitch(tb testing.TB) *Switch {
	tb.Helper()
	s := &Switch{tb: tb, subnet: fmt.Sprintf("198.18.%d", os.Getpid()%254+1), links: map[[2]*Host]Link{}}
	tb.Cleanup(func() {
		s.mu.Lock()
		for _, h := range s.hosts {
			_ = h.tap.Close()
		}
		s.mu.Unlock()
		s.running.Wait()
	})
	return s
}

// Own adds the test's own namespace.
func (s *Switch) Own() *Host { s.tb.Helper(); return s.add("") }

// Add adds a host in a namespace of its own.
func (s *Switch) Add(name string) *Host {
	s.tb.Helper()
	namespace := fmt.Sprintf("genway-%d-%s", os.Getpid(), name)
	s.ip("netns", "add", namespace)
	s.tb.Cleanup(func() { s.ip("netns", "del", namespace) })
	s.ip("-n", namespace, "link", "set", "lo", "up")
	return s.add(namespace)
}

func (s *Switch) add(namespace string) *Host {
	s.tb.Helper()
	number := len(s.hosts) + 1
	device := fmt.Sprintf("gw%d-%d", os.Getpid(), number)
	tap, err := openTap(device)
	if err != nil {
		s.tb.Fatal(err)
	}
	h := &Host{IP: fmt.Sprintf("%s.%d", s.subnet, number), namespace: namespace, tap: tap, queue: make(chan frame, longestQueue)}
	in := []string{}
	if namespace != "" {
		s.ip("link", "set", device, "netns", namespace)
		in = []string{"-n", namespace}
	}
	s.ip(append(in, "addr", "add", h.IP+"/24", "dev", device)...)
	s.ip(append(in, "link", "set", device, "up")...)
	s.mu.Lock()
	s.hosts = append(s.hosts, h)
	s.mu.Unlock()
	done := make(chan struct{})
	s.running.Go(func() { defer close(done); s.forward(h) })
	s.running.Go(func() { h.deliver(done) })
	return h
}

// openTap makes an interface whose frames the test reads and writes. It ends with the file.
func openTap(device string) (*os.File, error) {
	fd, err := unix.Open("/dev/net/tun", unix.O_RDWR|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, fmt.Errorf("open /dev/net/tun: %w", err)
	}
	request, err := unix.NewIfreq(device)
	if err == nil {
		request.SetUint16(unix.IFF_TAP | unix.IFF_NO_PI)
		err = unix.IoctlIfreq(fd, unix.TUNSETIFF, request)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("make interface %s: %w", device, err), unix.Close(fd))
	}
	return os.NewFile(uintptr(fd), device), nil
}

// forward sends what a host sends to all others, until its interface is closed.
func (s *Switch) forward(from *Host) {
	buffer := make([]byte, 64<<10)
	for {
		n, err := from.tap.Read(buffer)
		if err != nil {
			return
		}
		if n < 14 {
			continue // it has no Ethernet header
		}
		s.mu.Lock()
		from.mac = [6]byte(buffer[6:12])
		for _, to := range s.receivers([6]byte(buffer[:6])) {
			link := s.links[pair(from, to)]
			if to == from || link.Cut || link.Loss > 0 && rand.Float64() < link.Loss {
				continue
			}
			select {
			case to.queue <- frame{append([]byte(nil), buffer[:n]...), time.Now().Add(link.Delay)}:
			default:
			}
		}
		s.mu.Unlock()
	}
}

// receivers are the hosts that get a frame for an address: one, or all for an address that is not
// known or is of several hosts.
func (s *Switch) receivers(mac [6]byte) []*Host {
	for i, h := range s.hosts {
		if h.mac == mac {
			return s.hosts[i : i+1]
		}
	}
	return s.hosts
}

// deliver writes what is due to a host.
func (h *Host) deliver(done <-chan struct{}) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-done:
			return
		case f := <-h.queue:
			if wait := time.Until(f.due); wait > 0 {
				timer.Reset(wait)
				select {
				case <-done:
					return
				case <-timer.C:
				}
			}
			_, _ = h.tap.Write(f.data) // it fails as the interface goes down
		}
	}
}

// Set says how frames fare between two hosts from now on.
func (s *Switch) Set(a, b *Host, link Link) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.links[pair(a, b)] = link
}

// pair is the key of two hosts in either order.
func pair(a, b *Host) [2]*Host {
	if a.IP > b.IP {
		a, b = b, a
	}
	return [2]*Host{a, b}
}

// Start starts one of the commands on the host.
func (h *Host) Start(name string, args ...string) (*server.Process, error) {
	path, err := server.Binary(name)
	if err != nil || h.namespace == "" {
		return server.StartProcess(name, args...)
	}
	ip, err := exec.LookPath("ip")
	if err != nil {
		return nil, err
	}
	return server.StartProgram(name, ip, append([]string{"netns", "exec", h.namespace, path}, args...)...)
}

// Command is a command that runs the program of a file on the host, which must have a namespace of
// its own. Its process is the program's.
func (h *Host) Command(path string, args ...string) *exec.Cmd {
	return exec.Command("ip", append([]string{"netns", "exec", h.namespace, path}, args...)...)
}

// ip runs iproute2's ip.
func (s *Switch) ip(args ...string) {
	s.tb.Helper()
	if out, err := exec.Command("ip", args...).CombinedOutput(); err != nil {
		s.tb.Fatalf("ip %v: %v: %s", args, err, out)
	}
}
