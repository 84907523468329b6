//go:build unix

package servers

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
)

// Cluster is a Redis Cluster of three nodes without replicas, on ports of 127.0.0.1.
type Cluster struct {
	Nodes []*Redis
	ports []string
}

// slots is how many hash slots a Cluster has.
const slots = 16384

// NewCluster starts a Cluster for only this test. The test's end ends it.
func NewCluster(tb testing.TB) *Cluster {
	tb.Helper()
	c := &Cluster{}
	tb.Cleanup(c.end)
	if err := c.start(); err != nil {
		tb.Fatal(err)
	}
	return c
}

const clusterNodes = 3

func (c *Cluster) start() error {
	for i := range clusterNodes {
		node, port, err := startOnPort("--cluster-enabled", "yes", "--cluster-node-timeout", "2000")
		if err != nil {
			return err
		}
		c.Nodes, c.ports = append(c.Nodes, node), append(c.ports, port)
		add := []string{"CLUSTER", "ADDSLOTS"}
		for slot := i * slots / clusterNodes; slot < (i+1)*slots/clusterNodes; slot++ {
			add = append(add, strconv.Itoa(slot))
		}
		if _, err := node.client(add...); err != nil {
			return err
		}
		// Nodes with the same epoch would not agree which of them has a slot.
		if _, err := node.client("CLUSTER", "SET-CONFIG-EPOCH", strconv.Itoa(i+1)); err != nil {
			return err
		}
	}
	for _, port := range c.ports[1:] {
		if _, err := c.Nodes[0].client("CLUSTER", "MEET", "127.0.0.1", port); err != nil {
			return err
		}
	}
	for _, node := range c.Nodes {
		if err := node.await("cluster_state:ok", "CLUSTER", "INFO"); err != nil {
			return err
		}
		if err := node.await(fmt.Sprintf("cluster_known_nodes:%d", clusterNodes), "CLUSTER", "INFO"); err != nil {
			return err
		}
	}
	return nil
}

// URL is the Cluster's, for the limits' store: redis+cluster://….
func (c *Cluster) URL() string {
	return "redis+cluster://127.0.0.1:" + strings.Join(c.ports, ",127.0.0.1:")
}

func (c *Cluster) end() {
	for _, r := range c.Nodes {
		r.End()
	}
}
