package config

import (
	"maps"
	"slices"
)

// Files are the files that are read with this one, but those with keys of upstreams: when one of them
// changes, this one is to be read again.
func (c *Config) Files() []string {
	files := []string{c.Prices, c.Catalog}
	if c.Captures != nil {
		files = append(files, c.Captures.KeyFile)
	}
	for _, name := range slices.Sorted(maps.Keys(c.Upstreams)) {
		u := c.Upstreams[name]
		files = append(files, u.CAFile, u.CertFile, u.KeyFile)
	}
	return slices.DeleteFunc(files, func(file string) bool { return file == "" })
}
