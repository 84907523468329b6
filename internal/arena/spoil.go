//go:build race

package arena

// spoil has memory written over as it is given back, so that tests find whoever still
// looks at it.
const spoil = true
