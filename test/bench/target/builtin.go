package target

import (
	"context"
	"path/filepath"

	"github.com/genway/genway/test/bench/process"
)

// The names of the built-in programs, as this program's first argument.
const (
	UpstreamCommand = "upstream"
	ProxyCommand    = "proxy"
	BareCommand     = "bare"
)

// Direct is the name of the upstream as a target.
const Direct = "direct"

// direct is an upstream on the targets' core: what there is without anything between.
func direct() Target {
	return Target{Name: Direct, Title: "direct", Prepare: func(ctx context.Context, site Site) (*Plan, error) {
		address, err := FreeAddress(ctx)
		if err != nil {
			return nil, err
		}
		return &Plan{
			Address:  address,
			Commands: []process.Command{{Path: site.Self, Args: []string{UpstreamCommand, "-listen", address}, Log: filepath.Join(site.Dir, "upstream.log"), Core: site.Core}},
			Binaries: []string{site.Self},
		}, nil
	}}
}

// ReverseProxy is the target that multiples are of: Go's own HTTP on both sides and nothing between.
const ReverseProxy = "reverseproxy"

func reverseProxy() Target {
	return Target{Name: ReverseProxy, Title: "Go's ReverseProxy", Prepare: func(ctx context.Context, site Site) (*Plan, error) {
		address, err := FreeAddress(ctx)
		if err != nil {
			return nil, err
		}
		args := []string{ProxyCommand, "-listen", address, "-upstream", site.Upstream}
		return &Plan{
			Address:  address,
			Commands: []process.Command{{Path: site.Self, Args: args, Log: filepath.Join(site.Dir, "proxy.log"), Core: site.Core}},
			Binaries: []string{site.Self},
		}, nil
	}}
}

// The two forms of the bare target: Genway's shape without its features.
const (
	BareOne = "bare"
	BareTwo = "bare-two"
)

func bareOne() Target {
	return Target{Name: BareOne, Title: "bare, one process", Prepare: func(ctx context.Context, site Site) (*Plan, error) {
		address, err := FreeAddress(ctx)
		if err != nil {
			return nil, err
		}
		return &Plan{
			Address:  address,
			Commands: []process.Command{bare(site, "bare.log", "-listen", address, "-upstream", site.Upstream)},
			Binaries: []string{site.Self},
		}, nil
	}}
}

func bareTwo() Target {
	return Target{Name: BareTwo, Title: "bare, two processes", Prepare: func(ctx context.Context, site Site) (*Plan, error) {
		address, err := FreeAddress(ctx)
		if err != nil {
			return nil, err
		}
		socket := filepath.Join(site.Dir, "core.sock")
		return &Plan{
			Address: address,
			Commands: []process.Command{
				bare(site, "core.log", "-core", socket, "-upstream", site.Upstream),
				bare(site, "edge.log", "-listen", address, "-edge", socket),
			},
			Binaries: []string{site.Self, site.Self},
		}, nil
	}}
}

func bare(site Site, log string, args ...string) process.Command {
	return process.Command{Path: site.Self, Args: append([]string{BareCommand}, args...), Log: filepath.Join(site.Dir, log), Core: site.Core}
}
