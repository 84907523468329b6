package target

import (
	"context"
	"path/filepath"

	"github.com/genway/genway/bench/process"
)

// The names of the built-in programs, as this program's first argument.
const (
	UpstreamCommand = "upstream"
	ProxyCommand    = "proxy"
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

func reverseProxy() Target {
	return Target{Name: "reverseproxy", Title: "Go's ReverseProxy", Prepare: func(ctx context.Context, site Site) (*Plan, error) {
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
