package target

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"time"

	"github.com/genway/genway/test/bench/process"
)

// Target is something that answers requests by asking the upstream.
type Target struct {
	Name  string
	Title string
	// Gateway means that it translates between protocols and checks keys.
	Gateway bool
	// Peer says what a gateway of others can do; nil for all other targets.
	Peer *Peer
	// Prepare writes what the target needs and says how to start it.
	Prepare func(ctx context.Context, site Site) (*Plan, error)
}

// Site is where a target is started.
type Site struct {
	// Dir is a directory of its own for the target's files.
	Dir string
	// Core is the core its processes are kept on.
	Core int
	// Upstream is the HOST:PORT of the upstream.
	Upstream string
	// Programs is the directory with Genway's commands, stripped as released.
	Programs string
	// Self is this program, for the targets that are built in.
	Self string
}

// Plan is how a target is started, as often as wanted.
type Plan struct {
	// Address is the HOST:PORT it answers at, behind https:// with TLS.
	Address string
	// Keys are the callers' keys by group. A target without keys takes any.
	Keys map[string]string
	// Commands are started in order, without waiting.
	Commands []process.Command
	// Binaries are the files of the programs, for their size.
	Binaries []string
}

// Start starts the commands.
func (p *Plan) Start() (process.Group, error) {
	var group process.Group
	for _, command := range p.Commands {
		started, err := process.Start(command)
		if err != nil {
			group.Stop(time.Second)
			return nil, err
		}
		group = append(group, started)
	}
	return group, nil
}

// Size is the bytes of the binaries.
func (p *Plan) Size() (bytes int64, err error) {
	for _, path := range p.Binaries {
		info, err := os.Stat(path)
		if err != nil {
			return 0, err
		}
		bytes += info.Size()
	}
	return bytes, nil
}

// Key is the key of a group, or any word where keys do not matter.
func (p *Plan) Key(group string) string {
	if key, ok := p.Keys[group]; ok {
		return key
	}
	return "sk-bench"
}

// All are the targets, in the order in which they take turns.
func All() []Target {
	return []Target{direct(), nginx(), reverseProxy(), bareOne(), bareTwo(), allInOne(), twoProcesses(), wholeBodies()}
}

// builtin are all targets but peers.
func builtin() []Target {
	all := All()
	for _, f := range Features() {
		all = append(all, f.Target)
	}
	return all
}

// Named picks targets by name, keeping their order, of all that there are and of more.
func Named(names []string, more ...Target) ([]Target, error) {
	var picked []Target
	known := map[string]bool{}
	for _, t := range append(builtin(), more...) {
		known[t.Name] = true
		for _, name := range names {
			if name == t.Name {
				picked = append(picked, t)
			}
		}
	}
	var unknown error
	for _, name := range names {
		if !known[name] {
			unknown = errors.Join(unknown, fmt.Errorf("no such target: %s", name))
		}
	}
	return picked, unknown
}

// FreeAddress finds a free port of the loopback interface.
func FreeAddress(ctx context.Context) (string, error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return listener.Addr().String(), listener.Close()
}
