// Command mutate breaks the gateway in named ways, one at a time, and demands that the
// tests of the broken package notice. A mutant that its package's own tests do not kill
// is a promise that no test holds.
//
// mutants.yaml has them: what a mutant breaks, in which file, and the text that is put in
// place of another. A mutant is built from an overlay (go build -overlay), so no file of
// the repository changes, and scripts that are embedded can be broken too. Tools that make
// mutants by rule (gremlins) know only Go's operators: neither what a settlement
// is nor the scripts of the shared store.
package main
