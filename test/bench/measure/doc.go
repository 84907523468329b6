// Package measure puts targets through workloads, in turn: A B C A B C, so that a
// noisy moment of the machine hits all of them alike. The targets have one core, the
// upstream and the generator, which is this process, the other.
//
// What a run costs is the CPU time of all processes of its target by the kernel's own
// clocks, from before the first request until the target has come to rest: also for
// what it does after the answer, such as writing its ledger. Each run is a [Record].
package measure
