//go:build race

package arena

// spoil has memory written over as it is given back, so that tests find code that still
// looks at it.
const spoil = true
