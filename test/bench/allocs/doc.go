// Package allocs holds what the gateway's hot stages allocate to a committed baseline.
// Times jitter; allocations do not: they are the figures of a benchmark that a machine
// under load can still compare. The benchmarks are those of the gateway's packages, run
// on one processor and without collections, which empty the pools.
package allocs
