package coreproc

import (
	"os"
	"slices"
	"sync/atomic"

	"github.com/genway/genway/cmd/internal/cli"
	"github.com/genway/genway/core"
	"github.com/genway/genway/core/ledger"
)

// partLimits is the store that cores share their limits in. A core is ready without it.
const partLimits = "limits"

// node is what this core reports of itself in the store.
type node struct {
	fixed   ledger.Node
	routing *Routing
	// limitsUnavailable is set while the store of limits does not answer.
	limitsUnavailable atomic.Bool
	// server is nil until there is one.
	server atomic.Pointer[core.Server]
}

func newNode(address string, routing *Routing) *node {
	host, err := os.Hostname()
	if err != nil {
		host = ""
	}
	return &node{fixed: ledger.Node{Host: host, Version: cli.Version(), Address: address}, routing: routing}
}

// now is what holds at present.
func (n *node) now() ledger.Node {
	is := n.fixed
	is.Configuration = n.routing.Hash()
	if server := n.server.Load(); server != nil {
		is.Degraded = slices.Clone(server.Failing())
	}
	if n.limitsUnavailable.Load() {
		is.Degraded = append(is.Degraded, partLimits)
	}
	return is
}
