// Package process starts programs on a core of their own and asks the kernel what they
// cost: CPU time by their clocks, memory by their status. It knows nothing of what the
// programs do.
package process
