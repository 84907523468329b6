// Package provider is data: the places where models live, one file each. A place says where
// it is, which protocols it serves at which paths, how it wants to be authenticated, and what
// it takes other than the protocol's own vendor does. Configuration, the upstream adapter and
// docs/reference/providers.md read it.
//
// A new provider is one file, its line in the table, its name in the configuration's schema and
// an example; docs/extending.md has the steps ("An upstream"). Each row names the page
// that it was read from, and when.
//
// It must not import any package of ours but the data of dialects (codec/dialect).
package provider
