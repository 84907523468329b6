// Package cluster runs a whole installation on hosts of its own, network namespaces of one machine:
// three edges behind HAProxy, three cores, PostgreSQL with a synchronous standby, Redis or Valkey
// with Sentinel, and a fake of the vendors. Under a load of requests and open streams it restarts,
// kills, stalls and cuts off each part, one after the other, slows a disk, has clocks jump, and holds what callers saw to the
// ledger, to what the vendors answered, and to what the documentation says may fail.
//
// `make cluster` runs it in full and writes docs/reference/cluster.md, `make cluster-short` a short one. It
// needs Linux, root, iproute2, HAProxy, PostgreSQL and Redis or Valkey, and skips elsewhere, saying
// so; without FUSE it leaves the slow disk out, and the report says so. The package must not import the gateway's own packages.
package cluster
