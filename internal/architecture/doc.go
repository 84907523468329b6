// Package architecture holds who may import whom in this module, as a test over
// what the go command reports: which packages a package names, and what a command
// links in the end. It has no code of its own, imports nothing of the module, and
// nothing may import it.
//
// The same borders stand in .golangci.yml (depguard), where an editor shows them
// at the line; here they hold for what comes along through third packages too.
package architecture
